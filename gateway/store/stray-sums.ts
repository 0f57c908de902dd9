/**
 * Payments that are no rows of their own, as sums: those below the least payment to no open request
 * (`dust`), and those beyond the rows that a request or a day may have (`more`). A sum is of one
 * account and some blocks. A payment of a block is added when the block is read as final for the
 * first time, and never again. Source: docs/architecture.md section 8.
 */
import { pinExclusionOf } from "../../chains/families.ts";
import { hasTags } from "../../chains/payees.ts";
import { type AccountPlace, addSumPartToAccount } from "./journal.ts";
import type { Statements as Database } from "./statements.ts";

/**
 * Payments to one address that are rows; and payments that nobody asked for, of an account in a
 * day.
 */
export const paymentRowsMax = 1_000;
/** Blocks of one sum. */
const windowBlocks = 256;
/**
 * Blocks with a sum each after the block of a closing, so that a balance is compared at any of
 * them.
 */
const fineBlocks = 64;
const dayMs = 86_400_000;
const daysKept = 7;

export interface StraySumRow {
  readonly network: string;
  readonly account: string; // the deposit address; on a chain with tags the account of all tags
  readonly currency: string;
  readonly kind: "dust" | "more";
  readonly transactionId: string; // the request for which it counts; "" none
  readonly merchant: string;
  readonly fromBlock: number;
  readonly toBlock: number; // of its newest payment
  readonly count: number;
  readonly units: string;
  readonly largest: string; // units of the largest payment
  readonly txHash: string; // the newest payment's
}

interface Mark {
  readonly summedTo: number;
  readonly fineTo: number;
}

function readMark(database: Database, network: string): Mark {
  const sql = "SELECT summedTo, fineTo FROM straySumMarks WHERE network = ?";
  return database.get<Mark>(sql, network) ?? { summedTo: -1, fineTo: -1 };
}

function keepMark(database: Database, network: string, { summedTo, fineTo }: Mark): void {
  database.run(
    `INSERT INTO straySumMarks (network, summedTo, fineTo) VALUES (?, ?, ?)
     ON CONFLICT (network) DO UPDATE SET summedTo = excluded.summedTo, fineTo = excluded.fineTo`,
    ...[network, summedTo, fineTo],
  );
}

/** The newest block whose payments were added to sums; -1 before the first. */
export function readSummedToBlock(database: Database, network: string): number {
  return readMark(database, network).summedTo;
}

/** Keeps that every payment up to a block was added. An earlier block changes nothing. */
export function keepSummedToBlock(database: Database, network: string, block: number): void {
  const mark = readMark(database, network);
  if (block > mark.summedTo) keepMark(database, network, { ...mark, summedTo: block });
}

/** Begins new sums after a block at which balances are compared. Harmless to call twice. */
export function beginNewStraySums(database: Database, network: string, block: number): void {
  const mark = readMark(database, network);
  if (block + fineBlocks > mark.fineTo)
    keepMark(database, network, { ...mark, fineTo: block + fineBlocks });
}

/** A payment for a sum; `end`: the block of its request's end, after which it is late. */
export interface SummedPayment
  extends Pick<
    StraySumRow,
    "network" | "account" | "currency" | "kind" | "transactionId" | "merchant" | "txHash"
  > {
  readonly block: number;
  readonly units: bigint;
  readonly end: number | null;
}

/** Must not be called twice with one payment. */
export function addToSum(database: Database, payment: SummedPayment): void {
  const { network, account, currency, kind, transactionId, merchant, txHash, block, units, end } =
    payment;
  const { fineTo } = readMark(database, network);
  const first = Math.max(block - (block % windowBlocks), end !== null && block > end ? end + 1 : 0);
  const fromBlock = block <= fineTo ? block : Math.max(first, fineTo + 1);
  const where =
    "network = ? AND account = ? AND currency = ? AND kind = ? AND transactionId = ? AND fromBlock = ?";
  const key = [network, account, currency, kind, transactionId, fromBlock] as const;
  const before = database.get<StraySumRow>(`SELECT * FROM straySums WHERE ${where}`, ...key);
  postSum(database, {
    network,
    account,
    currency,
    kind,
    merchant,
    toBlock: block,
    units: `${units}`,
  });
  if (before === undefined) {
    database.run(
      `INSERT INTO straySums (network, account, currency, kind, transactionId, fromBlock, merchant, toBlock, count, units, largest, txHash)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)`,
      ...[...key, merchant, block, units.toString(), units.toString(), txHash],
    );
    return;
  }
  const largest = units > BigInt(before.largest) ? units : BigInt(before.largest);
  database.run(
    `UPDATE straySums SET toBlock = max(toBlock, ?), count = count + 1, units = ?, largest = ?, txHash = ? WHERE ${where}`,
    ...[block, (BigInt(before.units) + units).toString(), largest.toString(), txHash, ...key],
  );
}

