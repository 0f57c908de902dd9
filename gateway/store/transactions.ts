/**
 * The common part of deposit requests and withdrawals: one row, made only once for each merchant,
 * operation and orderId. deposits.ts and withdrawals.ts have the other parts.
 */
import type { TransactionRow } from "./rows.ts";
import type { Database, Value } from "./store.ts";

export function readTransaction(database: Database, id: string): TransactionRow | undefined {
  return database.get<TransactionRow>("SELECT * FROM transactions WHERE id = ?", id);
}

/** A merchant's own record; another merchant's record is not found. */
export function readTransactionOf(
  database: Database,
  { id, merchant, operation }: { readonly id: string; readonly merchant: string; readonly operation: string },
): TransactionRow | undefined {
  const sql = "SELECT * FROM transactions WHERE id = ? AND merchant = ? AND operation = ?";
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
  const sql = "SELECT * FROM transactions WHERE merchant = ? AND operation = ? AND orderId = ? AND renews = ?";
  return database.get<TransactionRow>(sql, order.merchant, order.operation, order.orderId, order.renews);
}

/** A new row: pending, nothing paid, nothing on the chain. */
export type NewTransaction = Omit<
  TransactionRow,
  ("status" | "code" | "txHash" | "feeUnits" | "amountReceivedUnits" | "finalBlock" | "late" | "callbackStatus") | OptionalColumn
> &
  Partial<Pick<TransactionRow, OptionalColumn>>;

/** Columns that only a request for a deposit fills, and one that only a renewal does. */
type OptionalColumn = "toleranceUnits" | "payToken" | "returnUrl" | "renews";

/** Must not be called twice, because id and order are the table's keys. */
export function insertTransaction(database: Database, row: NewTransaction): void {
  const { id, merchant, operation, mode, orderId, contentHash, currency, network, amount, amountUnits } = row;
  database.run(
    `INSERT INTO transactions (id, merchant, operation, mode, orderId, contentHash, currency, network, amount, amountUnits,
       receiverAddress, depositAddress, tag, status, stage, createdAt, changedAt, expiresAt, quote, metadata, toleranceUnits,
       payToken, returnUrl, renews)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[id, merchant, operation, mode, orderId, contentHash, currency, network, amount, amountUnits],
    ...[row.receiverAddress, row.depositAddress, row.tag, row.stage, row.createdAt, row.changedAt, row.expiresAt],
    ...[row.quote, row.metadata, row.toleranceUnits ?? "0", row.payToken ?? "", row.returnUrl ?? "", row.renews ?? ""],
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
  readonly from?: number; // made at this time or later
  readonly to?: number; // made before this time
  readonly after?: TransactionPlace;
}

/** A record's position in the list. */
export type TransactionPlace = Pick<TransactionRow, "createdAt" | "id">;

/**
 * Rows that one index gives in the list's order. The index is named, because a wide range of times
 * misleads the planner.
 */
interface Way {
  readonly index: "transactionsByOrder" | "transactionsByMerchant" | "transactionsByKind" | "transactionsByCurrency";
  readonly conditions: readonly Condition[];
}

interface Condition {
  readonly text: string;
  readonly values: readonly Value[];
}

const operations = ["deposit", "withdraw"] as const;
const statuses = [0, 1, 2] as const;

/**
 * Conditions for the range of times. Both bounds are on one column, so that the index scan ends
 * with the page.
 */
function timeConditions({ orderId, from, to, after }: TransactionFilter): readonly Condition[] {
  // The plus keeps times out of the choice of an index, because an orderId finds few rows.
  const createdAt = orderId === undefined ? "createdAt" : "+createdAt";
  const last = Math.min(to === undefined ? Number.POSITIVE_INFINITY : to - 1, after?.createdAt ?? Number.POSITIVE_INFINITY);
  return [
    ...(from === undefined ? [] : [{ text: `${createdAt} >= ?`, values: [from] }]),
    ...(last === Number.POSITIVE_INFINITY ? [] : [{ text: `${createdAt} <= ?`, values: [last] }]),
    ...(after === undefined ? [] : [{ text: `(${createdAt} < ? OR id > ?)`, values: [after.createdAt, after.id] }]),
  ];
}

/**
 * Index scans that together cover the filter, each in the list's order. A filter without an
 * operation or status takes one scan for each value, and SQLite merges them row by row. So no
 * unwanted row is read.
 */
function waysOf(filter: TransactionFilter): readonly Way[] {
  const { merchant, operation, status, currency, orderId } = filter;
  const equal = (column: string, value: Value | undefined): Condition[] =>
    value === undefined ? [] : [{ text: `${column} = ?`, values: [value] }];
  const always = [...equal("merchant", merchant), ...equal("currency", currency)];
  if (orderId !== undefined) {
    const order = { text: "operation IN ('deposit', 'withdraw') AND orderId = ?", values: [orderId] };
    return [
      {
        index: "transactionsByOrder",
        conditions: [...always, order, ...equal("operation", operation), ...equal("status", status)],
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
    ends.map((end) => ({ index, conditions: [...always, ...equal("operation", kind), ...equal("status", end)] })),
  );
}

/** The records that pass a filter, newest first and then by id, at most `most`. */
export function listTransactionRows(database: Database, filter: TransactionFilter, most: number): readonly TransactionRow[] {
  const times = timeConditions(filter);
  const ways = waysOf(filter).map(({ index, conditions }) => ({ index, conditions: [...conditions, ...times] }));
  const arms = ways.map(({ index, conditions }) => {
    return `SELECT * FROM transactions INDEXED BY ${index} WHERE ${conditions.map(({ text }) => text).join(" AND ")}`;
  });
  const values = ways.flatMap(({ conditions }) => conditions.flatMap((condition) => condition.values));
  const sql = `${arms.join(" UNION ALL ")} ORDER BY createdAt DESC, id LIMIT ?`;
  return database.all<TransactionRow>(sql, ...values, most);
}
