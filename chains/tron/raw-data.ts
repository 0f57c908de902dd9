/**
 * The layout of a transfer's raw_data, written and read back field by field. Offline. Checks only
 * the ranges that the layout itself has. Sources: the chain's protobuf files Tron.proto
 * (Transaction.raw, Contract), balance_contract.proto (TransferContract), smart_contract.proto
 * (TriggerSmartContract).
 */
import { type Refusal, refuse } from "../../base/fault.ts";
import { addressBytes, addressOfBytes } from "./address.ts";
import { decodeMessage, encodeMessage, type ProtoMessage } from "./protobuf.ts";
import { decodeTransferCall, encodeTransferCall } from "./trc20.ts";

/** One transfer. Addresses in base58check. */
export interface Transfer {
  readonly sender: string;
  readonly contract: string; // the token, "" for TRX
  readonly destination: string;
  readonly amountUnits: bigint; // TRX 1 … 2^63-1, a token 1 … 2^256-1
  readonly refBlockBytes: bigint; // the block's number modulo 2^16
  readonly refBlockHash: bigint; // bytes 8 … 15 of the block's id
  readonly expirationMs: bigint;
  readonly timestampMs: bigint;
  readonly feeLimitSun: bigint; // most that the call may burn for energy; 0 for TRX
}

/** Values of enum Transaction.Contract.ContractType. */
const transferType = 1n;
const triggerType = 31n;
const transferUrl = Buffer.from("type.googleapis.com/protocol.TransferContract");
const triggerUrl = Buffer.from("type.googleapis.com/protocol.TriggerSmartContract");
const refBlockBytesCount = 2;
const refBlockHashCount = 8;
/** The longest transfer has fewer than 220 bytes. A much longer text is not read. */
const rawDataBytesMax = 512;

/**
 * raw_data: ref_block_bytes(1) ‖ ref_block_hash(4) ‖ expiration(8) ‖ contract(11) ‖ timestamp(14) ‖
 * fee_limit(18). The contract is type(1) ‖ parameter(2), the parameter type_url(1) ‖ value(2), the
 * value owner(1) ‖ receiver(2) ‖ amount(3), or owner(1) ‖ token(2) ‖ call data(4).
 */
export function encodeRawData(transfer: Transfer): Uint8Array {
  return encodeMessage([
    [1, bigEndian(transfer.refBlockBytes, refBlockBytesCount)],
    [4, bigEndian(transfer.refBlockHash, refBlockHashCount)],
    [8, transfer.expirationMs],
    [11, encodeContract(transfer)],
    [14, transfer.timestampMs],
    [18, transfer.feeLimitSun],
  ]);
}

function encodeContract({ sender, contract, destination, amountUnits }: Transfer): Uint8Array {
  const owner = addressBytes(sender);
  if (contract === "")
    return contractOf(
      transferType,
      transferUrl,
      encodeMessage([
        [1, owner],
        [2, addressBytes(destination)],
        [3, amountUnits],
      ]),
    );
  return contractOf(
    triggerType,
    triggerUrl,
    encodeMessage([
      [1, owner],
      [2, addressBytes(contract)],
      [4, encodeTransferCall(destination, amountUnits)],
    ]),
  );
}

function contractOf(type: bigint, url: Uint8Array, value: Uint8Array): Uint8Array {
  const parameter = encodeMessage([
    [1, url],
    [2, value],
  ]);
  return encodeMessage([
    [1, type],
    [2, parameter],
  ]);
}

/**
 * Reads raw_data to the last byte. Refuses every text that `encodeRawData` does not write:
 * TRANSACTION_PROTOBUF, TRANSACTION_TYPE (another contract than the two), TRANSACTION_CALL.
 */
export function decodeRawData(
  rawData: Uint8Array,
): { readonly ok: true; readonly transfer: Transfer } | Refusal {
  if (rawData.length > rawDataBytesMax)
    return refuse("TRANSACTION_PROTOBUF", "longer than any transfer");
  const raw = readFields(rawData, "raw_data", {
    bytes: [1, 4, 11],
    numbers: [8, 14],
    optional: 18,
  });
  if (!raw.ok) return raw;
  const [refBlockBytes, refBlockHash] = [raw.bytes(1), raw.bytes(4)];
  if (refBlockBytes.length !== refBlockBytesCount || refBlockHash.length !== refBlockHashCount)
    return refuse("TRANSACTION_PROTOBUF", "a reference to a block is of another length");
  const called = decodeContract(raw.bytes(11));
  if (!called.ok) return called;
  const { ok, ...parties } = called;
  const numbers = {
    expirationMs: raw.number(8),
    timestampMs: raw.number(14),
    feeLimitSun: raw.number(18),
  };
  return {
    ok,
    transfer: {
      ...parties,
      refBlockBytes: bigintOf(refBlockBytes),
      refBlockHash: bigintOf(refBlockHash),
      ...numbers,
    },
  };
}

