/**
 * What EVM nodes answer, as types, and the strict readers that turn JSON into them. Offline: values
 * in, values out; whatever has another shape is a fault (NODE_ANSWER), never a default. Source:
 * Ethereum execution-apis, schemas of block, receipt and log.
 */
import { AgentError } from "../../protocol/fault.ts";
import { addressBytes, addressOfBytes } from "./address.ts";
import { dataFeeOf } from "./fee-model.ts";

/**
 * Addresses are EIP-55, hashes and data 0x and lower-case hex.
 * @public
 */
export interface Log {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly logIndex: number; // in its block
}

/**
 * A log as `logs` finds it: with its place in the chain.
 * @public
 */
export interface PlacedLog extends Log {
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly txHash: string;
}

/**
 * @public
 */
export interface Receipt {
  readonly txHash: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly status: 0 | 1; // 0 reverted, 1 done
  readonly from: string;
  readonly to: string | null; // null: it created a contract
  readonly gasUsed: bigint;
  readonly effectiveGasPrice: bigint; // wei per gas
  readonly dataFee: bigint; // wei that a rollup billed beside the gas, 0 elsewhere
  readonly logs: readonly Log[];
}

/**
 * @public
 */
export interface BlockTransaction {
  readonly hash: string;
  readonly from: string;
  readonly nonce: bigint;
  readonly to: string | null;
  readonly valueUnits: bigint; // wei
  readonly input: string;
}

/**
 * `transactions` is empty unless the full block was asked for.
 * @public
 */
export interface Block {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestamp: number; // seconds since 1970
  readonly transactions: readonly BlockTransaction[];
}

/**
 * @public
 */
export interface BlockHead {
  readonly number: number;
  readonly hash: string;
  readonly baseFeePerGas: bigint; // wei per gas, of this block
  readonly timestamp: number;
}

/** An unsigned integer of at most 256 bits. */
export function readQuantity(value: unknown, what: string): bigint {
  if (typeof value !== "string" || !/^0x[0-9a-fA-F]{1,64}$/.test(value)) throw wrong(what, "a quantity");
  return BigInt(value);
}

/** A quantity that is an exact number in JavaScript: heights, times and positions, never money. */
export function readNumber(value: unknown, what: string): number {
  const number = Number(readQuantity(value, what));
  if (!Number.isSafeInteger(number)) throw wrong(what, "below 2^53");
  return number;
}

export function readHash(value: unknown, what: string): string {
  if (typeof value !== "string" || !/^0x[0-9a-fA-F]{64}$/.test(value)) throw wrong(what, "a hash");
  return value.toLowerCase();
}

export function readData(value: unknown, what: string): string {
  if (typeof value !== "string" || !/^0x(?:[0-9a-fA-F]{2})*$/.test(value)) throw wrong(what, "bytes as hex");
  return value.toLowerCase();
}

/** Any 20 bytes, zero included: mints and burns name the zero address. */
export function readAddress(value: unknown, what: string): string {
  if (typeof value !== "string" || !/^0x[0-9a-fA-F]{40}$/.test(value)) throw wrong(what, "an address");
  return addressOfBytes(addressBytes(value));
}

export function readHead(value: unknown): BlockHead {
  const block = readObject(value, "block");
  return {
    number: readNumber(block.number, "block.number"),
    hash: readHash(block.hash, "block.hash"),
    baseFeePerGas: readQuantity(block.baseFeePerGas, "block.baseFeePerGas"),
    timestamp: readNumber(block.timestamp, "block.timestamp"),
  };
}

export function readBlock(value: unknown, full: boolean): Block {
  const block = readObject(value, "block");
  return {
    number: readNumber(block.number, "block.number"),
    hash: readHash(block.hash, "block.hash"),
    parentHash: readHash(block.parentHash, "block.parentHash"),
    timestamp: readNumber(block.timestamp, "block.timestamp"),
    transactions: full ? readList(block.transactions, "block.transactions").map(readTransaction) : [],
  };
}

export function readReceipt(value: unknown): Receipt {
  const receipt = readObject(value, "receipt");
  const status = readNumber(receipt.status, "receipt.status");
  if (status !== 0 && status !== 1) throw wrong("receipt.status", "0 or 1");
  const gasUsed = readQuantity(receipt.gasUsed, "receipt.gasUsed");
  return {
    txHash: readHash(receipt.transactionHash, "receipt.transactionHash"),
    blockNumber: readNumber(receipt.blockNumber, "receipt.blockNumber"),
    blockHash: readHash(receipt.blockHash, "receipt.blockHash"),
    status,
    from: readAddress(receipt.from, "receipt.from"),
    to: readAddressOrNull(receipt.to, "receipt.to"),
    gasUsed,
    effectiveGasPrice: readQuantity(receipt.effectiveGasPrice, "receipt.effectiveGasPrice"),
    dataFee: readDataFee(receipt, gasUsed),
    logs: readList(receipt.logs, "receipt.logs").map((log) => readLog(readObject(log, "log"))),
  };
}

/** OP Stack receipts name what was billed beside gas; those of other chains have no such field. */
function readDataFee(receipt: Fields, gasUsed: bigint): bigint {
  const figure = (name: string): bigint => {
    const value = receipt[name];
    return value === undefined || value === null ? 0n : readQuantity(value, `receipt.${name}`);
  };
  return dataFeeOf({
    l1Fee: figure("l1Fee"),
    operatorFeeScalar: figure("operatorFeeScalar"),
    operatorFeeConstant: figure("operatorFeeConstant"),
    isJovian: receipt.daFootprintGasScalar !== undefined,
    gasUsed,
  });
}

/** The logs that stand; those marked as removed by a reorganisation are left out. */
export function readPlacedLogs(value: unknown): readonly PlacedLog[] {
  const logs = readList(value, "logs").map((log) => readObject(log, "log"));
  return logs.filter((log) => log.removed !== true).map(readPlacedLog);
}

function readPlacedLog(log: Fields): PlacedLog {
  return {
    ...readLog(log),
    blockNumber: readNumber(log.blockNumber, "log.blockNumber"),
    blockHash: readHash(log.blockHash, "log.blockHash"),
    txHash: readHash(log.transactionHash, "log.transactionHash"),
  };
}

function readLog(log: Fields): Log {
  const topics = readList(log.topics, "log.topics");
  if (topics.length > 4) throw wrong("log.topics", "at most four");
  return {
    address: readAddress(log.address, "log.address"),
    topics: topics.map((topic) => readHash(topic, "log.topics")),
    data: readData(log.data, "log.data"),
    logIndex: readNumber(log.logIndex, "log.logIndex"),
  };
}

function readTransaction(value: unknown): BlockTransaction {
  const transaction = readObject(value, "transaction");
  return {
    hash: readHash(transaction.hash, "transaction.hash"),
    from: readAddress(transaction.from, "transaction.from"),
    nonce: readQuantity(transaction.nonce, "transaction.nonce"),
    to: readAddressOrNull(transaction.to, "transaction.to"),
    valueUnits: readQuantity(transaction.value, "transaction.value"),
    input: readData(transaction.input, "transaction.input"),
  };
}

function readAddressOrNull(value: unknown, what: string): string | null {
  return value === null || value === undefined ? null : readAddress(value, what);
}

type Fields = Readonly<Record<string, unknown>>;

function readObject(value: unknown, what: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(what, "an object");
  return value as Fields;
}

function readList(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw wrong(what, "a list");
  return value;
}

function wrong(what: string, expected: string): AgentError {
  return new AgentError("NODE_ANSWER", "none", `the node's ${what} is not ${expected}`, { what });
}
