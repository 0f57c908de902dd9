/**
 * Reads the answers of the Esplora API, field by field, and refuses every other shape. The numbers
 * are read from their own digits. Pure. Source: the API's description in its repository (API.md).
 */
import { AgentError } from "../../base/fault.ts";
import { parseForeign } from "../../base/foreign-json.ts";

/** The head of a block, without its transactions. */
export interface BlockHead {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string; // "" for the first block
  readonly timestampMs: number; // the block's own time
}

/** The block that has a transaction. */
export interface Place {
  readonly block: number;
  readonly blockHash: string;
}

/** An unspent output of an address; `place` is null before a block has it. */
export interface UnspentOutput {
  readonly id: string; // txHash:output
  readonly txHash: string;
  readonly units: bigint;
  readonly place: Place | null;
}

/** A transaction that names an address, with the coins that it spends and makes. */
export interface AddressTransaction {
  readonly txHash: string;
  readonly place: Place | null; // null before a block has it
  readonly inputs: readonly ShownOutput[];
  readonly outputs: readonly ShownOutput[];
  readonly satPerKvB: bigint | null; // its fee for 1,000 vB; null if the node does not say
  readonly isReplaceable: boolean; // it signals so (BIP-125), or the node does not say
}

/** A coin that a transaction spends or makes, as the node shows it. */
export interface ShownOutput {
  readonly id: string; // txHash:output
  readonly txHash: string; // of the transaction that made it
  readonly units: bigint;
  readonly script: string; // hex
}

/** The coins of an address that blocks made and no block has spent. */
export interface AddressSums {
  readonly count: number;
  readonly units: bigint;
}

/** The sums, and all counters behind them as one text: as long as it is the same, nothing came. */
export interface AddressTotals extends AddressSums {
  readonly counters: string;
}

/** The transaction that spends a coin; `place` is null before a block has it. */
export interface SpendingTransaction {
  readonly txHash: string;
  readonly place: Place | null;
}

/** Rates by the number of blocks to wait for, in sat for each 1,000 vB. */
export type FeeRates = ReadonlyMap<number, bigint>;

const hashForm = /^[0-9a-f]{64}$/;
const wholeForm = /^(?:0|[1-9][0-9]{0,15})$/;
const rateForm = /^[0-9]{1,6}(?:\.[0-9]{1,20})?$/;
const smallRateForm = /^[0-9](?:\.[0-9]{1,20})?[eE]-[0-9]{1,2}$/;
const numberMax = 0xffffffff;
const valuesMax = 200_000;
/** No server lists more unless its operator raised the limit of 500 far. */
const outputsMax = 20_000;
/** Servers give at most 50 transactions without a block, and 25 of blocks. */
const historyMax = 200;
/** 25 transactions of the most outputs that nodes forward have half of it. */
const historyValuesMax = 1_000_000;
const scriptForm = /^(?:[0-9a-f]{2})*$/;

export function readText(bytes: Buffer): string {
  return bytes.toString("latin1").trim();
}

/** 64 hex digits, as the whole answer. @throws NODE_ANSWER, as every function here */
export function readHash(bytes: Buffer): string {
  return hashOf(readText(bytes), "hash");
}

/** Hex of any even length, as the whole answer. */
export function readHexAnswer(bytes: Buffer): Buffer {
  const text = readText(bytes);
  if (text === "" || text.length % 2 !== 0 || !/^[0-9a-f]*$/.test(text)) throw odd("hex");
  return Buffer.from(text, "hex");
}

export function readHead(bytes: Buffer): BlockHead {
  const { id, height, previousblockhash: parent, timestamp } = fieldsOf(jsonOf(bytes), "block");
  const number = numberOf(height, "block.height");
  const isFirst = number === 0 && (parent === undefined || parent === null);
  const parentHash = isFirst ? "" : hashOf(parent, "block.previousblockhash");
  const timestampMs = numberOf(timestamp, "block.timestamp") * 1000;
  return { number, hash: hashOf(id, "block.id"), parentHash, timestampMs };
}

export function readTransactionPlace(bytes: Buffer): Place | null {
  return placeOf(jsonOf(bytes), "status");
}