/** Counts a sum, or what came to it, for its account. Must not be called twice. */
export function postSum(
  database: Database,
  sum: Pick<StraySumRow, "network" | "account" | "currency" | "kind" | "merchant" | "toBlock"> & {
    readonly units: string;
  },
): void {
  const { network, account: address, currency, merchant, toBlock: block, units } = sum;
  const owner = { merchant, kind: hasTags(network) ? "hot" : "deposit" } as const;
  addSumPartToAccount(
    database,
    { network, address, currency, block },
    owner,
    BigInt(units),
    isHeld(sum),
  );
}

/** Small coins of a chain of coins cost more to fetch than they are, and no sweep takes them. */
function isHeld({ network, kind }: Pick<StraySumRow, "network" | "kind">): boolean {
  return kind === "dust" && pinExclusionOf(network) !== null;
}

/** The sums that count for a request. */
export function listStraySumsOf(
  database: Database,
  transactionId: string,
  currency: string,
): readonly StraySumRow[] {
  const sql =
    "SELECT * FROM straySums WHERE transactionId = ? AND transactionId <> '' AND currency = ? ORDER BY fromBlock";
  return database.all<StraySumRow>(sql, transactionId, currency);
}

/** The units of sums of an account that began up to a block and reach beyond it. */
export function straySumUnitsAcrossBlock(
  database: Database,
  { network, address, currency }: AccountPlace,
  block: number,
): bigint {
  const rows = database.all<Pick<StraySumRow, "units">>(
    `SELECT units FROM straySums
     WHERE network = ? AND account = ? AND currency = ? AND fromBlock <= ? AND toBlock > ?`,
    ...[network, address, currency, block, block],
  );
  return rows.reduce((sum, { units }) => sum + BigInt(units), 0n);
}

/** True if sums of an account have a payment of a currency in a block, or may have. */
export function hasSumAt(
  database: Database,
  network: string,
  account: string,
  block: number,
  currency: string,
): boolean {
  const sql = `SELECT 1 FROM straySums
    WHERE network = ? AND account = ? AND currency = ? AND fromBlock <= ? AND toBlock >= ? LIMIT 1`;
  return database.get(sql, network, account, currency, block, block) !== undefined;
}

/** The sums that lie on an account. */
export interface StrayTotal {
  readonly network: string;
  readonly account: string;
  readonly currency: string;
  readonly merchant: string;
  readonly count: number;
  readonly units: bigint;
  readonly largest: bigint;
  readonly fromBlock: number;
  readonly toBlock: number;
}

/**
 * Totals of the sums that count for no request, or of one account; those with the newest block
 * first.
 */
export function listStrayTotals(
  database: Database,
  of: { readonly merchant?: string; readonly account?: string },
): readonly StrayTotal[] {
  const rows = database.all<StraySumRow>(
    `SELECT * FROM straySums WHERE transactionId = '' AND (? IS NULL OR merchant = ?) AND (? IS NULL OR account = ?)`,
    ...[of.merchant ?? null, of.merchant ?? null, of.account ?? null, of.account ?? null],
  );
  const totals = new Map<string, StrayTotal>();
  for (const {
    network,
    account,
    currency,
    merchant,
    count,
    units,
    largest,
    fromBlock,
    toBlock,
  } of rows) {
    const name = `${network} ${account} ${currency}`;
    const one = totals.get(name);
    totals.set(name, {
      network,
      account,
      currency,
      merchant,
      count: (one?.count ?? 0) + count,
      units: (one?.units ?? 0n) + BigInt(units),
      largest: one !== undefined && one.largest > BigInt(largest) ? one.largest : BigInt(largest),
      fromBlock: Math.min(one?.fromBlock ?? fromBlock, fromBlock),
      toBlock: Math.max(one?.toBlock ?? toBlock, toBlock),
    });
  }
  return [...totals.values()].sort(
    (a, b) => b.toBlock - a.toBlock || (a.account < b.account ? -1 : 1),
  );
}

/** True if a request has as many payments as rows as it may. */
export function isPaymentRowLimitReached(database: Database, transactionId: string): boolean {
  const sql = "SELECT 1 FROM payments WHERE transactionId = ? AND final = 1 LIMIT 1 OFFSET ?";
  return database.get(sql, transactionId, paymentRowsMax - 1) !== undefined;
}

export const dayOf = (nowMs: number): number => Math.floor(nowMs / dayMs);

/** The payments that nobody asked for and that are rows, of an account in a day. */
export function readStrayRowCount(
  database: Database,
  network: string,
  account: string,
  day: number,
): number {
  const sql = "SELECT count FROM strayRecords WHERE network = ? AND account = ? AND day = ?";
  return database.get<{ count: number }>(sql, network, account, day)?.count ?? 0;
}

/** Counts one more of them, and forgets the days of long ago. */
export function addStrayRowCount(
  database: Database,
  network: string,
  account: string,
  day: number,
): void {
  database.run(
    `INSERT INTO strayRecords (network, account, day, count) VALUES (?, ?, ?, 1)
     ON CONFLICT (network, account, day) DO UPDATE SET count = count + 1`,
    ...[network, account, day],
  );
  database.run(
    "DELETE FROM strayRecords WHERE network = ? AND account = ? AND day < ?",
    network,
    account,
    day - daysKept,
  );
}
