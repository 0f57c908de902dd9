/**
 * The common part of deposit requests and withdrawals: one row, made only once for each merchant,
 * operation and orderId. deposits.ts and withdrawals.ts have the other parts.
 */
import type {
  DepositRow,
  RecordRow,
  RowsByOperation,
  TransactionColumns,
  TransactionRow,
  TransferRow,
  WithdrawalRow,
} from "./rows.ts";
import type { Database, SqlScalar } from "./store.ts";
import {
  depositColumns,
  type NewColumns,
  type NewDeposit,
  type NewTransfer,
  rowOf,
  rowOrNone,
  transferColumns,
} from "./transaction-rows.ts";

/** The operations whose rows are records that a shop sees. */
export type RecordOperation = "deposit" | "withdraw";

export function readTransaction(database: Database, id: string): TransactionRow | undefined {
  const sql = "SELECT * FROM transactions WHERE id = ?";
  return rowOrNone(database.get<TransactionColumns>(sql, id));
}

/** The deposit of an id; a transaction of another kind is not found. */
export function readDeposit(database: Database, id: string): DepositRow | undefined {
  const row = readTransaction(database, id);
  return row?.operation === "deposit" ? row : undefined;
}

/** The withdrawal, sweep or top-up of an id; a deposit is not found. */
export function readTransfer(database: Database, id: string): TransferRow | undefined {
  const row = readTransaction(database, id);
  return row === undefined || row.operation === "deposit" ? undefined : row;
}