export function readUnspent(bytes: Buffer): readonly UnspentOutput[] {
  const list = jsonOf(bytes);
  if (!Array.isArray(list)) throw odd("utxo");
  if (list.length > outputsMax)
    throw new AgentError("NODE_ANSWER_SIZE", "none", `the node lists ${list.length} coins`);
  return list.map((one): UnspentOutput => {
    const { txid, vout, value, status } = fieldsOf(one, "utxo");
    const txHash = hashOf(txid, "utxo.txid");
    const id = `${txHash}:${numberOf(vout, "utxo.vout")}`;
    return {
      id,
      txHash,
      units: unitsOf(value, "utxo.value"),
      place: placeOf(status, "utxo.status"),
    };
  });
}

/** Transactions of an address, without a block first, then the newest block's first. */
export function readHistory(bytes: Buffer): readonly AddressTransaction[] {
  const list = jsonOf(bytes, historyValuesMax);
  if (!Array.isArray(list) || list.length > historyMax) throw odd("txs");
  return list.map((one): AddressTransaction => {
    const { txid, status, vin, vout, fee, weight } = fieldsOf(one, "tx");
    if (!Array.isArray(vin)) throw odd("tx.vin");
    if (!Array.isArray(vout)) throw odd("tx.vout");
    const txHash = hashOf(txid, "tx.txid");
    const inputs = vin.flatMap((input) => spentOf(fieldsOf(input, "tx.vin")));
    const outputs = vout.flatMap((output, at) => madeOf(fieldsOf(output, "tx.vout"), txHash, at));
    const isReplaceable = vin.some((input) => !isFinalSequence(fieldsOf(input, "tx.vin").sequence));
    return {
      txHash,
      place: placeOf(status, "tx.status"),
      inputs,
      outputs,
      satPerKvB: rateOf(fee, weight),
      isReplaceable,
    };
  });
}

/** Both of the highest numbers say that an input is not to be replaced (BIP-125). */
const isFinalSequence = (sequence: unknown): boolean =>
  sequence === "4294967295" || sequence === "4294967294";

/** Four units of weight are a virtual byte (BIP-141). */
function rateOf(fee: unknown, weight: unknown): bigint | null {
  const [sat, units] = [fee, weight].map((one) =>
    typeof one === "string" && wholeForm.test(one) ? BigInt(one) : 0n,
  );
  return sat === undefined || units === undefined || units === 0n ? null : (sat * 4_000n) / units;
}

/** None for an output of Litecoin's extension, which has no script. */
function madeOf(
  { scriptpubkey: script, value }: Readonly<Record<string, unknown>>,
  txHash: string,
  at: number,
): readonly ShownOutput[] {
  if (script === undefined || script === null) return [];
  if (typeof script !== "string" || !scriptForm.test(script)) throw odd("tx.vout.scriptpubkey");
  return [{ id: `${txHash}:${at}`, txHash, units: unitsOf(value, "tx.vout.value"), script }];
}

/** None for the input of a block's reward. */
function spentOf({
  txid,
  vout,
  prevout,
  is_coinbase: isReward,
}: Readonly<Record<string, unknown>>): readonly ShownOutput[] {
  if (isReward === true || prevout === null) return [];
  const { scriptpubkey: script, value } = fieldsOf(prevout, "tx.vin.prevout");
  if (typeof script !== "string" || !scriptForm.test(script))
    throw odd("tx.vin.prevout.scriptpubkey");
  const txHash = hashOf(txid, "tx.vin.txid");
  const id = `${txHash}:${numberOf(vout, "tx.vin.vout")}`;
  return [{ id, txHash, units: unitsOf(value, "tx.vin.prevout.value"), script }];
}

/** The first of a block's ids, which is its reward's. */
export function readRewardId(bytes: Buffer): string {
  const ids = jsonOf(bytes);
  return hashOf(Array.isArray(ids) ? ids[0] : ids, "txids");
}

/** Null for a coin that nothing spends. */
export function readOutspend(bytes: Buffer): SpendingTransaction | null {
  return spendOf(jsonOf(bytes));
}

/** As `readOutspend`, out of the list of all outputs of the transaction. */
export function readOutspendOf(bytes: Buffer, output: number): SpendingTransaction | null {
  const all = jsonOf(bytes);
  return spendOf(Array.isArray(all) ? all[output] : all);
}

function spendOf(value: unknown): SpendingTransaction | null {
  const { spent, txid, status } = fieldsOf(value, "outspend");
  if (spent === false) return null;
  if (spent !== true) throw odd("outspend.spent");
  return { txHash: hashOf(txid, "outspend.txid"), place: placeOf(status, "outspend.status") };
}

