/**
 * The common part of deposit requests and withdrawals: one row, made only once for each merchant,
 * operation and orderId. deposits.ts and withdrawals.ts have the other parts.
 */
import { invariant } from "../../base/fault.ts";
import type {
  DepositRow,
  RecordRow,
  RowsByOperation,
  SweepRow,
  TransactionRow,
  TransferRow,
  WithdrawalRow,
} from "./rows.ts";
import type { Database, SqlScalar } from "./store.ts";
import {
  depositFieldsSql,
  depositsSql,
  type NewDeposit,
  type NewTransfer,
  narrowFoundRow,
  narrowTransactionRow,
  transferFieldsSql,
  transferPartsSql,
  transfersSql,
} from "./transaction-rows.ts";

/** The operations whose rows are records that a shop sees. */
export type RecordOperation = "deposit" | "withdraw";

export function readTransaction(database: Database, id: string): TransactionRow | undefined {
  const sql = `${transfersSql} WHERE t.id = ?1 UNION ALL ${depositsSql} WHERE d.id = ?1`;
  return narrowFoundRow(database.get<TransactionRow>(sql, id));
}

/** The deposit of an id; a transaction of another kind is not found. */
export function readDeposit(database: Database, id: string): DepositRow | undefined {
  return oneDeposit(database, "d.id = ?", id);
}

/** The withdrawal, sweep or top-up of an id; a deposit is not found. */
export function readTransfer(database: Database, id: string): TransferRow | undefined {
  return oneTransfer(database, "t.id = ?", id);
}

function oneDeposit(
  database: Database,
  condition: string,
  ...values: readonly SqlScalar[]
): DepositRow | undefined {
  const sql = `${depositsSql} WHERE ${condition}`;
  return narrowFoundRow(database.get<TransactionRow>(sql, ...values)) as DepositRow | undefined;
}

function oneTransfer(
  database: Database,
  condition: string,
  ...values: readonly SqlScalar[]
): TransferRow | undefined {
  const sql = `${transfersSql} WHERE ${condition}`;
  return narrowFoundRow(database.get<TransactionRow>(sql, ...values)) as TransferRow | undefined;
}

/** The columns that an agent's answer changes; undefined if there is no such withdrawal. */
export function readWithdrawalState(
  database: Database,
  id: string,
): Pick<WithdrawalRow, "status" | "stage" | "code"> | undefined {
  const sql = "SELECT status, stage, coalesce(code, '') AS code FROM transfers WHERE id = ?";
  return database.get(sql, id);
}

/** A merchant's own record; another merchant's record is not found. */
export function readTransactionOf<T extends RecordOperation>(
  database: Database,
  {
    id,
    merchant,
    operation,
  }: { readonly id: string; readonly merchant: string; readonly operation: T },
): RowsByOperation[T] | undefined {
  const row =
    operation === "deposit"
      ? oneDeposit(database, "d.id = ? AND d.merchant = ?", id, merchant)
      : oneTransfer(
          database,
          "t.id = ? AND t.merchant = ? AND t.operation = 'withdraw'",
          id,
          merchant,
        );
  return row as RowsByOperation[T] | undefined;
}

/** The place of a record among the records of its order. */
export interface OrderPlace<T extends RecordOperation = RecordOperation> {
  readonly merchant: string;
  readonly operation: T;
  readonly orderId: string;
  readonly renews: string; // the ended record that it follows; "" for the first
}

/**
 * The record of an order: its first, or the one that follows the ended record `renews`. At most one
 * exists, because the operation has a table, and the other three are its key. A choice of an
 * invoice is no order of its own.
 */
export function recordOfOrder<T extends RecordOperation>(
  database: Database,
  { merchant, operation, orderId, renews }: OrderPlace<T>,
): RowsByOperation[T] | undefined {
  const order = "merchant = ? AND orderId = ? AND renews = ?";
  const values = [merchant, orderId, renews];
  const row =
    operation === "deposit"
      ? oneDeposit(database, `${order} AND choice = ''`, ...values)
      : oneTransfer(database, `t.id = (SELECT id FROM withdrawals WHERE ${order})`, ...values);
  return row as RowsByOperation[T] | undefined;
}

