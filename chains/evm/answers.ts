/**
 * The answers of EVM nodes, as types, and the strict readers that turn JSON into them. Offline:
 * values in, values out. An answer of another form is a fault (NODE_ANSWER), never a default.
 * Source: Ethereum execution-apis, schemas of block, receipt and log.
 */
import { AgentError } from "../../base/fault.ts";
import { addressBytes, addressOfBytes } from "./address.ts";
import { dataFeeOf } from "./data-fee.ts";

/** Addresses are EIP-55, hashes and data 0x and lower-case hex. */
export interface Log {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly logIndex: number; // in its block
}

/** A log as `logs` finds it, with its block. */
export interface PlacedLog extends Log {
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly txHash: string;
}

/** A log of any contract. The fields that identify it are lower-case hex, "" for an odd one. */
export interface FoundLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly txKey: string;
  /** The complete log. @throws AgentError NODE_ANSWER if a field is odd */
  read(): PlacedLog;
}

/** A receipt with all its logs. Hash and addresses are lower-case hex. */
export interface Receipt {
  readonly txHash: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly status: 0 | 1; // 0 reverted, 1 done
  readonly from: string;
  readonly to: string | null; // null: it created a contract
  readonly logs: readonly Log[];
  readonly oddLogs?: readonly string[]; // addresses of logs that cannot be read; "" if the address is odd too
  // The cost is read when the caller asks for it. @throws AgentError NODE_ANSWER if a field is odd
  readonly gasUsed: bigint;
  readonly effectiveGasPrice: bigint; // wei per gas
  readonly dataFee: bigint; // wei that a rollup billed in addition to the gas, 0 elsewhere
}

/** A transaction as the node that has it shows it, in a block or in its mempool. */
export interface SentTransaction {
  readonly hash: string;
  readonly from: string;
  readonly nonce: bigint;
  readonly to: string | null;
  readonly valueUnits: bigint; // wei
  readonly input: string;
}

/**
 * A transaction of any sender, as its block shows it. Hash and keys are lower-case hex, "" for none
 * or an odd one. Every other field is read when the caller asks for it.
 * @throws AgentError NODE_ANSWER if that field is odd
 */
export interface BlockTransaction extends SentTransaction {
  readonly fromKey: string;
  readonly toKey: string;
  readonly bytes: number; // size of its data as text, which bounds memory
}

/** `transactions` is empty unless the caller asked for the full block. */
export interface Block {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestamp: number; // seconds since 1970
  readonly bloom: string; // bloom of its logs, 512 hex digits; "" if the node gives none
  readonly transactions: readonly BlockTransaction[];
}

/** The header of a block. */
export interface BlockHead {
  readonly number: number;
  readonly hash: string;
  readonly baseFeePerGas: bigint; // wei per gas, of this block
  readonly timestamp: number;
}

const quantityShape = /^0x[0-9a-fA-F]{1,64}$/;
const hashShape = /^0x[0-9a-fA-F]{64}$/;
const addressShape = /^0x[0-9a-fA-F]{40}$/;
const bloomShape = /^0x[0-9a-fA-F]{512}$/;

/** An unsigned integer of at most 256 bits, with or without leading zeros. */
export function readQuantity(value: unknown, what: string): bigint {
  if (typeof value !== "string" || !quantityShape.test(value)) throw wrong(what, "a quantity");
  return BigInt(value);
}

/** A quantity that is an exact number in JavaScript: heights, times and positions, never money. */
export function readNumber(value: unknown, what: string): number {
  const number = Number(readQuantity(value, what));
  if (!Number.isSafeInteger(number)) throw wrong(what, "below 2^53");
  return number;
}

export function readHash(value: unknown, what: string): string {
  if (typeof value !== "string" || !hashShape.test(value)) throw wrong(what, "a hash");
  return value.toLowerCase();
}

export function readData(value: unknown, what: string): string {
  const isHex =
    typeof value === "string" && value.length % 2 === 0 && /^0x[0-9a-fA-F]*$/.test(value);
  if (!isHex) throw wrong(what, "bytes as hex");
  return value.toLowerCase();
}

/** Any 20 bytes, zero included: mints and burns name the zero address. */
export function readAddress(value: unknown, what: string): string {
  if (typeof value !== "string" || !addressShape.test(value)) throw wrong(what, "an address");
  return addressOfBytes(addressBytes(value));
}

export function readHead(value: unknown): BlockHead {
  const block = readObject(value, "block");
  if (block.baseFeePerGas === undefined)
    throw new AgentError(
      "CHAIN_NO_EIP1559",
      "none",
      "its newest block has no base fee (EIP-1559), and such a chain is not supported",
    );
  return {
    number: readNumber(block.number, "block.number"),
    hash: readHash(block.hash, "block.hash"),
    baseFeePerGas: readQuantity(block.baseFeePerGas, "block.baseFeePerGas"),
    timestamp: readNumber(block.timestamp, "block.timestamp"),
  };
}

/** The hash of the parent of a block, "" for an odd one: it only decides which node comes first. */
export function parentHashIn(value: unknown): string {
  return keyOf(readObject(value, "block").parentHash, hashShape);
}

/** A block whose place in the chain alone counts. */
export interface BlockPlace {
  readonly number: number;
  readonly hash: string;
  readonly timestamp: number; // seconds
}

export function readBlockPlace(value: unknown): BlockPlace {
  const block = readObject(value, "block");
  return {
    number: readNumber(block.number, "block.number"),
    hash: readHash(block.hash, "block.hash"),
    timestamp: readNumber(block.timestamp, "block.timestamp"),
  };
}

/** Root of an empty tree: Keccak-256 of the RLP of an empty text. */
const emptyRoot = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";
const noRoot = `0x${"0".repeat(64)}`;