/** The number of transactions in blocks that name an address. */
export function readTransactionCount(bytes: Buffer): number {
  const { chain_stats: chain } = fieldsOf(jsonOf(bytes), "address");
  return numberOf(fieldsOf(chain, "address.chain_stats").tx_count, "address.chain_stats.tx_count");
}

/** The number of coins of an address that the node's mempool spends. */
export function readSpentInMempool(bytes: Buffer): number {
  const { mempool_stats: pool } = fieldsOf(jsonOf(bytes), "address");
  return numberOf(
    fieldsOf(pool, "address.mempool_stats").spent_txo_count,
    "address.mempool_stats.spent_txo_count",
  );
}

/** By the totals that a server keeps of each address, whatever its limit for lists is. */
export function readAddressSums(bytes: Buffer): AddressSums {
  const { chain_stats: chain } = fieldsOf(jsonOf(bytes), "address");
  const stats = fieldsOf(chain, "address.chain_stats");
  const count = (name: string): number => numberOf(stats[name], `address.chain_stats.${name}`);
  const units = (name: string): bigint => unitsOf(stats[name], `address.chain_stats.${name}`);
  return {
    count: count("funded_txo_count") - count("spent_txo_count"),
    units: units("funded_txo_sum") - units("spent_txo_sum"),
  };
}

export function readAddressTotals(bytes: Buffer): AddressTotals {
  const { chain_stats: chain } = fieldsOf(jsonOf(bytes), "address");
  const stats = fieldsOf(chain, "address.chain_stats");
  const names = [
    "tx_count",
    "funded_txo_count",
    "funded_txo_sum",
    "spent_txo_count",
    "spent_txo_sum",
  ];
  return {
    ...readAddressSums(bytes),
    counters: names.map((name) => unitsOf(stats[name], name)).join(" "),
  };
}

/** May be empty: nodes without enough blocks and payments estimate nothing. */
export function readRates(bytes: Buffer): FeeRates {
  const entries = Object.entries(fieldsOf(jsonOf(bytes), "fee-estimates"));
  return new Map(
    entries
      .map(([blocks, rate]) => [numberOf(blocks, "fee-estimates"), satPerKvBOf(rate)] as const)
      .sort(([a], [b]) => a - b),
  );
}

/** Sat for each 1,000 vB. Source: mempool's API, GET /v1/fees/recommended. */
export function readRecommendedRate(bytes: Buffer): bigint {
  return satPerKvBOf(fieldsOf(jsonOf(bytes), "fees").halfHourFee);
}

/** Sat for each virtual byte as digits, to sat for each 1,000, rounded up. */
function satPerKvBOf(rate: unknown): bigint {
  if (typeof rate !== "string") throw odd("fee-estimates");
  if (smallRateForm.test(rate)) return 1n;
  if (!rateForm.test(rate)) throw odd("fee-estimates");
  const [whole = "0", part = ""] = rate.split(".");
  const thousandths = BigInt(whole) * 1000n + BigInt(part.slice(0, 3).padEnd(3, "0"));
  return /[1-9]/.test(part.slice(3)) ? thousandths + 1n : thousandths;
}

function placeOf(value: unknown, what: string): Place | null {
  const { confirmed, block_height: height, block_hash: hash } = fieldsOf(value, what);
  if (confirmed === false) return null;
  if (confirmed !== true) throw odd(`${what}.confirmed`);
  return {
    block: numberOf(height, `${what}.block_height`),
    blockHash: hashOf(hash, `${what}.block_hash`),
  };
}

function jsonOf(bytes: Buffer, most = valuesMax): unknown {
  try {
    return parseForeign(bytes.toString("utf8"), "all", { valuesMax: most });
  } catch (error) {
    if (error instanceof SyntaxError) throw odd("JSON");
    throw error;
  }
}

function fieldsOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw odd(what);
  return value as Readonly<Record<string, unknown>>;
}

function hashOf(value: unknown, what: string): string {
  if (typeof value !== "string" || !hashForm.test(value)) throw odd(what);
  return value;
}

function numberOf(value: unknown, what: string): number {
  const number =
    typeof value === "string" && wholeForm.test(value) ? Number.parseInt(value, 10) : -1;
  if (number < 0 || number > numberMax) throw odd(what);
  return number;
}

function unitsOf(value: unknown, what: string): bigint {
  if (typeof value !== "string" || !wholeForm.test(value)) throw odd(what);
  return BigInt(value);
}

function odd(what: string): AgentError {
  return new AgentError("NODE_ANSWER", "none", `the node's answer is no ${what}`);
}