/** Must not be called twice, because id and order are the table's keys. */
export function insertDeposit(database: Database, row: NewDeposit): void {
  const isOrdered = row.contentHash !== null;
  const { id, merchant, orderId, renews, contentHash, address, payTo, tag } = row;
  const { network, currency, amount, units, toleranceUnits, quote, payToken, returnUrl } = row;
  const { metadata, stage, createdAt, changedAt, expiresAt, invoice = "" } = row;
  database.run(
    `INSERT INTO deposits (id, merchant, origin, orderId, renews, contentHash, address, payTo, tag, network, currency, amount, units,
       toleranceUnits, quote, payToken, returnUrl, metadata, stage, createdAt, changedAt, expiresAt, invoice, choice)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, ''), nullif(?, ''), nullif(?, ''), nullif(?, ''), ?, ?, ?, ?, nullif(?, ''), ?)`,
    ...[id, merchant, isOrdered ? "ordered" : "unattributed", orderId, renews, contentHash],
    ...[address, payTo, tag, network, currency, amount, units],
    ...[isOrdered ? toleranceUnits : null, quote, payToken, returnUrl, metadata, stage],
    ...[createdAt, changedAt, expiresAt, invoice, invoice === "" ? "" : id],
  );
}

/** Must not be called twice, because id and order are the tables' keys. */
export function insertTransfer(database: Database, row: NewTransfer): void {
  const { id, operation, merchant, contentHash, network, currency, amount, units } = row;
  const { payer, receiver, tag, stage, createdAt, changedAt, expiresAt } = row;
  database.run(
    `INSERT INTO transfers (id, operation, merchant, contentHash, network, currency, amount, units, payer, receiver, tag, stage,
       createdAt, changedAt, expiresAt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[id, operation, merchant, contentHash, network, operation === "topup" ? null : currency],
    ...[amount, units, payer, receiver, tag, stage, createdAt, changedAt, expiresAt],
  );
  switch (row.operation) {
    case "withdraw":
      database.run(
        `INSERT INTO withdrawals (id, merchant, orderId, renews, mode, refundOf, metadata)
           VALUES (?, ?, ?, ?, ?, nullif(?, ''), nullif(?, ''))`,
        ...[id, merchant, row.orderId, row.renews, row.mode, row.refundOf, row.metadata],
      );
      break;
    case "sweep": {
      const ordinal = sweepOrdinalOf(row);
      invariant(ordinal !== null, `a sweep's order names its address, not ${row.orderId}`);
      database.run(
        "INSERT INTO sweeps (id, address, ordinal, addressIndex, nextSlot) VALUES (?, ?, ?, ?, nullif(?, ''))",
        ...[id, payer, ordinal, row.addressIndex, row.nextSlot],
      );
      break;
    }
    case "topup":
      database.run(
        "INSERT INTO topUps (id, sweep, sweptCurrency, addressIndex) VALUES (?, ?, ?, ?)",
        ...[id, row.orderId, currency, row.addressIndex],
      );
  }
}

/** The order of a sweep: the address that it empties, and its number among the sweeps there. */
export function sweepOrderOf(address: string, ordinal: number): string {
  return `${address}/${ordinal}`;
}

/** The number in a sweep's order; null for an order that is no sweep's from its address. */
export function sweepOrdinalOf({
  payer,
  orderId,
}: Pick<SweepRow, "payer" | "orderId">): number | null {
  const ordinal = Number(orderId.slice(payer.length + 1));
  return ordinal >= 1 && orderId === sweepOrderOf(payer, ordinal) ? ordinal : null;
}

/**
 * Selects a merchant's records for a list; a field that is left out does not filter. Times are
 * milliseconds.
 */
export interface TransactionFilter {
  readonly merchant: string;
  readonly operation?: RecordOperation;
  readonly status?: number;
  readonly currency?: string;
  readonly orderId?: string;
  readonly refundOf?: string; // withdrawals that pay this deposit back
  readonly from?: number; // made at this time or later
  readonly to?: number; // made before this time
  readonly changedFrom?: number; // changed at this time or later; the list is then in the order of changes
  readonly after?: TransactionPlace;
}

