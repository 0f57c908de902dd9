/**
 * chains/tron offline, transactions: public vectors, and everything near to a transfer that
 * `describe` must refuse, each with a twin that is taken.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import { utils } from "tronweb";
import { expect, describe as group, it } from "vitest";
import { signDigest } from "../../agent/signer/vault/curve.ts";
import { txHashOf } from "../../chains/tron/hash.ts";
import { decodeMessage, encodeMessage, type ProtoField } from "../../chains/tron/protobuf.ts";
import { decodeRawData, encodeRawData, type Transfer } from "../../chains/tron/raw-data.ts";
import {
  attachSignature,
  bandwidthOf,
  buildTransfer,
  describeTransfer,
  digestOf,
} from "../../chains/tron/transaction.ts";
import { decodeTransferCall, encodeTransferCall } from "../../chains/tron/trc20.ts";
import { share } from "../../lab/kit/share.ts";
import { readByTronweb, signerByTronweb } from "../../lab/kit/tron-judge.ts";
import { plain, sender, token } from "../../lab/kit/tron-values.ts";
import { bytes, codeOf, hex, random, vectors } from "../support/evm-values.ts";

interface TransactionVector {
  readonly name: string;
  readonly rawData: string;
  readonly txId: string;
  readonly privateKey: string;
  readonly signature: string; // r ‖ s ‖ parity
  readonly signer: string;
  readonly transfer: Readonly<Record<keyof Transfer, string>>;
  readonly code: string; // "" where describe takes it
}

const { transactions } = vectors<{ readonly transactions: readonly TransactionVector[] }>("tron");

function transferOf({
  sender,
  contract,
  destination,
  ...numbers
}: TransactionVector["transfer"]): Transfer {
  const integers = Object.fromEntries(
    Object.entries(numbers).map(([name, text]) => [name, BigInt(text)]),
  );
  return { sender, contract, destination, ...integers } as unknown as Transfer;
}

group("public Tron transactions", () => {
  it.each(transactions)("$name: its id, its fields, and its bytes again", (vector) => {
    const rawData = bytes(vector.rawData);
    const transfer = transferOf(vector.transfer);
    expect(txHashOf(rawData)).toBe(vector.txId);
    expect(hex(digestOf(rawData))).toBe(`0x${vector.txId}`);
    if (vector.code === "TRANSACTION_CALL") {
      expect(decodeRawData(rawData)).toMatchObject({ ok: false, code: vector.code });
      expect(() => readByTronweb(rawData)).toThrow();
      return;
    }
    expect(decodeRawData(rawData)).toEqual({ ok: true, transfer });
    expect(hex(encodeRawData(transfer))).toBe(`0x${vector.rawData}`);
    expect(describeTransfer(rawData)).toMatchObject(
      vector.code === "" ? { ok: true, transfer } : { ok: false, code: vector.code },
    );
    if (vector.code === "") expect(hex(buildTransfer(transfer))).toBe(`0x${vector.rawData}`);
  });

  it.each(transactions.filter(({ privateKey }) => privateKey !== ""))(
    "$name: the vector's signature",
    (vector) => {
      expect(
        Buffer.from(signDigest(bytes(vector.txId), bytes(vector.privateKey))).toString("hex"),
      ).toBe(vector.signature);
      expect(signerByTronweb(vector.txId, bytes(vector.signature))).toBe(vector.signer);
    },
  );

  it("a public signature by another account than the sender is not attached", () => {
    const { rawData, signature, signer, transfer } = transactions.find(
      (each) => each.signer !== "" && each.privateKey === "",
    )!;
    expect(codeOf(() => attachSignature(bytes(rawData), bytes(signature), transfer.sender))).toBe(
      "TRANSACTION_SENDER",
    );
    expect(codeOf(() => attachSignature(bytes(rawData), bytes(signature), signer))).toBe(
      "TRANSACTION_SENDER",
    );
  });
});

/** raw_data taken apart and put together with other parts. */
interface Parts {
  readonly raw?: (fields: ProtoField[]) => readonly ProtoField[];
  readonly contract?: (fields: ProtoField[]) => readonly ProtoField[];
  readonly parameter?: (fields: ProtoField[]) => readonly ProtoField[];
  readonly value?: (fields: ProtoField[]) => readonly ProtoField[];
}

function fieldsOf(message: Uint8Array): ProtoField[] {
  const decoded = decodeMessage(message);
  if (!decoded.ok) throw new Error(`no message: ${decoded.detail}`);
  return [...decoded.message];
}