/** @throws AgentError NODE_NO_BLOCK if the header names transactions and the block shows none */
export function readBlock(value: unknown, full: boolean): Block {
  const block = readObject(value, "block");
  const shown = {
    number: readNumber(block.number, "block.number"),
    hash: readHash(block.hash, "block.hash"),
    parentHash: readHash(block.parentHash, "block.parentHash"),
    timestamp: readNumber(block.timestamp, "block.timestamp"),
    bloom:
      typeof block.logsBloom === "string" && bloomShape.test(block.logsBloom)
        ? block.logsBloom.slice(2).toLowerCase()
        : "",
  };
  if (!full) return { ...shown, transactions: [] };
  const transactions = readList(block.transactions, "block.transactions").map(readTransaction);
  const root = keyOf(block.transactionsRoot, hashShape);
  const isHidden =
    transactions.length === 0 && root !== "" && root !== emptyRoot && root !== noRoot;
  if (!isHidden) return { ...shown, transactions };
  const { number } = shown;
  throw new AgentError(
    "NODE_NO_BLOCK",
    "none",
    "the node shows the block without its transactions",
    { number },
  );
}

export function readReceipt(value: unknown): Receipt {
  const receipt = readObject(value, "receipt");
  const status = readNumber(receipt.status, "receipt.status");
  if (status !== 0 && status !== 1) throw wrong("receipt.status", "0 or 1");
  const logs = readList(receipt.logs, "receipt.logs").map(readLogOrOdd);
  return {
    txHash: readHash(receipt.transactionHash, "receipt.transactionHash"),
    blockNumber: readNumber(receipt.blockNumber, "receipt.blockNumber"),
    blockHash: readHash(receipt.blockHash, "receipt.blockHash"),
    status,
    from: readAddress(receipt.from, "receipt.from"),
    to: readAddressOrNull(receipt.to, "receipt.to"),
    logs: logs.flatMap((log) => (typeof log === "string" ? [] : [log])),
    oddLogs: logs.filter((log) => typeof log === "string"),
    get gasUsed() {
      return readQuantity(receipt.gasUsed, "receipt.gasUsed");
    },
    get effectiveGasPrice() {
      return readQuantity(receipt.effectiveGasPrice, "receipt.effectiveGasPrice");
    },
    get dataFee() {
      return readDataFee(receipt, this.gasUsed);
    },
  };
}

/** The log, or only the address of a log that cannot be read. */
function readLogOrOdd(value: unknown): Log | string {
  try {
    return readLog(readObject(value, "log"));
  } catch {
    return keyOf((value as Partial<Fields> | null)?.address, addressShape);
  }
}

/** The block that a receipt names, "" for an odd one, and all logs in the receipt. */
export function readReceiptLogs(value: unknown): {
  readonly blockHash: string;
  readonly logs: readonly FoundLog[];
} {
  const receipt = readObject(value, "receipt");
  return { blockHash: keyOf(receipt.blockHash, hashShape), logs: readFoundLogs(receipt.logs) };
}

/**
 * OP Stack receipts name the fee that was billed in addition to gas; those of other chains have no
 * such field.
 */
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

/** The logs that are still valid, without those that a reorganisation removed. */
export function readFoundLogs(value: unknown): readonly FoundLog[] {
  const logs = readList(value, "logs").map((log) => readObject(log, "log"));
  return logs.filter((log) => log.removed !== true).map(foundLog);
}

function foundLog(log: Fields): FoundLog {
  const { topics, blockNumber } = log;
  return {
    address: keyOf(log.address, addressShape),
    topics: Array.isArray(topics) ? topics.map((topic) => keyOf(topic, hashShape)) : [],
    blockNumber:
      typeof blockNumber === "string" && quantityShape.test(blockNumber) ? Number(blockNumber) : -1,
    blockHash: keyOf(log.blockHash, hashShape),
    txKey: keyOf(log.transactionHash, hashShape),
    read: () => ({
      ...readLog(log),
      blockNumber: readNumber(blockNumber, "log.blockNumber"),
      blockHash: readHash(log.blockHash, "log.blockHash"),
      txHash: readHash(log.transactionHash, "log.transactionHash"),
    }),
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
  // Keeps only these fields, because the others would only fill the memory.
  const { hash, from, nonce, to, value: wei, input = transaction.data } = transaction;
  return {
    hash: keyOf(hash, hashShape),
    fromKey: keyOf(from, addressShape),
    toKey: keyOf(to, addressShape),
    bytes: typeof input === "string" ? input.length : 0,
    get from() {
      return readAddress(from, "transaction.from");
    },
    get nonce() {
      return readQuantity(nonce, "transaction.nonce");
    },
    get to() {
      return readAddressOrNull(to, "transaction.to");
    },
    get valueUnits() {
      return readQuantity(wei, "transaction.value");
    },
    get input() {
      return readData(input, "transaction.input");
    },
  };
}

/** Lower-case hex that fits `shape`, "" for any other value, which cannot be ours. */
function keyOf(value: unknown, shape: RegExp): string {
  return typeof value === "string" && shape.test(value) ? value.toLowerCase() : "";
}

function readAddressOrNull(value: unknown, what: string): string | null {
  return value === null || value === undefined ? null : readAddress(value, what);
}

type Fields = Readonly<Record<string, unknown>>;

function readObject(value: unknown, what: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw wrong(what, "an object");
  return value as Fields;
}

function readList(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw wrong(what, "a list");
  return value;
}

function wrong(what: string, expected: string): AgentError {
  return new AgentError("NODE_ANSWER", "none", `the node's ${what} is not ${expected}`, { what });
}