/** A record's position in a list: the time that orders the list, and the id. */
export interface TransactionPlace {
  readonly at: number;
  readonly id: string;
}

/** The position of a row in the list of this filter. */
export function placeIn(
  { changedFrom }: TransactionFilter,
  { createdAt, changedAt, id }: RecordRow,
): TransactionPlace {
  return { at: changedFrom === undefined ? createdAt : changedAt, id };
}

interface Condition {
  readonly text: string;
  readonly values: readonly SqlScalar[];
}

/**
 * Rows of one kind that one index gives in the list's order. The index is named, because a wide
 * range of times misleads the planner.
 */
interface ListWay {
  readonly select: string;
  readonly row: "d" | "t"; // has the columns that both kinds have
  readonly conditions: readonly Condition[];
}

type ListIndex = "ByMerchant" | "ByCurrency" | "ByChange" | "ByOrder" | "ByRefund";

const statuses = [0, 1, 2] as const;

/** The records of one operation, found by one of its indexes. */
function wayOf(
  operation: RecordOperation,
  index: ListIndex,
  conditions: readonly Condition[],
): ListWay {
  if (operation === "deposit") {
    const select = `SELECT ${depositFieldsSql} FROM deposits d INDEXED BY deposits${index}`;
    return { select, row: "d", conditions };
  }
  const isOfOrder = index === "ByOrder" || index === "ByRefund";
  const from = isOfOrder
    ? `withdrawals o INDEXED BY withdrawals${index} CROSS JOIN transfers t ON t.id = o.id`
    : `transfers t INDEXED BY transfers${index}`;
  const own = { text: "t.operation = 'withdraw'", values: [] };
  return {
    select: `SELECT ${transferFieldsSql} FROM ${from} ${transferPartsSql}`,
    row: "t",
    conditions: isOfOrder ? conditions : [own, ...conditions],
  };
}

function equal(column: string, value: SqlScalar | undefined): readonly Condition[] {
  return value === undefined ? [] : [{ text: `${column} = ?`, values: [value] }];
}

/**
 * Conditions for the range of times of a way's `row`. Both bounds are on one column, so that the
 * index scan ends with the page.
 */
function timeConditions(
  { orderId, refundOf, from, to, after }: TransactionFilter,
  row: "d" | "t",
): readonly Condition[] {
  // The plus keeps times out of the choice of an index, because an order or a deposit finds few
  // rows.
  const isFew = orderId !== undefined || refundOf !== undefined;
  const createdAt = isFew ? `+${row}.createdAt` : `${row}.createdAt`;
  const last = Math.min(
    to === undefined ? Number.POSITIVE_INFINITY : to - 1,
    after?.at ?? Number.POSITIVE_INFINITY,
  );
  return [
    ...(from === undefined ? [] : [{ text: `${createdAt} >= ?`, values: [from] }]),
    ...(last === Number.POSITIVE_INFINITY ? [] : [{ text: `${createdAt} <= ?`, values: [last] }]),
    ...(after === undefined
      ? []
      : [{ text: `(${createdAt} < ? OR ${row}.id > ?)`, values: [after.at, after.id] }]),
  ];
}

/** The currencies of a merchant's records; one step in the index finds the next. */
function currenciesOf(
  database: Database,
  operation: RecordOperation,
  merchant: string,
): readonly string[] {
  const from =
    operation === "deposit"
      ? "deposits WHERE merchant = ?1"
      : "transfers WHERE merchant = ?1 AND operation = 'withdraw'";
  const sql = `SELECT min(currency) AS next FROM ${from} AND currency > ?2`;
  const nextAfter = (currency: string): string | null =>
    database.get<{ next: string | null }>(sql, merchant, currency)?.next ?? null;
  const found: string[] = [];
  for (let next = nextAfter(""); next !== null; next = nextAfter(next)) found.push(next);
  return found;
}

/**
 * Index scans of one operation that together cover the filter, each in the list's order. A filter
 * by status or currency alone takes one scan for each value of the other, and SQLite merges them
 * row by row. So no unwanted row is read.
 */
