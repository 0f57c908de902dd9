/**
 * chains/evm offline, transactions: recorded vectors, and random transfers whose bytes ethers and
 * viem must make and read the same. SEED=<number> replays the random part.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import { Interface, keccak256, Transaction, Wallet } from "ethers";
import {
  decodeFunctionData,
  encodeFunctionData,
  parseAbi,
  parseTransaction,
  recoverTransactionAddress,
  serializeTransaction,
} from "viem";
import { expect, describe as group, it } from "vitest";
import { signDigest as sign } from "../../agent/signer/vault/curve.ts";
import { recoverByNoble, recoverPublicKey } from "../../chains/curve/recover.ts";
import { addressBytes } from "../../chains/evm/address.ts";
import { decodeTransferCall, encodeTransferCall } from "../../chains/evm/erc20.ts";
import { decodeRlp, encodeRlp, integerBytes, type RlpItem } from "../../chains/evm/rlp.ts";
import { encodeBalanceCall, readTransferLog, transferTopic } from "../../chains/evm/token-reads.ts";
import {
  attachSignature,
  buildTransfer,
  describeTransfer,
  digestOf,
  type Transfer,
} from "../../chains/evm/transaction.ts";
import { share } from "../../lab/kit/share.ts";
import {
  atLeast,
  bytes,
  codeOf,
  hex,
  plain,
  random,
  seed,
  smaller,
  token,
  transferOf,
  transferVectors,
} from "../support/evm-values.ts";

group("transfers against ethers and viem", () => {
  it.each(transferVectors)("the vector of a transfer: $name", (vector) => {
    const transfer = transferOf(vector.transfer);
    const unsigned = buildTransfer(transfer);
    expect(hex(unsigned)).toBe(vector.unsigned);
    expect(hex(digestOf(unsigned))).toBe(vector.digest);
    expect(attachSignature(unsigned, bytes(vector.signature), vector.sender)).toEqual({
      raw: bytes(vector.raw),
      txHash: vector.txHash,
    });
    const feeMaxWei = transfer.gasLimit * transfer.maxFeePerGas;
    expect(describeTransfer(unsigned)).toEqual({
      ok: true,
      description: { ...transfer, feeMaxWei },
    });
  });

  const erc20 = [
    "function transfer(address to, uint256 value)",
    "function balanceOf(address owner) view returns (uint256)",
  ];
  const byEthers = new Interface(erc20);
  const byViem = parseAbi(["function transfer(address to, uint256 value)"]);

  it(`random transfers are read back by others as they were built, SEED=${seed}`, async () => {
    for (let n = 0; n < share(150); n++) {
      const key = random.bytes(32);
      key[0] = 1 + (key[0]! % 254);
      const sender = new Wallet(hex(key)).address;
      const maxFeePerGas = atLeast(1n, random.bits(96));
      const transfer: Transfer = {
        chainId: atLeast(1n, random.bits(53)),
        nonce: random.bits(53),
        contract: n % 2 === 0 ? "" : new Wallet(hex(key).replace(/..$/, "01")).address,
        destination: new Wallet(hex(key).replace(/..$/, "02")).address,
        amountUnits: atLeast(1n, random.bits(256)),
        gasLimit: atLeast(21_000n, random.bits(40)),
        maxFeePerGas,
        maxPriorityFeePerGas: smaller(random.bits(96), maxFeePerGas),
      };
      const unsigned = buildTransfer(transfer);
      const described = describeTransfer(unsigned);
      expect(described).toEqual({
        ok: true,
        description: { ...transfer, feeMaxWei: transfer.gasLimit * maxFeePerGas },
      });
      const { raw, txHash } = attachSignature(unsigned, sign(digestOf(unsigned), key), sender);

      const isNative = transfer.contract === "";
      const call = byEthers.encodeFunctionData("transfer", [
        transfer.destination,
        transfer.amountUnits,
      ]);
      const parsed = Transaction.from(hex(raw));
      expect([parsed.from, parsed.hash, parsed.type, parsed.serialized]).toEqual([
        sender,
        txHash,
        2,
        hex(raw),
      ]);
      expect(parsed.unsignedSerialized).toBe(hex(unsigned));
      expect([parsed.chainId, BigInt(parsed.nonce), parsed.gasLimit]).toEqual([
        transfer.chainId,
        transfer.nonce,
        transfer.gasLimit,
      ]);
      expect([parsed.maxFeePerGas, parsed.maxPriorityFeePerGas]).toEqual([
        maxFeePerGas,
        transfer.maxPriorityFeePerGas,
      ]);
      expect([parsed.to, parsed.value, parsed.data]).toEqual(
        isNative
          ? [transfer.destination, transfer.amountUnits, "0x"]
          : [transfer.contract, 0n, call],
      );

      const seen = parseTransaction(hex(raw) as `0x02${string}`);
      expect(
        await recoverTransactionAddress({ serializedTransaction: hex(raw) as `0x02${string}` }),
      ).toBe(sender);
      const { r, s, yParity, v, ...fields } = seen;
      expect(serializeTransaction(fields)).toBe(hex(unsigned));
      expect(serializeTransaction(fields, { r: r!, s: s!, yParity: yParity! })).toBe(hex(raw));
      expect(v).toBe(BigInt(yParity!) + 27n);
      if (!isNative) {
        const data = seen.data!;
        expect(data).toBe(
          encodeFunctionData({
            abi: byViem,
            args: [transfer.destination as `0x${string}`, transfer.amountUnits],
          }),
        );
        expect(decodeFunctionData({ abi: byViem, data }).args).toEqual([
          transfer.destination,
          transfer.amountUnits,
        ]);
      }
    }
  });

  it("call data of a transfer is encoded as both libraries do", () => {
    const address = plain.destination;
    expect(hex(encodeTransferCall(address, 5n))).toBe(
      byEthers.encodeFunctionData("transfer", [address, 5n]),
    );
    expect(encodeBalanceCall(address)).toBe(byEthers.encodeFunctionData("balanceOf", [address]));
    expect(decodeTransferCall(encodeTransferCall(address, 2n ** 256n - 1n))).toEqual({
      destination: address,
      amountUnits: 2n ** 256n - 1n,
    });
  });

  it("the reader of receipts reads a plain Transfer log and nothing that only looks like one", () => {
    const word = (address: string): string =>
      `0x${"0".repeat(24)}${address.slice(2).toLowerCase()}`;
    const log = {
      topics: [transferTopic, word(plain.destination), word(token.contract)],
      data: `0x${"0".repeat(62)}2a`,
    };
    expect(readTransferLog(log)).toEqual({
      from: plain.destination,
      to: token.contract,
      amountUnits: 42n,
    });
    expect(transferTopic).toBe(keccak256(Buffer.from("Transfer(address,address,uint256)")));
    const others = {
      "another event": {
        ...log,
        topics: [`${transferTopic.slice(0, -1)}0`, ...log.topics.slice(1)],
      },
      "an NFT": { topics: [...log.topics, log.data], data: "0x" },
      "no receiver": { ...log, topics: log.topics.slice(0, 2) },
      "more than an address": {
        ...log,
        topics: [transferTopic, log.topics[1]!, log.topics[2]!.replace("0x0", "0x1")],
      },
      "longer data": { ...log, data: `${log.data}00` },
      "no data": { ...log, data: "0x" },
    };
    for (const [why, other] of Object.entries(others))
      expect(readTransferLog(other), why).toBeNull();
  });
});

group("describe refuses what it cannot account for", () => {
  const fieldsOf = (transfer: Transfer): RlpItem[] => {
    const decoded = decodeRlp(buildTransfer(transfer).subarray(1));
    if (!decoded.ok) throw new Error("no list");
    return [...(decoded.item as RlpItem[])];
  };
  const typed = (fields: RlpItem): Uint8Array => Uint8Array.from([2, ...encodeRlp(fields)]);
  const changed = (transfer: Transfer, at: number, value: RlpItem): Uint8Array => {
    const fields = fieldsOf(transfer);
    fields[at] = value;
    return typed(fields);
  };
  const transferCall = encodeTransferCall(plain.destination, 1000n);
  const flipped = (at: number): Uint8Array =>
    transferCall.map((byte, i) => (i === at ? byte ^ 1 : byte));
  const twenty = addressBytes(plain.destination);
  const cases: readonly (readonly [why: string, unsigned: Uint8Array, code: string])[] = [
    ["legacy type", Uint8Array.from([1, ...buildTransfer(plain).subarray(1)]), "TRANSACTION_TYPE"],
    ["no type", buildTransfer(plain).slice(1), "TRANSACTION_TYPE"],
    ["no bytes", new Uint8Array(0), "TRANSACTION_TYPE"],
    ["type alone", Uint8Array.of(2), "TRANSACTION_RLP"],
    ["a byte after the end", Uint8Array.from([...buildTransfer(plain), 0]), "TRANSACTION_RLP"],
    ["the last byte cut off", buildTransfer(plain).slice(0, -1), "TRANSACTION_RLP"],
    ["eight fields", typed(fieldsOf(plain).slice(0, 8)), "TRANSACTION_RLP"],
    ["ten fields", typed([...fieldsOf(plain), new Uint8Array(0)]), "TRANSACTION_RLP"],
    ["a string instead of a list", typed(Uint8Array.of(1, 2, 3)), "TRANSACTION_RLP"],
    [
      "access list with an entry",
      changed(plain, 8, [[twenty, [new Uint8Array(32)]]]),
      "TRANSACTION_ACCESS_LIST",
    ],
    ["access list with an empty list", changed(plain, 8, [[]]), "TRANSACTION_ACCESS_LIST"],
    ["access list as a string", changed(plain, 8, new Uint8Array(0)), "TRANSACTION_FIELD"],
    ["nonce with a leading zero", changed(plain, 1, Uint8Array.of(0, 7)), "TRANSACTION_FIELD"],
    ["nonce as a list", changed(plain, 1, []), "TRANSACTION_FIELD"],
    ["nonce of 2^64-1", changed(plain, 1, integerBytes(2n ** 64n - 1n)), "TRANSACTION_FIELD"],
    ["chain id zero", changed(plain, 0, integerBytes(0n)), "TRANSACTION_FIELD"],
    ["chain id of 2^53", changed(plain, 0, integerBytes(2n ** 53n)), "TRANSACTION_FIELD"],
    ["tip above the fee", changed(plain, 2, integerBytes(51n)), "TRANSACTION_FIELD"],
    ["fee of 33 bytes", changed(plain, 3, new Uint8Array(33).fill(1)), "TRANSACTION_FIELD"],
    [
      "fee zero",
      changed({ ...plain, maxPriorityFeePerGas: 0n }, 3, integerBytes(0n)),
      "TRANSACTION_FIELD",
    ],
    ["gas below any transaction's", changed(plain, 4, integerBytes(20_999n)), "TRANSACTION_FIELD"],
    ["gas of 2^64", changed(plain, 4, integerBytes(2n ** 64n)), "TRANSACTION_FIELD"],
    ["no receiver", changed(plain, 5, new Uint8Array(0)), "TRANSACTION_FIELD"],
    ["receiver of 21 bytes", changed(plain, 5, new Uint8Array(21).fill(1)), "TRANSACTION_FIELD"],
    ["receiver as a list", changed(plain, 5, [twenty]), "TRANSACTION_FIELD"],
    ["receiver zero", changed(plain, 5, new Uint8Array(20)), "ADDRESS_ZERO"],
    ["amount zero", changed(plain, 6, integerBytes(0n)), "TRANSACTION_FIELD"],
    ["data as a list", changed(plain, 7, []), "TRANSACTION_FIELD"],
    ["native coin with call data", changed(plain, 7, transferCall), "TRANSACTION_CALL"],
    [
      "token call that pays native coin too",
      changed(token, 6, integerBytes(1n)),
      "TRANSACTION_CALL",
    ],
    [
      "call of approve",
      changed(token, 7, Uint8Array.from([9, 94, 167, 179, ...transferCall.slice(4)])),
      "TRANSACTION_CALL",
    ],
    ["another selector", changed(token, 7, flipped(3)), "TRANSACTION_CALL"],
    ["dirty padding before the address", changed(token, 7, flipped(15)), "TRANSACTION_CALL"],
    ["call data one byte long", changed(token, 7, Uint8Array.of(1)), "TRANSACTION_CALL"],
    ["call data cut", changed(token, 7, transferCall.slice(0, 67)), "TRANSACTION_CALL"],
    [
      "call data lengthened",
      changed(token, 7, Uint8Array.from([...transferCall, 0])),
      "TRANSACTION_CALL",
    ],
    [
      "token to the zero address",
      changed(
        token,
        7,
        transferCall.map((byte, i) => (i > 3 && i < 36 ? 0 : byte)),
      ),
      "ADDRESS_ZERO",
    ],
    [
      "token amount zero",
      changed(
        token,
        7,
        transferCall.map((byte, i) => (i > 35 ? 0 : byte)),
      ),
      "TRANSACTION_FIELD",
    ],
    ["contract zero", changed(token, 5, new Uint8Array(20)), "ADDRESS_ZERO"],
    ["far too long", changed(token, 7, new Uint8Array(600)), "TRANSACTION_FIELD"],
  ];

  it.each(cases)("a transfer is refused: %s", (_why, unsigned, code) => {
    expect(describeTransfer(unsigned)).toMatchObject({ ok: false, code });
  });

  it("describe takes the twins of refused bytes, unchanged", () => {
    for (const transfer of [plain, token]) {
      expect(typed(fieldsOf(transfer))).toEqual(buildTransfer(transfer));
      expect(describeTransfer(typed(fieldsOf(transfer))).ok).toBe(true);
    }
    expect(describeTransfer(changed(plain, 1, integerBytes(2n ** 64n - 2n))).ok).toBe(true);
    expect(describeTransfer(changed(plain, 0, integerBytes(2n ** 53n - 1n))).ok).toBe(true);
    expect(describeTransfer(changed(plain, 2, integerBytes(50n))).ok).toBe(true);
    expect(describeTransfer(changed(plain, 4, integerBytes(2n ** 64n - 1n))).ok).toBe(true);
  });

  it("describe describes only bytes that it would build itself, however they were changed", () => {
    let taken = 0;
    for (let n = 0; n < share(20_000); n++) {
      const unsigned = buildTransfer(n % 2 === 0 ? plain : token);
      for (let k = 0; k <= n % 3; k++) unsigned[random.below(unsigned.length)] = random.below(256);
      const described = describeTransfer(unsigned);
      if (!described.ok) continue;
      taken += 1;
      if (hex(buildTransfer(described.description)) !== hex(unsigned))
        expect.unreachable(`another form of ${hex(unsigned)}`);
    }
    expect(taken).toBeGreaterThan(share(1000));
  });

  it("the builder makes nothing from fields out of range", () => {
    const wrong: Readonly<Record<string, Partial<Transfer>>> = {
      TRANSACTION_FIELD: { nonce: -1n },
      ADDRESS_CHECKSUM: { destination: "0x52908400098527886e0F7030069857D2E4169EE7" },
      ADDRESS_FORMAT: { contract: "0x" },
      ADDRESS_ZERO: { destination: `0x${"0".repeat(40)}` },
    };
    for (const [code, change] of Object.entries(wrong))
      expect(codeOf(() => buildTransfer({ ...plain, ...change }))).toBe(code);
    for (const name of ["chainId", "amountUnits", "maxFeePerGas"] as const) {
      expect(
        codeOf(() => buildTransfer({ ...plain, maxPriorityFeePerGas: 0n, [name]: 0n })),
        name,
      ).toBe("TRANSACTION_FIELD");
    }
    expect(codeOf(() => buildTransfer({ ...plain, nonce: 7 as unknown as bigint }))).toBe(
      "TRANSACTION_FIELD",
    );
    expect(codeOf(() => buildTransfer(plain))).toBe("");
  });
});

group("signatures", () => {
  const key = new Uint8Array(32).fill(7);
  const sender = new Wallet(hex(key)).address;
  const unsigned = buildTransfer(token);
  const signature = sign(digestOf(unsigned), key);
  const withS = (s: bigint): Uint8Array =>
    Uint8Array.from([
      ...signature.slice(0, 32),
      ...bytes(s.toString(16).padStart(64, "0")),
      signature[64] ?? 0,
    ]);
  const order = secp256k1.CURVE.n;
  const s = BigInt(hex(signature.slice(32, 64)));

  it("a transaction gets the account's own signature", () => {
    const { raw } = attachSignature(unsigned, signature, sender);
    expect(Transaction.from(hex(raw)).from).toBe(sender);
    expect(attachSignature(unsigned, signature, sender.toLowerCase()).raw).toEqual(raw);
  });

  it("malleated and malformed signatures are refused", () => {
    const malformed = {
      "upper half of s": withS(order - s),
      "s zero": withS(0n),
      "s of the order": withS(order),
      "r zero": Uint8Array.from([...new Uint8Array(32), ...signature.slice(32)]),
      "r of all ones": Uint8Array.from([...new Uint8Array(32).fill(255), ...signature.slice(32)]),
      "64 bytes, no parity": signature.slice(0, 64),
      "66 bytes": Uint8Array.from([...signature, 0]),
      "a parity of 2": Uint8Array.from([...signature.slice(0, 64), 2]),
    };
    for (const [why, wrong] of Object.entries(malformed)) {
      expect(
        codeOf(() => attachSignature(unsigned, wrong, sender)),
        why,
      ).toBe("TRANSACTION_SIGNATURE");
    }
    expect(codeOf(() => attachSignature(unsigned, withS(s), sender))).toBe("");
  });

  it("a wrong parity is refused, in the first signature of a sender and in any later one", () => {
    const newKey = random.bytes(32);
    const newSender = new Wallet(hex(newKey)).address;
    const right = sign(digestOf(unsigned), newKey);
    const wrong = Uint8Array.from([...right.slice(0, 64), 1 - (right[64] ?? 0)]);
    for (const when of ["first", "later"]) {
      expect(
        codeOf(() => attachSignature(unsigned, wrong, newSender)),
        when,
      ).toBe("TRANSACTION_SENDER");
      expect(
        codeOf(() => attachSignature(unsigned, right, newSender)),
        when,
      ).toBe("");
    }
  });

  it.each(["first", "later"])(
    "another key's, another transaction's and a damaged signature are refused, on the %s one",
    (when) => {
      const key = random.bytes(32);
      const sender = new Wallet(hex(key)).address;
      const signature = sign(digestOf(unsigned), key);
      const s = BigInt(hex(signature.slice(32, 64)));
      const withS = (s: bigint): Uint8Array =>
        Uint8Array.from([
          ...signature.slice(0, 32),
          ...bytes(s.toString(16).padStart(64, "0")),
          signature[64] ?? 0,
        ]);
      if (when === "later") attachSignature(unsigned, signature, sender);
      const other = sign(digestOf(unsigned), new Uint8Array(32).fill(8));
      expect(codeOf(() => attachSignature(unsigned, other, sender))).toBe("TRANSACTION_SENDER");
      expect(codeOf(() => attachSignature(buildTransfer(plain), signature, sender))).toBe(
        "TRANSACTION_SENDER",
      );
      expect(codeOf(() => attachSignature(unsigned, withS(s - 1n), sender))).toBe(
        "TRANSACTION_SENDER",
      );
      expect(codeOf(() => attachSignature(unsigned, signature, plain.destination))).toBe(
        "TRANSACTION_SENDER",
      );
      expect(codeOf(() => attachSignature(unsigned.slice(0, -1), signature, sender))).toBe(
        "TRANSACTION_RLP",
      );
      expect(codeOf(() => attachSignature(unsigned, signature, "0x12"))).toBe("ADDRESS_FORMAT");
    },
  );

  it("a signer is recovered the same with noble, for runtimes without WebAssembly", () => {
    for (let n = 0; n < 20; n++) {
      const digest = random.bytes(32);
      const signed = sign(digest, key).slice(0, 64);
      for (const parity of [0, 1] as const) {
        const point = recoverPublicKey(digest, signed, parity);
        expect(recoverByNoble(digest, signed, parity)).toEqual(point);
      }
    }
    expect(recoverByNoble(digestOf(unsigned), new Uint8Array(64), 0)).toBeNull();
    expect(recoverPublicKey(digestOf(unsigned), new Uint8Array(64), 0)).toBeNull();
  });
});