/** The columns that an agent's answer changes; undefined if there is no such withdrawal. */
export function readAnswered(
  database: Database,
  id: string,
): Pick<WithdrawalRow, "status" | "stage" | "code"> | undefined {
  return database.get("SELECT status, stage, code FROM transactions WHERE id = ?", id);
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
  const sql = "SELECT * FROM transactions WHERE id = ? AND merchant = ? AND operation IS ?";
  const row = rowOrNone(database.get<TransactionColumns>(sql, id, merchant, operation));
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
 * exists, because these four are the table's key.
 */
export function recordOfOrder<T extends RecordOperation>(
  database: Database,
  { merchant, operation, orderId, renews }: OrderPlace<T>,
): RowsByOperation[T] | undefined {
  const sql =
    "SELECT * FROM transactions WHERE merchant = ? AND operation IS ? AND orderId = ? AND renews = ?";
  const values = [merchant, operation, orderId, renews];
  const row = rowOrNone(database.get<TransactionColumns>(sql, ...values));
  return row as RowsByOperation[T] | undefined;
}

/** Must not be called twice, because id and order are the table's keys. */
export function insertDeposit(database: Database, row: NewDeposit): void {
  insertColumns(database, depositColumns(row));
}

/** Must not be called twice, because id and order are the table's keys. */
export function insertTransfer(database: Database, row: NewTransfer): void {
  insertColumns(database, transferColumns(row));
}

/** The columns of a new row, in the order of the insertion. */
const newColumns = [
  ...(["id", "merchant", "operation", "mode", "orderId", "contentHash", "currency"] as const),
  ...(["network", "amount", "amountUnits", "receiverAddress", "depositAddress", "tag"] as const),
  ...(["stage", "createdAt", "changedAt", "expiresAt", "quote", "metadata"] as const),
  ...(["toleranceUnits", "payToken", "returnUrl", "renews", "refundOf"] as const),
];

const insertion = `INSERT INTO transactions (${newColumns.join(", ")}, status)
  VALUES (${newColumns.map(() => "?").join(", ")}, 0)`;

function insertColumns(database: Database, row: NewColumns): void {
  database.run(insertion, ...newColumns.map((column) => row[column]));
}

/**
 * Selects a merchant's records for a list; a field that is left out does not filter. Times are
 * milliseconds.
 */
export interface TransactionFilter {
  readonly merchant: string;
  readonly operation?: string;
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

/**
 * Rows that one index gives in the list's order. The index is named, because a wide range of times
 * misleads the planner.
 */
interface ListWay {
  readonly index:
    | "transactionsByOrder"
    | "transactionsByRefund"
    | "transactionsByMerchant"
    | "transactionsByKind"
    | "transactionsByCurrency";
  readonly conditions: readonly Condition[];
}

interface Condition {
  readonly text: string;
  readonly values: readonly SqlScalar[];
}

const operations = ["deposit", "withdraw"] as const;
const statuses = [0, 1, 2] as const;

/**
 * Conditions for the range of times. Both bounds are on one column, so that the index scan ends
 * with the page.
 */
function timeConditions({
  orderId,
  refundOf,
  from,
  to,
  after,
}: TransactionFilter): readonly Condition[] {
  // The plus keeps times out of the choice of an index, because an order or a deposit finds few
  // rows.
  const createdAt = orderId === undefined && refundOf === undefined ? "createdAt" : "+createdAt";
  const last = Math.min(
    to === undefined ? Number.POSITIVE_INFINITY : to - 1,
    after?.at ?? Number.POSITIVE_INFINITY,
  );
  return [
    ...(from === undefined ? [] : [{ text: `${createdAt} >= ?`, values: [from] }]),
    ...(last === Number.POSITIVE_INFINITY ? [] : [{ text: `${createdAt} <= ?`, values: [last] }]),
    ...(after === undefined
      ? []
      : [{ text: `(${createdAt} < ? OR id > ?)`, values: [after.at, after.id] }]),
  ];
}

/**
 * Index scans that together cover the filter, each in the list's order. A filter without an
 * operation or status takes one scan for each value, and SQLite merges them row by row. So no
 * unwanted row is read.
 */
function waysOf(filter: TransactionFilter): readonly ListWay[] {
  const { merchant, operation, status, currency, orderId, refundOf } = filter;
  const equal = (column: string, value: SqlScalar | undefined): Condition[] =>
    value === undefined ? [] : [{ text: `${column} = ?`, values: [value] }];
  const always = [...equal("merchant", merchant), ...equal("currency", currency)];
  if (refundOf !== undefined) {
    const refund = { text: "refundOf = ? AND refundOf <> ''", values: [refundOf] };
    const others = [
      ...equal("operation", operation),
      ...equal("status", status),
      ...equal("orderId", orderId),
    ];
    return [{ index: "transactionsByRefund", conditions: [...always, refund, ...others] }];
  }
  if (orderId !== undefined) {
    const order = {
      text: "operation IN ('deposit', 'withdraw') AND orderId = ?",
      values: [orderId],
    };
    return [
      {
        index: "transactionsByOrder",
        conditions: [
          ...always,
          order,
          ...equal("operation", operation),
          ...equal("status", status),
        ],
      },
    ];
  }
  if (operation === undefined && status === undefined && currency === undefined) {
    const orders = { text: "operation IN ('deposit', 'withdraw')", values: [] };
    return [{ index: "transactionsByMerchant", conditions: [...always, orders] }];
  }
  const index = currency === undefined ? "transactionsByKind" : "transactionsByCurrency";
  const kinds = operation === undefined ? operations : [operation];
  const ends = status === undefined ? statuses : [status];
  return kinds.flatMap((kind) =>
    ends.map((end) => ({
      index,
      conditions: [...always, ...equal("operation", kind), ...equal("status", end)],
    })),
  );
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
  const { merchant, changedFrom, after, from, to } = filter;
  const begin = Math.max(changedFrom, after?.at ?? 0);
  const names = ["operation", "status", "currency", "orderId", "refundOf"] as const;
  const equal = names.flatMap((name) =>
    filter[name] === undefined ? [] : [{ text: `+${name} = ?`, values: [filter[name]] }],
  );
  const conditions: readonly Condition[] = [
    {
      text: "merchant = ? AND operation IN ('deposit','withdraw') AND changedAt >= ?",
      values: [merchant, begin],
    },
    ...(after === undefined
      ? []
      : [{ text: "(changedAt > ? OR id > ?)", values: [after.at, after.id] }]),
    ...equal,
    ...(from === undefined ? [] : [{ text: "+createdAt >= ?", values: [from] }]),
    ...(to === undefined ? [] : [{ text: "+createdAt < ?", values: [to] }]),
  ];
  const sql = `SELECT * FROM transactions INDEXED BY transactionsByChange
    WHERE ${conditions.map(({ text }) => text).join(" AND ")} ORDER BY changedAt, id LIMIT ?`;
  return readRecords(database, sql, [...conditions.flatMap(({ values }) => values), most]);
}

/** The rows of a list of records. */
function readRecords(
  database: Database,
  sql: string,
  values: readonly SqlScalar[],
): readonly RecordRow[] {
  return database.all<TransactionColumns>(sql, ...values).map(rowOf) as readonly RecordRow[];
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
  const times = timeConditions(filter);
  const ways = waysOf(filter).map(({ index, conditions }) => ({
    index,
    conditions: [...conditions, ...times],
  }));
  const arms = ways.map(({ index, conditions }) => {
    return `SELECT * FROM transactions INDEXED BY ${index} WHERE ${conditions.map(({ text }) => text).join(" AND ")}`;
  });
  const values = ways.flatMap(({ conditions }) =>
    conditions.flatMap((condition) => condition.values),
  );
  const sql = `${arms.join(" UNION ALL ")} ORDER BY createdAt DESC, id LIMIT ?`;
  return readRecords(database, sql, [...values, most]);
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
  const sql = `SELECT CASE WHEN t.status = 2 THEN m.sentUnits ELSE t.amountUnits END AS units
    FROM transactions t LEFT JOIN movedPayments m ON m.transactionId = t.id
    WHERE t.refundOf = ? AND t.refundOf <> '' AND (t.status <> 2 OR m.sentUnits IS NOT NULL) AND t.createdAt <= ?`;
  return database
    .all<{ units: string }>(sql, deposit, toMs)
    .reduce((sum, { units }) => sum + BigInt(units), 0n);
}

/** The base units that a deposit received and that no refund pays back. */
export function keptUnits(database: Database, { id, receivedUnits }: DepositRow): bigint {
  const units = BigInt(receivedUnits) - refundedUnits(database, id);
  return units > 0n ? units : 0n;
}

/** A record whose value cannot be made waits for an operator. */
const isNotAside =
  "NOT EXISTS (SELECT 1 FROM setAside WHERE kind = 'value' AND setAside.id = c.transactionId)";

/** A completed record, with the columns that decide its fiat value. */
export type Completion = Pick<
  TransactionColumns,
  "id" | "operation" | "currency" | "amountUnits" | "amountReceivedUnits" | "value"
>;

/** Records that completed and have no fiat value yet, oldest first. */
export function listCompletions(database: Database, most: number): readonly Completion[] {
  return database.all<Completion>(
    `SELECT t.id, t.operation, t.currency, t.amountUnits, t.amountReceivedUnits, t.value FROM completions c JOIN transactions t ON t.id = c.transactionId WHERE ${isNotAside} ORDER BY c.rowid LIMIT ?`,
    most,
  );
}

export function hasCompletions(database: Database): boolean {
  return database.get(`SELECT 1 FROM completions c WHERE ${isNotAside} LIMIT 1`) !== undefined;
}

/** Keeps the value of a completed record; "" if there is none. */
export function keepValue(database: Database, id: string, value: string): void {
  keepValues(database, [{ id, before: null, value }]);
}

/** A record's value, and the one that it has; null if that is not known. */
export interface RecordValuation {
  readonly id: string;
  readonly before: string | null;
  readonly value: string;
}

/** Like `keepValue`, for several records. */
export function keepValues(database: Database, values: readonly RecordValuation[]): void {
  if (values.length === 0) return;
  for (const { id, before, value } of values)
    if (value !== before) database.run("UPDATE transactions SET value = ? WHERE id = ?", value, id);
  const sql = "DELETE FROM completions WHERE transactionId IN (SELECT value FROM json_each(?))";
  database.run(sql, JSON.stringify(values.map(({ id }) => id)));
}