function waysOf(
  database: Database,
  operation: RecordOperation,
  filter: TransactionFilter,
): readonly ListWay[] {
  const { merchant, status, currency, orderId, refundOf } = filter;
  const row = operation === "deposit" ? "d" : "t";
  const always = [...equal(`${row}.merchant`, merchant), ...equal(`${row}.currency`, currency)];
  const ended = equal(`${row}.status`, status);
  if (refundOf !== undefined) {
    const refund = [...equal("o.refundOf", refundOf), ...equal("o.orderId", orderId)];
    return operation === "deposit"
      ? []
      : [wayOf(operation, "ByRefund", [...always, ...refund, ...ended])];
  }
  if (orderId !== undefined) {
    const table = operation === "deposit" ? "d" : "o";
    const order = [...equal(`${table}.merchant`, merchant), ...equal(`${table}.orderId`, orderId)];
    return [
      wayOf(operation, "ByOrder", [...order, ...equal(`${row}.currency`, currency), ...ended]),
    ];
  }
  if (status === undefined && currency === undefined)
    return [wayOf(operation, "ByMerchant", always)];
  const owner = equal(`${row}.merchant`, merchant);
  const currencies =
    currency === undefined ? currenciesOf(database, operation, merchant) : [currency];
  return currencies.flatMap((one) =>
    (status === undefined ? statuses : [status]).map((end) =>
      wayOf(operation, "ByCurrency", [
        ...owner,
        ...equal(`${row}.currency`, one),
        ...equal(`${row}.status`, end),
      ]),
    ),
  );
}

/** The operations that a filter lets through. */
function operationsOf({ operation }: TransactionFilter): readonly RecordOperation[] {
  return operation === undefined ? ["deposit", "withdraw"] : [operation];
}

/** The rows of ways in an order; each way has them in it. */
function readWays(
  database: Database,
  ways: readonly ListWay[],
  order: string,
  most: number,
): readonly RecordRow[] {
  if (ways.length === 0) return [];
  const arms = ways.map(
    ({ select, conditions }) =>
      `${select} WHERE ${conditions.map(({ text }) => text).join(" AND ")}`,
  );
  const values = ways.flatMap(({ conditions }) => conditions.flatMap((one) => one.values));
  const sql = `${arms.join(" UNION ALL ")} ORDER BY ${order} LIMIT ?`;
  const rows = database.all<TransactionRow>(sql, ...values, most);
  return rows.map(narrowTransactionRow) as readonly RecordRow[];
}

/**
 * The records that changed, earliest change first and then by id. A record that changes while pages
 * are read comes again at the end, so that no change is missed.
 */
function listChangedRows(
  database: Database,
  filter: TransactionFilter & { readonly changedFrom: number },
  most: number,
): readonly RecordRow[] {
  const { merchant, changedFrom, after, from, to, status, currency, orderId, refundOf } = filter;
  const begin = Math.max(changedFrom, after?.at ?? 0);
  const ways = operationsOf(filter).flatMap((operation) => {
    if (operation === "deposit" && refundOf !== undefined) return [];
    const row = operation === "deposit" ? "d" : "t";
    const order = operation === "deposit" ? "d" : "w";
    return [
      wayOf(operation, "ByChange", [
        { text: `${row}.merchant = ? AND ${row}.changedAt >= ?`, values: [merchant, begin] },
        ...(after === undefined
          ? []
          : [{ text: `(${row}.changedAt > ? OR ${row}.id > ?)`, values: [after.at, after.id] }]),
        ...equal(`+${row}.status`, status),
        ...equal(`+${row}.currency`, currency),
        ...equal(`+${order}.orderId`, orderId),
        ...equal("+w.refundOf", refundOf),
        ...(from === undefined ? [] : [{ text: `+${row}.createdAt >= ?`, values: [from] }]),
        ...(to === undefined ? [] : [{ text: `+${row}.createdAt < ?`, values: [to] }]),
      ]),
    ];
  });
  return readWays(database, ways, "changedAt, id", most);
}

