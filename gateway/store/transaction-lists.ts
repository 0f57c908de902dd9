/**
 * Records of all merchants, each with its merchant's name, for the operator's lists and search.
 */
import type { Operation } from "../../protocol/identity.ts";
import { undecidedDeposits } from "./gone-payments.ts";
import type { PaymentRow, RowsByOperation, TransactionColumns } from "./rows.ts";
import type { Database, SqlScalar } from "./store.ts";
import { rowOf } from "./transaction-rows.ts";

/** A missing field lets every record through. */
export interface TransactionQuery<T extends Operation = Operation> {
  readonly operations: readonly T[];
  readonly merchant?: string | undefined;
  readonly status?: number | undefined;
  readonly stage?: string | undefined;
  readonly orderId?: string | undefined;
  readonly sinceMs?: number | undefined; // made at this time or later, Unix milliseconds
  readonly untilMs?: number | undefined; // made before this time
  readonly isLate?: boolean | undefined; // true: only deposits with a payment after their end
  readonly isReorged?: boolean | undefined; // true: only deposits credited by a payment whose block left, until an operator decides
  readonly isHeld?: boolean | undefined; // true: only deposits that a gap of blocks holds which was given up
  readonly most: number;
}

/** The name of a record's merchant. */
export interface MerchantName {
  readonly merchantName: string;
}

/** A transaction with its merchant's name. */
export type TransactionWithMerchant<T extends Operation = Operation> = RowsByOperation[T] &
  MerchantName;

const withNames = `SELECT transactions.*, merchants.name AS merchantName FROM transactions
  JOIN merchants ON merchants.id = transactions.merchant`;

export type DepositWithMerchant = TransactionWithMerchant<"deposit">;
export type WithdrawalWithMerchant = TransactionWithMerchant<"withdraw">;
export type RecordWithMerchant = DepositWithMerchant | WithdrawalWithMerchant;

/** Rows of a statement that selects these operations alone. */
function readNamed<T extends Operation>(
  database: Database,
  sql: string,
  values: readonly SqlScalar[],
): readonly TransactionWithMerchant<T>[] {
  const rows = database.all<TransactionColumns & MerchantName>(sql, ...values);
  return rows.map((row) => ({
    ...(rowOf(row) as RowsByOperation[T]),
    merchantName: row.merchantName,
  }));
}

/** The conditions that a query names, as SQL with its values. */
function conditionsOf(
  query: Omit<TransactionQuery, "most" | "operations">,
): readonly (readonly [string, SqlScalar])[] {
  const { merchant, status, stage, orderId, sinceMs, untilMs, isLate, isReorged, isHeld } = query;
  const named: readonly (readonly [string, SqlScalar | undefined])[] = [
    ["merchant = ?", merchant],
    ["status = ?", status],
    ["stage = ?", stage],
    ["transactions.createdAt >= ?", sinceMs],
    ["transactions.createdAt < ?", untilMs],
    ["late = ?", isLate === true ? 1 : undefined],
    [`? = 1 AND transactions.id IN (${undecidedDeposits})`, isReorged === true ? 1 : undefined],
    [
      "? = 1 AND transactions.id IN (SELECT transactionId FROM gapHolds)",
      isHeld === true ? 1 : undefined,
    ],
    ["orderId = ?", orderId],
    // The index of orders begins with the merchant.
    [
      "? IS NOT NULL AND merchant IN (SELECT id FROM merchants)",
      merchant === undefined ? orderId : undefined,
    ],
  ];
  return named.flatMap(([sql, value]) => (value === undefined ? [] : [[sql, value] as const]));
}

/** Records of these operations, newest first. */
export function listedTransactions<T extends Operation>(
  database: Database,
  query: TransactionQuery<T>,
): readonly TransactionWithMerchant<T>[] {
  const conditions = conditionsOf(query);
  const where = ["operation = ?", ...conditions.map(([sql]) => sql)].join(" AND ");
  const values = conditions.map(([, value]) => value);
  // An index orders the records of one operation; the lists of several are merged here.
  const lists = query.operations.map((operation) =>
    readNamed<T>(
      database,
      `${withNames} WHERE ${where} ORDER BY transactions.createdAt DESC, transactions.id LIMIT ?`,
      [operation, ...values, query.most],
    ),
  );
  if (lists.length === 1) return lists[0] ?? [];
  const merged = lists.flat().sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1));
  return merged.slice(0, query.most);
}

export function namedTransaction<T extends "deposit" | "withdraw">(
  database: Database,
  operation: T,
  id: string,
): TransactionWithMerchant<T> | undefined {
  const sql = `${withNames} WHERE transactions.id = ? AND operation = ?`;
  return readNamed<T>(database, sql, [id, operation])[0];
}

/** The records of these ids, of any operation, newest first. */
export function namedTransactions(
  database: Database,
  ids: readonly string[],
): readonly TransactionWithMerchant[] {
  return readNamed(
    database,
    `${withNames} WHERE transactions.id IN (SELECT value FROM json_each(?)) ORDER BY transactions.createdAt DESC, transactions.id`,
    [JSON.stringify(ids)],
  );
}

/** All payments seen on a deposit's address, including other currencies. */
export function listPaymentsTo(database: Database, transactionId: string): readonly PaymentRow[] {
  return database.all<PaymentRow>(
    "SELECT * FROM payments WHERE transactionId = ? ORDER BY block, txHash, logIndex",
    transactionId,
  );
}