function withField(
  fields: readonly ProtoField[],
  number: number,
  value: bigint | Uint8Array,
): ProtoField[] {
  return [...fields.filter(([each]) => each !== number), [number, value] as const].sort(
    ([a], [b]) => a - b,
  );
}

const at = (fields: readonly ProtoField[], number: number): Uint8Array =>
  fields.find(([each]) => each === number)![1] as Uint8Array;
const same = (fields: ProtoField[]): ProtoField[] => fields;

function remade(
  transfer: Transfer,
  { raw = same, contract = same, parameter = same, value = same }: Parts,
): Uint8Array {
  const rawFields = fieldsOf(buildTransfer(transfer));
  const contractFields = fieldsOf(at(rawFields, 11));
  const parameterFields = fieldsOf(at(contractFields, 2));
  const newValue = encodeMessage(value(fieldsOf(at(parameterFields, 2))));
  const newParameter = encodeMessage(parameter(withField(parameterFields, 2, newValue)));
  const newContract = encodeMessage(contract(withField(contractFields, 2, newParameter)));
  return encodeMessage(raw(withField(rawFields, 11, newContract)));
}

const put = (number: number, value: bigint | Uint8Array) => (fields: ProtoField[]) =>
  withField(fields, number, value);
const drop = (number: number) => (fields: ProtoField[]) =>
  fields.filter(([each]) => each !== number);
const call = encodeTransferCall(token.destination, token.amountUnits);
const callWith = (location: number, byte: number): Uint8Array =>
  call.map((each, index) => (index === location ? byte : each));
const url = (name: string): Uint8Array => Buffer.from(`type.googleapis.com/protocol.${name}`);
const honest = buildTransfer(plain);
const tooLong = { expirationMs: plain.timestampMs + 600_001n };
const zero = bytes(`41${"00".repeat(20)}`);

