/**
 * Transactions as the fake for java-tron reads them: with tronweb alone, never with code of
 * ours, so that the node judges our bytes as an outsider would. Source: Tron's protobuf definitions
 * (core/Tron.proto) in tronweb's own build.
 */
import { utils } from "tronweb";

export type Json = Readonly<Record<string, unknown>>;

/** The contract types that the fake carries out. */
const typeNames: Readonly<Record<number, string>> = {
  1: "TransferContract",
  2: "TransferAssetContract",
  31: "TriggerSmartContract",
};

export interface ReadTransaction {
  readonly txId: string; // 64 hex digits, small
  readonly type: string;
  readonly value: Json; // the contract's fields, hex in small letters
  readonly owner: string; // 41…, hex
  readonly refBlockBytes: string;
  readonly refBlockHash: string;
  readonly expirationMs: number;
  readonly timestampMs: number;
  readonly feeLimitSun: bigint;
  readonly bytes: number; // serialized with its signatures, without results
  readonly rawDataHex: string;
  readonly rawData: Json; // as the HTTP API shows it
  readonly signatures: readonly string[];
  readonly signer: string | null; // signer of its only signature; null for none, several, or nonsense
}

/** A transaction that java-tron could not take in, in its own words. */
export class UnreadableTransactionError extends Error {
  override readonly name = "UnreadableTransactionError";
}

interface RawMessage {
  serializeBinary(): Uint8Array;
  getContractList(): readonly { getType(): number }[];
  getRefBlockBytes_asU8(): Uint8Array;
  getRefBlockHash_asU8(): Uint8Array;
  getExpiration(): number;
  getTimestamp(): number;
  getFeeLimit(): number;
}

interface TransactionMessage {
  serializeBinary(): Uint8Array;
  getRawData(): RawMessage | undefined;
  setRawData(raw: RawMessage): void;
  getSignatureList_asU8(): readonly Uint8Array[];
  addSignature(bytes: Uint8Array): void;
}

interface TransactionProto {
  new (): TransactionMessage;
  deserializeBinary(bytes: Uint8Array): TransactionMessage;
  readonly raw: { deserializeBinary(bytes: Uint8Array): RawMessage };
}

/** tronweb keeps its protobuf classes here once it is loaded. */
const { Transaction } = (
  globalThis as unknown as { readonly TronWebProto: { readonly Transaction: TransactionProto } }
).TronWebProto;

/**
 * A whole transaction as hex, as /wallet/broadcasthex takes it.
 * @throws UnreadableTransactionError
 */
export function readHex(text: unknown): ReadTransaction {
  if (typeof text !== "string" || !/^(?:[0-9a-fA-F]{2})+$/.test(text))
    throw new UnreadableTransactionError("INVALID hex String");
  const bytes = Buffer.from(text, "hex");
  const message = parsed(() => Transaction.deserializeBinary(bytes));
  if (!bytes.equals(message.serializeBinary()))
    throw new UnreadableTransactionError("Protocol message has unknown fields or another order");
  return read(message);
}

/**
 * A whole transaction as JSON, as /wallet/broadcasttransaction takes it: tronweb has to find its
 * fields, its bytes and its id to be one. @throws UnreadableTransactionError
 */
export function readJson(json: Json): ReadTransaction {
  const { raw_data_hex: rawHex, signature } = json;
  if (typeof rawHex !== "string" || !parsed(() => utils.transaction.txCheck(json))) {
    throw new UnreadableTransactionError("raw_data, raw_data_hex and txID do not belong together");
  }
  const message = new Transaction();
  message.setRawData(parsed(() => Transaction.raw.deserializeBinary(Buffer.from(rawHex, "hex"))));
  for (const one of Array.isArray(signature) ? signature : [])
    message.addSignature(Buffer.from(String(one), "hex"));
  return read(message);
}

/** An unsigned transaction as the API gives it out. */
export function buildJson(
  type: string,
  value: Json,
  block: { readonly refBytes: string; readonly refHash: string },
  times: Json,
) {
  const parameter = { value, type_url: `type.googleapis.com/protocol.${type}` };
  const rawData = {
    contract: [{ parameter, type }],
    ref_block_bytes: block.refBytes,
    ref_block_hash: block.refHash,
    ...times,
  };
  const unsigned = { visible: false, txID: "", raw_data: rawData };
  const message: unknown = utils.transaction.txJsonToPb(unsigned);
  return {
    ...unsigned,
    txID: utils.transaction.txPbToTxID(message).replace(/^0x/, ""),
    raw_data_hex: utils.transaction.txPbToRawDataHex(message).toLowerCase(),
  };
}

/** The address (41…) whose key made the only signature over the id. */
function signerOf(txId: string, [signature, ...more]: readonly string[]): string | null {
  if (signature === undefined || more.length > 0) return null;
  try {
    return utils.crypto.ecRecover(txId, signature).toLowerCase();
  } catch {
    return null;
  }
}

function read(message: TransactionMessage): ReadTransaction {
  const raw = message.getRawData();
  const contracts = raw?.getContractList() ?? [];
  const [contract] = contracts;
  if (raw === undefined || contract === undefined || contracts.length !== 1)
    throw new UnreadableTransactionError("No contract!");
  const type = typeNames[contract.getType()];
  if (type === undefined)
    throw new UnreadableTransactionError(
      `contract type ${contract.getType()} is not carried out by this fake`,
    );
  const rawDataHex = Buffer.from(raw.serializeBinary()).toString("hex");
  const shown = parsed(() => utils.deserializeTx.deserializeTransaction(type, rawDataHex)) as Json;
  const rawData = shownFields(shown) as {
    readonly contract: readonly [{ readonly parameter: { readonly value: Json } }];
  };
  const { value } = rawData.contract[0].parameter;
  const txId = utils.crypto.SHA256(Buffer.from(rawDataHex, "hex")).map(hexOfByte).join("");
  const signatures = message.getSignatureList_asU8().map((one) => Buffer.from(one).toString("hex"));
  return {
    txId,
    signatures,
    signer: signerOf(txId, signatures),
    type,
    value,
    owner: String(value.owner_address ?? ""),
    refBlockBytes: Buffer.from(raw.getRefBlockBytes_asU8()).toString("hex"),
    refBlockHash: Buffer.from(raw.getRefBlockHash_asU8()).toString("hex"),
    expirationMs: raw.getExpiration(),
    timestampMs: raw.getTimestamp(),
    feeLimitSun: BigInt(raw.getFeeLimit()),
    bytes: message.serializeBinary().length,
    rawDataHex,
    rawData: rawData as Json,
  };
}

/**
 * As java-tron prints a message: fields that have their default are left out, bytes are in small
 * letters.
 */
function shownFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shownFields);
  if (typeof value === "string")
    return /^(?:[0-9A-F]{2})+$/.test(value) ? value.toLowerCase() : value;
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).flatMap(([name, field]) => {
    const isDefault = field === "" || field === 0 || (Array.isArray(field) && field.length === 0);
    return isDefault ? [] : [[name, shownFields(field)] as const];
  });
  return Object.fromEntries(fields);
}

function hexOfByte(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}

function parsed<T>(job: () => T): T {
  try {
    return job();
  } catch (error) {
    throw new UnreadableTransactionError(
      error instanceof Error ? error.message : "Protocol message could not be read",
    );
  }
}
