/**
 * chains/evm offline: recorded vectors, and random transfers whose bytes ethers and viem must make and read the same.
 * SEED=<number> replays the random part.
 */
import { readFileSync } from "node:fs";
import { secp256k1 } from "@noble/curves/secp256k1";
import { HDNodeWallet, Interface, isAddress, keccak256, Transaction, Wallet } from "ethers";
import { sign } from "tiny-secp256k1";
import {
  decodeFunctionData,
  encodeFunctionData,
  parseAbi,
  parseTransaction,
  recoverTransactionAddress,
  serializeTransaction,
} from "viem";
import { expect, describe as group, it } from "vitest";
import { addressBytes, addressOfPublicKey, depositAddressOf, parseAddress } from "../chains/evm/address.ts";
import { classifyBroadcastError, isRevert, mergeBroadcasts } from "../chains/evm/broadcast.ts";
import { recoverByNoble, recoverPublicKey } from "../chains/evm/curve.ts";
import {
  decodeTransferCall,
  encodeBalanceCall,
  encodeTransferCall,
  readTransferLog,
  transferTopic,
} from "../chains/evm/erc20.ts";
import { decodeRlp, encodeRlp, integerBytes, integerOf, type RlpItem } from "../chains/evm/rlp.ts";
import { attachSignature, buildTransfer, describe, digestOf, type Transfer } from "../chains/evm/transaction.ts";
import { AgentError } from "../protocol/fault.ts";