const refused: readonly (readonly [why: string, rawData: Uint8Array, code: string])[] = [
  ["no bytes", new Uint8Array(0), "TRANSACTION_PROTOBUF"],
  ["a byte after the end", Uint8Array.of(...honest, 0), "TRANSACTION_PROTOBUF"],
  ["the last byte cut off", honest.slice(0, -1), "TRANSACTION_PROTOBUF"],
  [
    "TRX with a fee limit of zero spelled out",
    Uint8Array.of(...honest, 0x90, 0x01, 0),
    "TRANSACTION_PROTOBUF",
  ],
  ["far too long", encodeMessage([[1, new Uint8Array(600)]]), "TRANSACTION_PROTOBUF"],
  ["a memo", remade(plain, { raw: put(10, Buffer.from("hello")) }), "TRANSACTION_PROTOBUF"],
  ["scripts", remade(plain, { raw: put(12, Uint8Array.of(1)) }), "TRANSACTION_PROTOBUF"],
  ["authorities", remade(plain, { raw: put(9, Uint8Array.of(10, 1, 1)) }), "TRANSACTION_PROTOBUF"],
  [
    "a number of the block beside its bytes",
    remade(plain, { raw: put(3, 1n) }),
    "TRANSACTION_PROTOBUF",
  ],
  ["a field that nobody knows", remade(plain, { raw: put(77, 1n) }), "TRANSACTION_PROTOBUF"],
  ["no timestamp", remade(plain, { raw: drop(14) }), "TRANSACTION_PROTOBUF"],
  ["no expiration", remade(plain, { raw: drop(8) }), "TRANSACTION_PROTOBUF"],
  ["no contract", remade(plain, { raw: drop(11) }), "TRANSACTION_PROTOBUF"],
  [
    "a timestamp as bytes",
    remade(plain, { raw: put(14, Uint8Array.of(1)) }),
    "TRANSACTION_PROTOBUF",
  ],
  ["block bytes as a number", remade(plain, { raw: put(1, 5n) }), "TRANSACTION_PROTOBUF"],
  [
    "three block bytes",
    remade(plain, { raw: put(1, Uint8Array.of(0, 1, 2)) }),
    "TRANSACTION_PROTOBUF",
  ],
  [
    "a block's hash of seven bytes",
    remade(plain, { raw: put(4, new Uint8Array(7).fill(1)) }),
    "TRANSACTION_PROTOBUF",
  ],
  [
    "two contracts",
    remade(plain, { raw: (fields) => [...fields.slice(0, 4), fields[3]!, ...fields.slice(4)] }),
    "TRANSACTION_PROTOBUF",
  ],
  [
    "fields in another order",
    remade(plain, { raw: (fields) => [fields[1]!, fields[0]!, ...fields.slice(2)] }),
    "TRANSACTION_PROTOBUF",
  ],
  ["a permission id", remade(plain, { contract: put(5, 2n) }), "TRANSACTION_PROTOBUF"],
  ["a provider", remade(plain, { contract: put(3, Uint8Array.of(1)) }), "TRANSACTION_PROTOBUF"],
  [
    "a contract's name",
    remade(plain, { contract: put(4, Uint8Array.of(1)) }),
    "TRANSACTION_PROTOBUF",
  ],
  ["a transfer of TRC-10", remade(plain, { contract: put(1, 2n) }), "TRANSACTION_TYPE"],
  [
    "a type that the parameter is not of",
    remade(plain, { contract: put(1, 31n) }),
    "TRANSACTION_TYPE",
  ],
  [
    "a parameter that is not of the type",
    remade(plain, { parameter: put(1, url("TriggerSmartContract")) }),
    "TRANSACTION_TYPE",
  ],
  [
    "an address of the parameter's kind one letter off",
    remade(plain, { parameter: put(1, url("transferContract")) }),
    "TRANSACTION_TYPE",
  ],
  ["no sender", remade(plain, { value: drop(1) }), "TRANSACTION_PROTOBUF"],
  ["no amount", remade(plain, { value: drop(3) }), "TRANSACTION_PROTOBUF"],
  [
    "a receiver of twenty bytes",
    remade(plain, { value: put(2, new Uint8Array(20).fill(1)) }),
    "TRANSACTION_PROTOBUF",
  ],
  [
    "a receiver with another prefix",
    remade(plain, { value: put(2, bytes(`a0${"11".repeat(20)}`)) }),
    "TRANSACTION_PROTOBUF",
  ],
  ["the zero address as receiver", remade(plain, { value: put(2, zero) }), "ADDRESS_ZERO"],
  ["the zero address as sender", remade(plain, { value: put(1, zero) }), "ADDRESS_ZERO"],
  [
    "the sender itself as receiver",
    remade(plain, {
      value: put(2, at(fieldsOf(at(fieldsOf(at(fieldsOf(at(fieldsOf(honest), 11)), 2)), 2)), 1)),
    }),
    "TRANSACTION_FIELD",
  ],
  ["a fourth field of the transfer", remade(plain, { value: put(4, 1n) }), "TRANSACTION_PROTOBUF"],
  ["TRX with a fee limit", remade(plain, { raw: put(18, 1n) }), "TRANSACTION_FIELD"],
  ["a life above ten minutes", encodeRawData({ ...plain, ...tooLong }), "TRANSACTION_FIELD"],
  [
    "an end before its beginning",
    encodeRawData({ ...plain, expirationMs: plain.timestampMs }),
    "TRANSACTION_FIELD",
  ],
  [
    "a time beyond 2^53",
    encodeRawData({ ...plain, timestampMs: 2n ** 53n, expirationMs: 2n ** 53n + 1n }),
    "TRANSACTION_FIELD",
  ],
  ["a token without a fee limit", remade(token, { raw: drop(18) }), "TRANSACTION_FIELD"],
  [
    "a fee limit above the chain's",
    remade(token, { raw: put(18, 15_000_000_001n) }),
    "TRANSACTION_FIELD",
  ],
  ["a call that pays TRX too", remade(token, { value: put(3, 1n) }), "TRANSACTION_PROTOBUF"],
  [
    "a call that pays TRC-10 too",
    remade(token, { value: (fields) => put(6, 1_000_001n)(put(5, 1n)(fields)) }),
    "TRANSACTION_PROTOBUF",
  ],
  [
    "call data of approve",
    remade(token, { value: put(4, Uint8Array.of(9, 94, 167, 179, ...call.slice(4))) }),
    "TRANSACTION_CALL",
  ],
  [
    "0x41 in the address's padding",
    remade(token, { value: put(4, callWith(15, 0x41)) }),
    "TRANSACTION_CALL",
  ],
  [
    "dirt in the address's padding",
    remade(token, { value: put(4, callWith(4, 1)) }),
    "TRANSACTION_CALL",
  ],
  [
    "call data one byte short",
    remade(token, { value: put(4, call.slice(0, -1)) }),
    "TRANSACTION_CALL",
  ],
  [
    "call data one byte long",
    remade(token, { value: put(4, Uint8Array.of(...call, 0)) }),
    "TRANSACTION_CALL",
  ],
  ["no call data", remade(token, { value: drop(4) }), "TRANSACTION_PROTOBUF"],
  [
    "a token's amount of zero",
    remade(token, {
      value: put(
        4,
        call.map((each, index) => (index < 36 ? each : 0)),
      ),
    }),
    "TRANSACTION_FIELD",
  ],
  [
    "a token to the zero address",
    remade(token, {
      value: put(
        4,
        call.map((each, index) => (index > 3 && index < 36 ? 0 : each)),
      ),
    }),
    "ADDRESS_ZERO",
  ],
  ["the zero address as token", remade(token, { value: put(2, zero) }), "ADDRESS_ZERO"],
];

