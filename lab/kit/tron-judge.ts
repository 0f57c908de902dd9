/**
 * tronweb as the judge of Tron transactions, and a plain reading of the same bytes by Google's
 * protobuf reader for numbers that tronweb keeps too coarsely. Nothing here is our own encoding.
 */
import { createRequire } from "node:module";
import { TronWeb, utils } from "tronweb";
import type { Transfer } from "../../chains/tron/raw-data.ts";
import { leadsBeyond, type NestedFields } from "./protobuf-lengths.ts";

interface BinaryReader {
  nextField(): boolean;
  getFieldNumber(): number;
  getWireType(): number;
  readInt64String(): string;
  readBytes(): Uint8Array;
  skipField(): void;
}

/** The protobuf reader that tronweb brings. */
const { BinaryReader } = createRequire(createRequire(import.meta.url).resolve("tronweb"))(
  "google-protobuf",
) as {
  readonly BinaryReader: new (bytes: Uint8Array) => BinaryReader;
};

/** A transfer as the judge reads it: addresses in base58, hex in lower case. */
export interface Reading {
  readonly sender: string;
  readonly contract: string;
  readonly destination: string;
  readonly amountUnits: string;
  readonly refBlockBytes: string;
  readonly refBlockHash: string;
  readonly expirationMs: string;
  readonly timestampMs: string;
  readonly feeLimitSun: string;
  /** Everything else that the bytes say; all empty in a transfer of ours. */
  readonly more: string;
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const addressOf = (hex: string): string => TronWeb.address.fromHex(hex.toLowerCase()) as string;

/** Our own transfer in the judge's words. */
export function readingOf(transfer: Transfer): Reading {
  const { sender, contract, destination } = transfer;
  return {
    ...{ sender, contract, destination, amountUnits: `${transfer.amountUnits}`, more: "" },
    refBlockBytes: transfer.refBlockBytes.toString(16).padStart(4, "0"),
    refBlockHash: transfer.refBlockHash.toString(16).padStart(16, "0"),
    ...{ expirationMs: `${transfer.expirationMs}`, timestampMs: `${transfer.timestampMs}` },
    feeLimitSun: `${transfer.feeLimitSun}`,
  };
}

interface TransactionBody {
  readonly contract: readonly {
    readonly type: string;
    readonly Permission_id: number;
    readonly parameter: {
      readonly value: Readonly<Record<string, string | number>>;
      readonly type_url: string;
    };
  }[];
  readonly data: string;
  readonly fee_limit: number;
  readonly ref_block_bytes: string;
  readonly ref_block_hash: string;
  readonly expiration: number;
  readonly timestamp: number;
  readonly scripts: string;
  readonly auths: readonly unknown[];
}

/** raw → contract (11) → parameter, an Any (2) → its value (2), which tronweb decodes as well. */
const messages: NestedFields = { 11: { 2: { 2: {} } }, 9: {} };

/** The bytes as JSON by tronweb. @throws Error if it cannot read them, or would read on too long */
function jsonByTronweb(rawData: Uint8Array): TransactionBody {
  if (leadsBeyond(rawData, messages)) throw new Error("a length leads beyond its message");
  const hex = hexOf(rawData);
  for (const type of ["TransferContract", "TriggerSmartContract"]) {
    try {
      return utils.deserializeTx.deserializeTransaction(type, hex) as TransactionBody;
    } catch (error) {
      if (!(error instanceof Error) || !error.message.includes("dismatches")) throw error;
    }
  }
  throw new Error("tronweb reads another contract");
}

/** tronweb's own reading. Numbers above 2^53 come rounded. Throws where it cannot read. */
export function readByTronweb(rawData: Uint8Array): Reading {
  const json = jsonByTronweb(rawData);
  const [contract] = json.contract;
  if (contract === undefined) throw new Error("tronweb reads no contract");
  const { owner_address, ...value } = contract.parameter.value;
  const isCoin = contract.type === "TransferContract";
  const call = isCoin ? null : callByTronweb(String(value.data));
  const more = [json.data, json.scripts, json.auths.length, contract.Permission_id];
  const rest = isCoin ? [] : [value.call_value, value.call_token_value, value.token_id];
  return {
    sender: addressOf(String(owner_address)),
    contract: isCoin ? "" : addressOf(String(value.contract_address)),
    destination: call?.destination ?? addressOf(String(value.to_address)),
    amountUnits: call?.amountUnits ?? String(value.amount),
    refBlockBytes: json.ref_block_bytes.toLowerCase(),
    refBlockHash: json.ref_block_hash.toLowerCase(),
    ...{
      expirationMs: `${json.expiration}`,
      timestampMs: `${json.timestamp}`,
      feeLimitSun: `${json.fee_limit}`,
    },
    more: [...more, ...rest].filter((each) => each !== "" && each !== 0).join(),
  };
}

/**
 * The arguments of transfer(address,uint256), by tronweb's decoder, which takes no dirt in the
 * padding.
 */
function callByTronweb(data: string): {
  readonly destination: string;
  readonly amountUnits: string;
} {
  if (data.slice(0, 8).toLowerCase() !== "a9059cbb") throw new Error("tronweb reads another call");
  const decoded = utils.abi.decodeParams(
    ["to", "value"],
    ["address", "uint256"],
    `0x${data.slice(8)}`,
    false,
  );
  const [destination, units] = [decoded.to, decoded.value] as [string, bigint];
  return { destination: addressOf(destination), amountUnits: `${units}` };
}

/** The bytes that tronweb makes of its own JSON. */
export function encodeByTronweb(json: TransactionBody): {
  readonly rawData: string;
  readonly txId: string;
} {
  const pb = utils.transaction.txJsonToPb({ raw_data: json, visible: false } as never);
  return {
    rawData: utils.transaction.txPbToRawDataHex(pb).toLowerCase(),
    txId: utils.transaction.txPbToTxID(pb).replace(/^0x/, "").toLowerCase(),
  };
}

/** The JSON of a transfer, as a node would hand it to tronweb. */
export function jsonOf(transfer: Transfer): TransactionBody {
  const { sender, contract, destination, amountUnits, feeLimitSun, expirationMs, timestampMs } =
    transfer;
  const hex = (address: string): string => TronWeb.address.toHex(address);
  const parameters = [
    { type: "address", value: destination },
    { type: "uint256", value: `${amountUnits}` },
  ];
  const call = (): string =>
    `a9059cbb${utils.abi
      .encodeParams(
        parameters.map(({ type }) => type),
        parameters.map(({ value }) => value),
      )
      .slice(2)}`;
  const value: Record<string, string | number> =
    contract === ""
      ? { owner_address: hex(sender), to_address: hex(destination), amount: Number(amountUnits) }
      : {
          owner_address: hex(sender),
          contract_address: hex(contract),
          data: call(),
          call_value: 0,
        };
  const type = contract === "" ? "TransferContract" : "TriggerSmartContract";
  const { refBlockBytes, refBlockHash } = readingOf(transfer);
  return {
    contract: [
      {
        type,
        Permission_id: 0,
        parameter: { value, type_url: `type.googleapis.com/protocol.${type}` },
      },
    ],
    ...{ data: "", scripts: "", auths: [], fee_limit: Number(feeLimitSun) },
    ...{ ref_block_bytes: refBlockBytes, ref_block_hash: refBlockHash },
    ...{ expiration: Number(expirationMs), timestamp: Number(timestampMs) },
  };
}

/** The signer's address, in base58: `signature` is r ‖ s ‖ 27 + parity. */
export function signerByTronweb(txId: string, signature: Uint8Array): string {
  return addressOf(utils.crypto.ecRecover(txId, hexOf(signature)));
}

/** The fields of a message, by Google's reader: the last of a number counts, whatever the order. */
function plainFields(bytes: Uint8Array): ReadonlyMap<number, string | Uint8Array> {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, string | Uint8Array>();
  while (reader.nextField()) {
    const wire = reader.getWireType();
    if (wire === 0) fields.set(reader.getFieldNumber(), reader.readInt64String());
    else if (wire === 2) fields.set(reader.getFieldNumber(), reader.readBytes());
    else reader.skipField();
  }
  return fields;
}

/** Amount, times and fee limit to the last digit, by Google's reader alone. */
export function exactNumbers(
  rawData: Uint8Array,
): Pick<Reading, "amountUnits" | "expirationMs" | "timestampMs" | "feeLimitSun"> {
  const raw = plainFields(rawData);
  const inside = (fields: ReadonlyMap<number, string | Uint8Array>, number: number): Uint8Array => {
    const value = fields.get(number);
    return value instanceof Uint8Array ? value : new Uint8Array(0);
  };
  const value = plainFields(inside(plainFields(inside(plainFields(inside(raw, 11)), 2)), 2));
  const data = inside(value, 4);
  return {
    amountUnits:
      data.length > 0 ? `${BigInt(`0x${hexOf(data.subarray(36))}`)}` : String(value.get(3) ?? "0"),
    expirationMs: String(raw.get(8) ?? "0"),
    timestampMs: String(raw.get(14) ?? "0"),
    feeLimitSun: String(raw.get(18) ?? "0"),
  };
}

/** The same numbers of a signed transaction, 0x hex. */
export function exactNumbersOfSigned(raw: string): ReturnType<typeof exactNumbers> {
  const rawData = plainFields(Uint8Array.from(Buffer.from(raw.replace(/^0x/, ""), "hex"))).get(1);
  if (!(rawData instanceof Uint8Array)) throw new Error("bytes that are no transaction");
  return exactNumbers(rawData);
}