/**
 * The records that pass a filter, newest first and then by id, at most `most`; with `changedFrom`
 * the earliest change first.
 */
export function listTransactionRows(
  database: Database,
  filter: TransactionFilter,
  most: number,
): readonly RecordRow[] {
  const { changedFrom } = filter;
  if (changedFrom !== undefined) return listChangedRows(database, { ...filter, changedFrom }, most);
  const ways = operationsOf(filter).flatMap((operation) => waysOf(database, operation, filter));
  const timed = ways.map(({ conditions, ...way }) => {
    return { ...way, conditions: [...conditions, ...timeConditions(filter, way.row)] };
  });
  return readWays(database, timed, "createdAt DESC, id", most);
}

/**
 * The base units of a deposit that withdrawals pay or have paid back, of those ordered up to a
 * time. A failed withdrawal pays nothing.
 */
export function refundedUnits(
  database: Database,
  deposit: string,
  toMs = Number.MAX_SAFE_INTEGER,
): bigint {
  // A refund that failed because it moved another amount has moved that.
  const sql = `SELECT CASE WHEN t.status = 2 THEN m.sentUnits ELSE t.units END AS units
    FROM withdrawals w CROSS JOIN transfers t ON t.id = w.id LEFT JOIN movedPayments m ON m.transactionId = t.id
    WHERE w.refundOf = ? AND (t.status <> 2 OR m.sentUnits IS NOT NULL) AND t.createdAt <= ?`;
  return database
    .all<{ units: string }>(sql, deposit, toMs)
    .reduce((sum, { units }) => sum + BigInt(units), 0n);
}

/** The base units that a deposit received and that no refund pays back. */
export function unrefundedUnits(database: Database, { id, receivedUnits }: DepositRow): bigint {
  const units = BigInt(receivedUnits) - refundedUnits(database, id);
  return units > 0n ? units : 0n;
}

/** A record whose value cannot be made waits for an operator. */
const isNotAside =
  "NOT EXISTS (SELECT 1 FROM setAside WHERE kind = 'value' AND setAside.id = c.transactionId)";

/** A completed record, with the columns that decide its fiat value. */
export interface UnvaluedCompletion {
  readonly id: string;
  readonly currency: string;
  readonly movedUnits: string; // that came, or left
  readonly value: string; // "" for none
}

/** Records that completed and have no fiat value yet, oldest first. */
export function listUnvaluedCompletions(
  database: Database,
  most: number,
): readonly UnvaluedCompletion[] {
  return database.all<UnvaluedCompletion>(
    `SELECT c.transactionId AS id, coalesce(d.currency, t.currency) AS currency, coalesce(d.receivedUnits, t.units) AS movedUnits,
       coalesce(d.value, w.value, '') AS value FROM completions c LEFT JOIN deposits d ON d.id = c.transactionId
       LEFT JOIN transfers t ON t.id = c.transactionId LEFT JOIN withdrawals w ON w.id = t.id
     WHERE ${isNotAside} ORDER BY c.rowid LIMIT ?`,
    most,
  );
}

export function hasUnvaluedCompletions(database: Database): boolean {
  return database.get(`SELECT 1 FROM completions c WHERE ${isNotAside} LIMIT 1`) !== undefined;
}

/** Keeps the value of a completed record; "" if there is none. */
export function keepFiatValue(database: Database, id: string, value: string): void {
  keepFiatValues(database, [{ id, before: null, value }]);
}

/** A record's value, and the one that it has; null if that is not known. */
export interface RecordValuation {
  readonly id: string;
  readonly before: string | null;
  readonly value: string;
}

/** Like `keepValue`, for several records. */
export function keepFiatValues(database: Database, values: readonly RecordValuation[]): void {
  if (values.length === 0) return;
  for (const { id, before, value } of values)
    if (value !== before)
      for (const table of ["deposits", "withdrawals"])
        database.run(`UPDATE ${table} SET value = nullif(?, '') WHERE id = ?`, value, id);
  const sql = "DELETE FROM completions WHERE transactionId IN (SELECT value FROM json_each(?))";
  database.run(sql, JSON.stringify(values.map(({ id }) => id)));
}