group("describe of a Tron transaction", () => {
  it.each(refused)("describe of a Tron transaction refuses %s", (_why, rawData, code) => {
    expect(describeTransfer(rawData)).toMatchObject({ ok: false, code });
  });

  it("describe of a Tron transaction takes the twins of refused bytes, taken apart and put together unchanged", () => {
    for (const transfer of [plain, token]) {
      expect(remade(transfer, {})).toEqual(buildTransfer(transfer));
      expect(describeTransfer(remade(transfer, {}))).toEqual({ ok: true, transfer });
    }
    const edges: readonly Transfer[] = [
      { ...plain, expirationMs: plain.timestampMs + 600_000n },
      { ...plain, expirationMs: plain.timestampMs + 1n },
      { ...plain, amountUnits: 2n ** 63n - 1n, refBlockBytes: 0n, refBlockHash: 0n },
      { ...plain, timestampMs: 2n ** 53n - 600_001n, expirationMs: 2n ** 53n - 1n },
      { ...token, feeLimitSun: 15_000_000_000n, amountUnits: 2n ** 256n - 1n },
      { ...token, feeLimitSun: 1n, amountUnits: 1n },
    ];
    for (const transfer of edges)
      expect(describeTransfer(buildTransfer(transfer))).toEqual({ ok: true, transfer });
  });

  it("describe of a Tron transaction refuses every longer spelling of a number, a length or a tag", () => {
    let tried = 0;
    for (const transfer of [plain, token]) {
      const rawData = buildTransfer(transfer);
      // The outer message's tags, lengths and numbers begin here.
      for (const location of [0, 1, 4, 5, 14, 15]) {
        const longer = Uint8Array.of(
          ...rawData.slice(0, location),
          rawData[location]! | 0x80,
          0,
          ...rawData.slice(location + 1),
        );
        if (rawData[location]! >= 0x80) continue;
        expect(describeTransfer(longer), `${location}`).toMatchObject({
          ok: false,
          code: "TRANSACTION_PROTOBUF",
        });
        tried += 1;
      }
    }
    expect(tried).toBeGreaterThan(8);
  });

  it("describe of a Tron transaction takes only bytes that buildTransfer makes, however single bytes were changed", () => {
    let taken = 0;
    for (let n = 0; n < share(10_000); n++) {
      const rawData = buildTransfer(n % 2 === 0 ? plain : token);
      for (let k = 0; k <= n % 3; k++) rawData[random.below(rawData.length)] = random.below(256);
      const described = describeTransfer(rawData);
      if (!described.ok) continue;
      taken += 1;
      if (hex(buildTransfer(described.transfer)) !== hex(rawData))
        expect.unreachable(`another form of ${hex(rawData)}`);
    }
    expect(taken).toBeGreaterThan(share(500));
  });
});