const vectors = <T>(name: string): T => JSON.parse(readFileSync(new URL(`vectors/${name}.json`, import.meta.url), "utf8")) as T;
const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString("hex")}`;
const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replace(/^0x/, ""), "hex"));
const codeOf = (act: () => unknown): string => {
  try {
    act();
    return "";
  } catch (error) {
    return error instanceof AgentError ? error.code : `${error}`;
  }
};

/** mulberry32: the whole sequence follows from the seed. */
function generator(seed: number): { below(max: number): number; bytes(length: number): Uint8Array; bits(max: number): bigint } {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (max: number): number => Math.floor(next() * max);
  const random = (length: number): Uint8Array => Uint8Array.from({ length }, () => below(256));
  return {
    below,
    bytes: random,
    // Every bit length is as likely as any other, so that the borders of the encodings are met.
    bits: (max) => BigInt(hex(random(32))) >> BigInt(256 - (1 + below(max))),
  };
}

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
const random = generator(seed);
const atLeast = (min: bigint, value: bigint): bigint => (value < min ? min : value);
const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);

interface TransferVector {
  readonly name: string;
  readonly privateKey: string;
  readonly sender: string;
  readonly transfer: Readonly<Record<keyof Transfer, string>>;
  readonly unsigned: string;
  readonly digest: string;
  readonly signature: string;
  readonly raw: string;
  readonly txHash: string;
}

const transferVectors = vectors<{ vectors: readonly TransferVector[] }>("eip1559").vectors;

function transferOf({ contract, destination, ...numbers }: TransferVector["transfer"]): Transfer {
  const integers = Object.fromEntries(Object.entries(numbers).map(([name, text]) => [name, BigInt(text)]));
  return { contract, destination, ...integers } as unknown as Transfer;
}

const plain: Transfer = {
  chainId: 1n,
  nonce: 7n,
  contract: "",
  destination: "0x52908400098527886E0F7030069857D2E4169EE7",
  amountUnits: 1000n,
  gasLimit: 21_000n,
  maxFeePerGas: 50n,
  maxPriorityFeePerGas: 2n,
};
const token: Transfer = { ...plain, contract: "0xdAC17F958D2ee523a2206206994597C13D831ec7", gasLimit: 65_000n };

group("addresses", () => {
  const eip55 = vectors<{ accepted: readonly string[]; refused: readonly { text: string; code: string; why: string }[] }>(
    "eip55",
  );

  it("takes the vectors of EIP-55, and the same in one case", () => {
    for (const address of eip55.accepted) {
      const canonical = parseAddress(address);
      expect(canonical.ok, address).toBe(true);
      expect(parseAddress(address.toLowerCase())).toEqual(canonical);
      expect(parseAddress(`0x${address.slice(2).toUpperCase()}`)).toEqual(canonical);
      expect(hex(addressBytes(address))).toBe(address.toLowerCase());
    }
  });

  it.each(eip55.refused)("refuses: $why", ({ text, code }) => {
    expect(parseAddress(text)).toMatchObject({ ok: false, code });
  });

  it("refuses every single-character corruption of a checksummed address", () => {
    let tried = 0;
    for (const address of eip55.accepted.filter((text) => /[a-f]/.test(text) && /[A-F]/.test(text))) {
      for (let i = 2; i < address.length; i++) {
        for (const digit of "0123456789abcdefABCDEFgxO ") {
          if (digit === address[i]) continue;
          const corrupt = address.slice(0, i) + digit + address.slice(i + 1);
          expect(parseAddress(corrupt).ok, corrupt).toBe(false);
          tried += 1;
        }
      }
    }
    expect(tried).toBe(4 * 40 * 25);
  });

  it(`judges random corruptions as ethers does, SEED=${seed}`, () => {
    for (let n = 0; n < 200; n++) {
      const address = new Wallet(hex(random.bytes(32)).replace(/^0x00/, "0x01")).address;
      if (n % 100 === 0) expect(parseAddress(address)).toEqual({ ok: true, address });
      for (let k = 0; k < 3; k++) {
        const at = 2 + random.below(40);
        const corrupt = address.slice(0, at) + "0123456789abcdefABCDEF".charAt(random.below(22)) + address.slice(at + 1);
        expect(parseAddress(corrupt).ok, corrupt).toBe(isAddress(corrupt));
      }
    }
  });

  it("makes addresses from public keys as ethers does", () => {
    for (let n = 0; n < 20; n++) {
      const wallet = new Wallet(hex(random.bytes(32)));
      expect(addressOfPublicKey(bytes(wallet.signingKey.publicKey))).toBe(wallet.address);
      expect(addressOfPublicKey(bytes(wallet.signingKey.compressedPublicKey))).toBe(wallet.address);
    }
    const point = bytes(new Wallet(`0x${"11".repeat(32)}`).signingKey.publicKey);
    expect(codeOf(() => addressOfPublicKey(point.slice(1)))).toBe("ADDRESS_PUBLIC_KEY");
    point[64]! ^= 1;
    expect(codeOf(() => addressOfPublicKey(point))).toBe("ADDRESS_PUBLIC_KEY");
  });

  it("derives deposit addresses as ethers does, and from nothing but an account's extended public key", () => {
    const phrase = "test test test test test test test test test test test junk";
    const account = HDNodeWallet.fromPhrase(phrase, "", "m/44'/60'/1'");
    const xpub = account.neuter().extendedKey;
    for (const index of [0, 1, 2, 1000, 2 ** 31 - 1]) {
      expect(depositAddressOf(xpub, index)).toBe(account.deriveChild(0).deriveChild(index).address);
      expect(depositAddressOf(xpub, index)).toBe(account.neuter().derivePath(`0/${index}`).address);
    }
    for (const index of [-1, 2 ** 31, 1.5, Number.NaN]) expect(codeOf(() => depositAddressOf(xpub, index))).toBe("ADDRESS_INDEX");
    const wrong = {
      "extended private key": account.extendedKey,
      "another depth": account.deriveChild(0).neuter().extendedKey,
      "not hardened": HDNodeWallet.fromPhrase(phrase, "", "m/44'/60'/1").neuter().extendedKey,
      "one character changed": `${xpub.slice(0, 50)}${xpub[50] === "a" ? "b" : "a"}${xpub.slice(51)}`,
      empty: "",
    };
    for (const [why, text] of Object.entries(wrong))
      expect(
        codeOf(() => depositAddressOf(text, 0)),
        why,
      ).toBe("ADDRESS_XPUB");
    try {
      depositAddressOf(account.extendedKey, 0);
    } catch (error) {
      expect(JSON.stringify([(error as AgentError).message, (error as AgentError).context])).not.toContain("xprv");
    }
  });
});

group("RLP", () => {
  type Item = string | readonly Item[];
  const rlp = vectors<{ accepted: readonly { item: Item; rlp: string }[]; refused: readonly { rlp: string; why: string }[] }>(
    "rlp",
  );
  const itemOf = (item: Item): RlpItem => (typeof item === "string" ? bytes(item) : item.map(itemOf));

  it("encodes and decodes the vectors", () => {
    for (const vector of rlp.accepted) {
      expect(hex(encodeRlp(itemOf(vector.item)))).toBe(`0x${vector.rlp}`);
      expect(decodeRlp(bytes(vector.rlp))).toEqual({ ok: true, item: itemOf(vector.item) });
    }
  });

  it.each(rlp.refused)("refuses: $why", ({ rlp: text }) => {
    expect(decodeRlp(bytes(text))).toMatchObject({ ok: false, code: "TRANSACTION_RLP" });
  });

  it("decodes whatever it takes back to the same bytes", () => {
    let taken = 0;
    for (let n = 0; n < 20_000; n++) {
      const text = random.bytes(1 + random.below(6));
      if (n % 2 === 0) text[0] = 0xc0 + text.length - 1;
      const decoded = decodeRlp(text);
      if (!decoded.ok) continue;
      taken += 1;
      expect(hex(encodeRlp(decoded.item))).toBe(hex(text));
    }
    expect(taken).toBeGreaterThan(1000);
  });

  it("writes integers in their shortest form and reads no other", () => {
    expect([...integerBytes(0n)]).toEqual([]);
    expect([...integerBytes(256n)]).toEqual([1, 0]);
    expect(integerOf(Uint8Array.of(1, 0), 32)).toBe(256n);
    expect(integerOf(Uint8Array.of(0, 1), 32)).toBeNull();
    expect(integerOf(Uint8Array.of(0), 32)).toBeNull();
    expect(integerOf(new Uint8Array(33).fill(1), 32)).toBeNull();
    expect(integerOf(new Uint8Array(32).fill(255), 32)).toBe(2n ** 256n - 1n);
  });
});

group("transfers against ethers and viem", () => {
  it.each(transferVectors)("vector: $name", (vector) => {
    const transfer = transferOf(vector.transfer);
    const unsigned = buildTransfer(transfer);
    expect(hex(unsigned)).toBe(vector.unsigned);
    expect(hex(digestOf(unsigned))).toBe(vector.digest);
    expect(attachSignature(unsigned, bytes(vector.signature), vector.sender)).toEqual({
      raw: bytes(vector.raw),
      txHash: vector.txHash,
    });
    const feeMaxWei = transfer.gasLimit * transfer.maxFeePerGas;
    expect(describe(unsigned)).toEqual({ ok: true, description: { ...transfer, feeMaxWei } });
  });

  const erc20 = ["function transfer(address to, uint256 value)", "function balanceOf(address owner) view returns (uint256)"];
  const byEthers = new Interface(erc20);
  const byViem = parseAbi(["function transfer(address to, uint256 value)"]);

  it(`random transfers, SEED=${seed}`, async () => {
    for (let n = 0; n < 150; n++) {
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
      const described = describe(unsigned);
      expect(described).toEqual({ ok: true, description: { ...transfer, feeMaxWei: transfer.gasLimit * maxFeePerGas } });
      const { raw, txHash } = attachSignature(unsigned, sign(digestOf(unsigned), key), sender);

      const isNative = transfer.contract === "";
      const call = byEthers.encodeFunctionData("transfer", [transfer.destination, transfer.amountUnits]);
      const parsed = Transaction.from(hex(raw));
      expect([parsed.from, parsed.hash, parsed.type, parsed.serialized]).toEqual([sender, txHash, 2, hex(raw)]);
      expect(parsed.unsignedSerialized).toBe(hex(unsigned));
      expect([parsed.chainId, BigInt(parsed.nonce), parsed.gasLimit]).toEqual([
        transfer.chainId,
        transfer.nonce,
        transfer.gasLimit,
      ]);
      expect([parsed.maxFeePerGas, parsed.maxPriorityFeePerGas]).toEqual([maxFeePerGas, transfer.maxPriorityFeePerGas]);
      expect([parsed.to, parsed.value, parsed.data]).toEqual(
        isNative ? [transfer.destination, transfer.amountUnits, "0x"] : [transfer.contract, 0n, call],
      );

      const seen = parseTransaction(hex(raw) as `0x02${string}`);
      expect(await recoverTransactionAddress({ serializedTransaction: hex(raw) as `0x02${string}` })).toBe(sender);
      const { r, s, yParity, v, ...fields } = seen;
      expect(serializeTransaction(fields)).toBe(hex(unsigned));
      expect(serializeTransaction(fields, { r: r!, s: s!, yParity: yParity! })).toBe(hex(raw));
      expect(v).toBe(BigInt(yParity!) + 27n);
      if (!isNative) {
        const data = seen.data!;
        expect(data).toBe(
          encodeFunctionData({ abi: byViem, args: [transfer.destination as `0x${string}`, transfer.amountUnits] }),
        );
        expect(decodeFunctionData({ abi: byViem, data }).args).toEqual([transfer.destination, transfer.amountUnits]);
      }
    }
  });

  it("encodes call data as both libraries do", () => {
    const address = plain.destination;
    expect(hex(encodeTransferCall(address, 5n))).toBe(byEthers.encodeFunctionData("transfer", [address, 5n]));
    expect(encodeBalanceCall(address)).toBe(byEthers.encodeFunctionData("balanceOf", [address]));
    expect(decodeTransferCall(encodeTransferCall(address, 2n ** 256n - 1n))).toEqual({
      destination: address,
      amountUnits: 2n ** 256n - 1n,
    });
  });

  it("reads a plain Transfer log and nothing that only looks like one", () => {
    const word = (address: string): string => `0x${"0".repeat(24)}${address.slice(2).toLowerCase()}`;
    const log = { topics: [transferTopic, word(plain.destination), word(token.contract)], data: `0x${"0".repeat(62)}2a` };
    expect(readTransferLog(log)).toEqual({ from: plain.destination, to: token.contract, amountUnits: 42n });
    expect(transferTopic).toBe(keccak256(Buffer.from("Transfer(address,address,uint256)")));
    const others = {
      "another event": { ...log, topics: [`${transferTopic.slice(0, -1)}0`, ...log.topics.slice(1)] },
      "an NFT": { topics: [...log.topics, log.data], data: "0x" },
      "no receiver": { ...log, topics: log.topics.slice(0, 2) },
      "more than an address": { ...log, topics: [transferTopic, log.topics[1]!, log.topics[2]!.replace("0x0", "0x1")] },
      "longer data": { ...log, data: `${log.data}00` },
      "no data": { ...log, data: "0x" },
    };
    for (const [why, other] of Object.entries(others)) expect(readTransferLog(other), why).toBeNull();
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
  const flipped = (at: number): Uint8Array => transferCall.map((byte, i) => (i === at ? byte ^ 1 : byte));
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
    ["access list with an entry", changed(plain, 8, [[twenty, [new Uint8Array(32)]]]), "TRANSACTION_ACCESS_LIST"],
    ["access list with an empty list", changed(plain, 8, [[]]), "TRANSACTION_ACCESS_LIST"],
    ["access list as a string", changed(plain, 8, new Uint8Array(0)), "TRANSACTION_FIELD"],
    ["nonce with a leading zero", changed(plain, 1, Uint8Array.of(0, 7)), "TRANSACTION_FIELD"],
    ["nonce as a list", changed(plain, 1, []), "TRANSACTION_FIELD"],
    ["nonce of 2^64-1", changed(plain, 1, integerBytes(2n ** 64n - 1n)), "TRANSACTION_FIELD"],
    ["chain id zero", changed(plain, 0, integerBytes(0n)), "TRANSACTION_FIELD"],
    ["chain id of 2^53", changed(plain, 0, integerBytes(2n ** 53n)), "TRANSACTION_FIELD"],
    ["tip above the fee", changed(plain, 2, integerBytes(51n)), "TRANSACTION_FIELD"],
    ["fee of 33 bytes", changed(plain, 3, new Uint8Array(33).fill(1)), "TRANSACTION_FIELD"],
    ["fee zero", changed({ ...plain, maxPriorityFeePerGas: 0n }, 3, integerBytes(0n)), "TRANSACTION_FIELD"],
    ["gas below any transaction's", changed(plain, 4, integerBytes(20_999n)), "TRANSACTION_FIELD"],
    ["gas of 2^64", changed(plain, 4, integerBytes(2n ** 64n)), "TRANSACTION_FIELD"],
    ["no receiver", changed(plain, 5, new Uint8Array(0)), "TRANSACTION_FIELD"],
    ["receiver of 21 bytes", changed(plain, 5, new Uint8Array(21).fill(1)), "TRANSACTION_FIELD"],
    ["receiver as a list", changed(plain, 5, [twenty]), "TRANSACTION_FIELD"],
    ["receiver zero", changed(plain, 5, new Uint8Array(20)), "ADDRESS_ZERO"],
    ["amount zero", changed(plain, 6, integerBytes(0n)), "TRANSACTION_FIELD"],
    ["data as a list", changed(plain, 7, []), "TRANSACTION_FIELD"],
    ["native coin with call data", changed(plain, 7, transferCall), "TRANSACTION_CALL"],
    ["token call that pays native coin too", changed(token, 6, integerBytes(1n)), "TRANSACTION_CALL"],
    ["call of approve", changed(token, 7, Uint8Array.from([9, 94, 167, 179, ...transferCall.slice(4)])), "TRANSACTION_CALL"],
    ["another selector", changed(token, 7, flipped(3)), "TRANSACTION_CALL"],
    ["dirty padding before the address", changed(token, 7, flipped(15)), "TRANSACTION_CALL"],
    ["call data one byte long", changed(token, 7, Uint8Array.of(1)), "TRANSACTION_CALL"],
    ["call data cut", changed(token, 7, transferCall.slice(0, 67)), "TRANSACTION_CALL"],
    ["call data lengthened", changed(token, 7, Uint8Array.from([...transferCall, 0])), "TRANSACTION_CALL"],
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

  it.each(cases)("%s", (_why, unsigned, code) => {
    expect(describe(unsigned)).toMatchObject({ ok: false, code });
  });

  it("takes the twins of those, unchanged", () => {
    for (const transfer of [plain, token]) {
      expect(typed(fieldsOf(transfer))).toEqual(buildTransfer(transfer));
      expect(describe(typed(fieldsOf(transfer))).ok).toBe(true);
    }
    expect(describe(changed(plain, 1, integerBytes(2n ** 64n - 2n))).ok).toBe(true);
    expect(describe(changed(plain, 0, integerBytes(2n ** 53n - 1n))).ok).toBe(true);
    expect(describe(changed(plain, 2, integerBytes(50n))).ok).toBe(true);
    expect(describe(changed(plain, 4, integerBytes(2n ** 64n - 1n))).ok).toBe(true);
  });

  it("describes only bytes that it would build itself, however they were changed", () => {
    let taken = 0;
    for (let n = 0; n < 20_000; n++) {
      const unsigned = buildTransfer(n % 2 === 0 ? plain : token);
      for (let k = 0; k <= n % 3; k++) unsigned[random.below(unsigned.length)] = random.below(256);
      const described = describe(unsigned);
      if (!described.ok) continue;
      taken += 1;
      expect(hex(buildTransfer(described.description))).toBe(hex(unsigned));
    }
    expect(taken).toBeGreaterThan(1000);
  });

  it("builds nothing from fields out of range", () => {
    const wrong: Readonly<Record<string, Partial<Transfer>>> = {
      TRANSACTION_FIELD: { nonce: -1n },
      ADDRESS_CHECKSUM: { destination: "0x52908400098527886e0F7030069857D2E4169EE7" },
      ADDRESS_FORMAT: { contract: "0x" },
      ADDRESS_ZERO: { destination: `0x${"0".repeat(40)}` },
    };
    for (const [code, change] of Object.entries(wrong)) expect(codeOf(() => buildTransfer({ ...plain, ...change }))).toBe(code);
    for (const name of ["chainId", "amountUnits", "maxFeePerGas"] as const) {
      expect(
        codeOf(() => buildTransfer({ ...plain, maxPriorityFeePerGas: 0n, [name]: 0n })),
        name,
      ).toBe("TRANSACTION_FIELD");
    }
    expect(codeOf(() => buildTransfer({ ...plain, nonce: 7 as unknown as bigint }))).toBe("TRANSACTION_FIELD");
    expect(codeOf(() => buildTransfer(plain))).toBe("");
  });
});

group("signatures", () => {
  const key = new Uint8Array(32).fill(7);
  const sender = new Wallet(hex(key)).address;
  const unsigned = buildTransfer(token);
  const signature = sign(digestOf(unsigned), key);
  const withS = (s: bigint): Uint8Array =>
    Uint8Array.from([...signature.slice(0, 32), ...bytes(s.toString(16).padStart(64, "0"))]);
  const order = secp256k1.CURVE.n;
  const s = BigInt(hex(signature.slice(32)));

  it("attaches the account's own signature", () => {
    const { raw } = attachSignature(unsigned, signature, sender);
    expect(Transaction.from(hex(raw)).from).toBe(sender);
    expect(attachSignature(unsigned, signature, sender.toLowerCase()).raw).toEqual(raw);
  });

  it("refuses malleated and malformed signatures", () => {
    const malformed = {
      "upper half of s": withS(order - s),
      "s zero": withS(0n),
      "s of the order": withS(order),
      "r zero": Uint8Array.from([...new Uint8Array(32), ...signature.slice(32)]),
      "r of all ones": Uint8Array.from([...new Uint8Array(32).fill(255), ...signature.slice(32)]),
      "63 bytes": signature.slice(0, 63),
      "66 bytes": Uint8Array.from([...signature, 0, 0]),
      "a parity of 2": Uint8Array.from([...signature, 2]),
    };
    for (const [why, wrong] of Object.entries(malformed)) {
      expect(
        codeOf(() => attachSignature(unsigned, wrong, sender)),
        why,
      ).toBe("TRANSACTION_SIGNATURE");
    }
    // The hint is only where to begin: a wrong one costs time and changes nothing.
    for (const hint of [0, 1]) {
      const hinted = attachSignature(unsigned, Uint8Array.from([...signature, hint]), sender);
      expect(hinted.txHash).toBe(attachSignature(unsigned, signature, sender).txHash);
    }
    expect(codeOf(() => attachSignature(unsigned, withS(s), sender))).toBe("");
  });

  it("refuses another key's, another transaction's and a damaged signature", () => {
    const other = sign(digestOf(unsigned), new Uint8Array(32).fill(8));
    expect(codeOf(() => attachSignature(unsigned, other, sender))).toBe("TRANSACTION_SENDER");
    expect(codeOf(() => attachSignature(buildTransfer(plain), signature, sender))).toBe("TRANSACTION_SENDER");
    expect(codeOf(() => attachSignature(unsigned, withS(s - 1n), sender))).toBe("TRANSACTION_SENDER");
    expect(codeOf(() => attachSignature(unsigned, signature, plain.destination))).toBe("TRANSACTION_SENDER");
    expect(codeOf(() => attachSignature(unsigned.slice(0, -1), signature, sender))).toBe("TRANSACTION_RLP");
    expect(codeOf(() => attachSignature(unsigned, signature, "0x12"))).toBe("ADDRESS_FORMAT");
  });

  it("recovers the same with noble, for runtimes without WebAssembly", () => {
    for (let n = 0; n < 20; n++) {
      const digest = random.bytes(32);
      const signed = sign(digest, key);
      for (const parity of [0, 1] as const)
        expect(recoverByNoble(digest, signed, parity)).toEqual(recoverPublicKey(digest, signed, parity));
    }
    expect(recoverByNoble(digestOf(unsigned), new Uint8Array(64), 0)).toBeNull();
    expect(recoverPublicKey(digestOf(unsigned), new Uint8Array(64), 0)).toBeNull();
  });
});

group("what nodes say to a broadcast", () => {
  const { texts } = vectors<{ texts: readonly (readonly [client: string, text: string, expected: string])[] }>("node-errors");

  it("has texts of eight clients at least", () => {
    expect(texts.length).toBeGreaterThanOrEqual(60);
    expect(new Set(texts.map(([client]) => client.split(" ")[0])).size).toBeGreaterThanOrEqual(8 + 1);
  });

  it.each(texts)("%s: %s", (_client, text, expected) => {
    expect(classifyBroadcastError(text)).toBe(expected);
    expect(classifyBroadcastError(text.toUpperCase())).toBe(expected);
  });

  it("reports the most useful of several answers, and unsent only when all say so", () => {
    const merged = (...outcomes: Parameters<typeof mergeBroadcasts>[0][number]["outcome"][]): string =>
      mergeBroadcasts(outcomes.map((outcome) => ({ outcome, text: "" }))).outcome;
    expect(merged("unsent", "unsent")).toBe("unsent");
    expect(merged("unsent", "unknown")).toBe("unknown");
    expect(merged("unknown", "underpriced")).toBe("underpriced");
    expect(merged("nonce-consumed", "known")).toBe("known");
    expect(merged("known", "accepted")).toBe("accepted");
    expect(merged()).toBe("unsent");
  });

  it("tells a revert from want of funds and from trouble in the node", () => {
    expect(
      ["execution reverted", "execution reverted: balance too low", "VM execution error.", "Execution reverted"].every(isRevert),
    ).toBe(true);
    expect(
      ["insufficient funds for gas * price + value", "header not found", "gas required exceeds allowance (0)", ""].some(isRevert),
    ).toBe(false);
  });
});