type ContractCallResult =
  | ({ readonly ok: true } & Pick<Transfer, "sender" | "contract" | "destination" | "amountUnits">)
  | Refusal;

function decodeContract(bytes: Uint8Array): ContractCallResult {
  const contract = readFields(bytes, "contract", { bytes: [2], numbers: [1] });
  if (!contract.ok) return contract;
  const parameter = readFields(contract.bytes(2), "parameter", { bytes: [1, 2], numbers: [] });
  if (!parameter.ok) return parameter;
  const type = contract.number(1);
  const isOf = (wanted: bigint, url: Uint8Array): boolean =>
    type === wanted && Buffer.compare(parameter.bytes(1), url) === 0;
  if (isOf(transferType, transferUrl)) return decodeTransfer(parameter.bytes(2));
  if (isOf(triggerType, triggerUrl)) return decodeTrigger(parameter.bytes(2));
  return refuse("TRANSACTION_TYPE", `contract type ${type}`);
}

function decodeTransfer(bytes: Uint8Array): ContractCallResult {
  const value = readFields(bytes, "TransferContract", { bytes: [1, 2], numbers: [3] });
  if (!value.ok) return value;
  const [sender, destination] = [addressOfBytes(value.bytes(1)), addressOfBytes(value.bytes(2))];
  if (sender === null || destination === null)
    return refuse("TRANSACTION_PROTOBUF", "an address is not of this chain");
  return { ok: true, sender, contract: "", destination, amountUnits: value.number(3) };
}

function decodeTrigger(bytes: Uint8Array): ContractCallResult {
  const value = readFields(bytes, "TriggerSmartContract", { bytes: [1, 2, 4], numbers: [] });
  if (!value.ok) return value;
  const [sender, contract] = [addressOfBytes(value.bytes(1)), addressOfBytes(value.bytes(2))];
  if (sender === null || contract === null)
    return refuse("TRANSACTION_PROTOBUF", "an address is not of this chain");
  const call = decodeTransferCall(value.bytes(4));
  if (call === null)
    return refuse("TRANSACTION_CALL", "call data is not transfer(address,uint256)");
  return { ok: true, sender, contract, ...call };
}

interface Layout {
  readonly bytes: readonly number[];
  readonly numbers: readonly number[];
  readonly optional?: number; // a number
}

interface Fields {
  readonly ok: true;
  bytes(field: number): Uint8Array;
  number(field: number): bigint; // 0 if an optional number is left out
}

/** A message with exactly the fields of its layout. */
function readFields(bytes: Uint8Array, name: string, layout: Layout): Fields | Refusal {
  const decoded = decodeMessage(bytes);
  if (!decoded.ok) return decoded;
  const { message } = decoded;
  const isThere = layout.bytes.every((field) => message.get(field) instanceof Uint8Array);
  const isWhole =
    isThere && layout.numbers.every((field) => typeof message.get(field) === "bigint");
  const spare =
    layout.optional !== undefined && typeof message.get(layout.optional) === "bigint" ? 1 : 0;
  if (!isWhole || message.size !== layout.bytes.length + layout.numbers.length + spare)
    return refuse("TRANSACTION_PROTOBUF", `${name} has other fields than a transfer's`);
  return {
    ok: true,
    bytes: (field) => bytesAt(message, field),
    number: (field) => numberAt(message, field),
  };
}

function bytesAt(message: ProtoMessage, field: number): Uint8Array {
  const value = message.get(field);
  return value instanceof Uint8Array ? value : new Uint8Array(0);
}

function numberAt(message: ProtoMessage, field: number): bigint {
  const value = message.get(field);
  return typeof value === "bigint" ? value : 0n;
}

function bigEndian(value: bigint, bytesCount: number): Uint8Array {
  return new Uint8Array(Buffer.from(value.toString(16).padStart(2 * bytesCount, "0"), "hex"));
}

function bigintOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
}