group("buildTransfer on Tron", () => {
  it("buildTransfer on Tron makes nothing of fields out of range, and of their twins it does", () => {
    const wrong: readonly (readonly [code: string, change: Partial<Transfer>])[] = [
      ["TRANSACTION_FIELD", { amountUnits: 0n }],
      ["TRANSACTION_FIELD", { amountUnits: 2n ** 63n }],
      ["TRANSACTION_FIELD", { amountUnits: 5 as unknown as bigint }],
      ["TRANSACTION_FIELD", { refBlockBytes: 65_536n }],
      ["TRANSACTION_FIELD", { refBlockHash: 2n ** 64n }],
      ["TRANSACTION_FIELD", { refBlockHash: -1n }],
      ["TRANSACTION_FIELD", { feeLimitSun: 1n }],
      ["TRANSACTION_FIELD", { destination: sender }],
      ["TRANSACTION_FIELD", tooLong],
      ["ADDRESS_CHECKSUM", { destination: plain.destination.replace("VV", "Vv") }],
      ["ADDRESS_FORMAT", { sender: "415cd0fb0ab3ce40f3051414c604b27756e69e43db" }],
      ["ADDRESS_ZERO", { destination: "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb" }],
    ];
    for (const [code, change] of wrong)
      expect(
        codeOf(() => buildTransfer({ ...plain, ...change })),
        code,
      ).toBe(code);
    expect(codeOf(() => buildTransfer({ ...token, contract: "0x" }))).toBe("ADDRESS_FORMAT");
    expect(codeOf(() => buildTransfer({ ...token, feeLimitSun: 0n }))).toBe("TRANSACTION_FIELD");
    for (const transfer of [plain, token]) expect(codeOf(() => buildTransfer(transfer))).toBe("");
  });

  it("buildTransfer on Tron takes the bandwidth of what the chain counts: the signed bytes and 64", () => {
    const key = bytes(transactions[0]!.privateKey);
    for (const transfer of [plain, token]) {
      const rawData = buildTransfer(transfer);
      const { raw } = attachSignature(rawData, signDigest(digestOf(rawData), key), sender);
      expect(bandwidthOf(rawData)).toBe(BigInt(raw.length + 64));
    }
    expect([bandwidthOf(buildTransfer(plain)), bandwidthOf(buildTransfer(token))]).toEqual([
      267n,
      345n,
    ]);
  });

  it("buildTransfer on Tron writes call data as tronweb does, and reads it back", () => {
    const units = 2n ** 200n + 5n;
    const theirs = utils.abi.encodeParams(["address", "uint256"], [token.destination, `${units}`]);
    expect(hex(encodeTransferCall(token.destination, units))).toBe(`0xa9059cbb${theirs.slice(2)}`);
    expect(decodeTransferCall(encodeTransferCall(token.destination, units))).toEqual({
      destination: token.destination,
      amountUnits: units,
    });
  });
});

group("signatures on Tron", () => {
  const key = bytes(transactions[0]!.privateKey);
  const rawData = buildTransfer(token);
  const signature = signDigest(digestOf(rawData), key);
  const order = secp256k1.CURVE.n;
  const s = BigInt(hex(signature.slice(32, 64)));
  const withS = (value: bigint): Uint8Array =>
    Uint8Array.from([
      ...signature.slice(0, 32),
      ...bytes(value.toString(16).padStart(64, "0")),
      signature[64]!,
    ]);

  it("the sender's own signature is attached as the chain's wallets write it", () => {
    const { raw, txHash } = attachSignature(rawData, signature, sender);
    expect(txHash).toBe(Buffer.from(digestOf(rawData)).toString("hex"));
    const [[, first], [, second], ...rest] = fieldsOf(raw) as [ProtoField, ProtoField];
    expect([hex(first as Uint8Array), rest]).toEqual([hex(rawData), []]);
    expect(hex(second as Uint8Array)).toBe(
      hex(Uint8Array.of(...signature.slice(0, 64), 27 + signature[64]!)),
    );
    expect(utils.crypto.ECKeySign([...digestOf(rawData)], [...key]).toLowerCase()).toBe(
      hex(second as Uint8Array).slice(2),
    );
  });

  it("malformed signatures, another key's and another transaction's are refused", () => {
    const wrong: readonly (readonly [code: string, signature: Uint8Array])[] = [
      ["TRANSACTION_SIGNATURE", withS(order - s)],
      ["TRANSACTION_SIGNATURE", withS(0n)],
      ["TRANSACTION_SIGNATURE", signature.slice(0, 64)],
      ["TRANSACTION_SIGNATURE", Uint8Array.of(...signature.slice(0, 64), 27 + signature[64]!)],
      ["TRANSACTION_SENDER", Uint8Array.of(...signature.slice(0, 64), 1 - signature[64]!)],
      ["TRANSACTION_SENDER", signDigest(digestOf(rawData), new Uint8Array(32).fill(8))],
      ["TRANSACTION_SENDER", signDigest(digestOf(honest), key)],
    ];
    for (const [code, each] of wrong)
      expect(
        codeOf(() => attachSignature(rawData, each, sender)),
        code,
      ).toBe(code);
    expect(codeOf(() => attachSignature(rawData, signature, plain.destination))).toBe(
      "TRANSACTION_SENDER",
    );
    expect(codeOf(() => attachSignature(rawData.slice(0, -1), signature, sender))).toBe(
      "TRANSACTION_PROTOBUF",
    );
    expect(codeOf(() => attachSignature(rawData, withS(s), sender))).toBe("");
  });
});
