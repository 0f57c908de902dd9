/**
 * The common part of deposit requests and withdrawals: one row, made only once for each merchant,
 * operation and orderId. deposits.ts and withdrawals.ts have the other parts.
 */
import type { TransactionRow } from "./rows.ts";
import type { Database, SqlScalar } from "./store.ts";

export function readTransaction(database: Database, id: string): TransactionRow | undefined {
  return database.get<TransactionRow>("SELECT * FROM transactions WHERE id = ?", id);
}

/** The columns that an agent's answer changes; undefined if there is no such withdrawal. */
export function readAnswered(
  database: Database,
  id: string,
): Pick<TransactionRow, "status" | "stage" | "code" | "receiverAddress"> | undefined {
  return database.get(
    "SELECT status, stage, code, receiverAddress FROM transactions WHERE id = ?",
    id,
  );
}

/** A merchant's own record; another merchant's record is not found. */
export function readTransactionOf(
  database: Database,
  {
    id,
    merchant,
    operation,
  }: { readonly id: string; readonly merchant: string; readonly operation: string },
): TransactionRow | undefined {
  const sql = "SELECT * FROM transactions WHERE id = ? AND merchant = ? AND operation IS ?";
  return database.get<TransactionRow>(sql, id, merchant, operation);
}

/**
 * The record of an order: its first, or the one that follows the ended record `renews`. At most one
 * exists, because these four are the table's key.
 */
export function recordOfOrder(
  database: Database,
  order: Pick<TransactionRow, "merchant" | "operation" | "orderId" | "renews">,
): TransactionRow | undefined {
  const sql =
    "SELECT * FROM transactions WHERE merchant = ? AND operation IS ? AND orderId = ? AND renews = ?";
  return database.get<TransactionRow>(
    sql,
    order.merchant,
    order.operation,
    order.orderId,
    order.renews,
  );
}

/** A new row: pending, nothing paid, nothing on the chain. */
export type NewTransaction = Omit<
  TransactionRow,
  | (
      | "status"
      | "code"
      | "txHash"
      | "feeUnits"
      | "amountReceivedUnits"
      | "finalBlock"
      | "late"
      | "callbackStatus"
    )
  | OptionalColumn
> &
  Partial<Pick<TransactionRow, OptionalColumn>>;

/** Columns of deposits, of renewals, of refunds and of completed records alone. */
type OptionalColumn = "toleranceUnits" | "payToken" | "returnUrl" | "renews" | "refundOf" | "value";

/** Must not be called twice, because id and order are the table's keys. */
export function insertTransaction(database: Database, row: NewTransaction): void {
  const {
    id,
    merchant,
    operation,
    mode,
    orderId,
    contentHash,
    currency,
    network,
    amount,
    amountUnits,
  } = row;
  database.run(
    `INSERT INTO transactions (id, merchant, operation, mode, orderId, contentHash, currency, network, amount, amountUnits,
       receiverAddress, depositAddress, tag, status, stage, createdAt, changedAt, expiresAt, quote, metadata, toleranceUnits,
       payToken, returnUrl, renews, refundOf)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[
      id,
      merchant,
      operation,
      mode,
      orderId,
      contentHash,
      currency,
      network,
      amount,
      amountUnits,
    ],
    ...[
      row.receiverAddress,
      row.depositAddress,
      row.tag,
      row.stage,
      row.createdAt,
      row.changedAt,
      row.expiresAt,
    ],
    ...[
      row.quote,
      row.metadata,
      row.toleranceUnits ?? "0",
      row.payToken ?? "",
      row.returnUrl ?? "",
      row.renews ?? "",
    ],
    row.refundOf ?? "",
  );
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
  { createdAt, changedAt, id }: TransactionRow,
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
): readonly TransactionRow[] {
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
  return database.all<TransactionRow>(sql, ...conditions.flatMap(({ values }) => values), most);
}

/**
 * The records that pass a filter, newest first and then by id, at most `most`; with `changedFrom`
 * the earliest change first.
 */
export function listTransactionRows(
  database: Database,
  filter: TransactionFilter,
  most: number,
): readonly TransactionRow[] {
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
  return database.all<TransactionRow>(sql, ...values, most);
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
export function keptUnits(database: Database, { id, amountReceivedUnits }: TransactionRow): bigint {
  const units = BigInt(amountReceivedUnits) - refundedUnits(database, id);
  return units > 0n ? units : 0n;
}

/** A record whose value cannot be made waits for an operator. */
const isNotAside =
  "NOT EXISTS (SELECT 1 FROM setAside WHERE kind = 'value' AND setAside.id = c.transactionId)";

/** A completed record, with the columns that decide its fiat value. */
export type Completion = Pick<
  TransactionRow,
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
