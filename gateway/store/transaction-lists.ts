/**
 * Records of all merchants, each with its merchant's name, for the operator's lists and search.
 */
import type { Operation } from "../../protocol/identity.ts";
import { undecidedDepositsSql } from "./gone-payments.ts";
import type { PaymentRow, RowsByOperation, TransactionRow } from "./rows.ts";
import type { Database, SqlScalar } from "./store.ts";
import {
  depositFieldsSql,
  narrowTransactionRow,
  transferFieldsSql,
  transferPartsSql,
} from "./transaction-rows.ts";

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

export type DepositWithMerchant = TransactionWithMerchant<"deposit">;
export type WithdrawalWithMerchant = TransactionWithMerchant<"withdraw">;
export type RecordWithMerchant = DepositWithMerchant | WithdrawalWithMerchant;

/** The statement of an operation's rows, with the names of their merchants. */
interface NamedSource {
  readonly select: string;
  readonly row: "d" | "t"; // has the columns that all kinds have
  readonly order: string; // the condition that names a record's order
}

const namedDeposits: NamedSource = {
  select: `SELECT ${depositFieldsSql}, merchants.name AS merchantName FROM deposits d CROSS JOIN merchants ON merchants.id = d.merchant`,
  row: "d",
  order: "d.orderId = ?",
};
const namedTransfers: NamedSource = {
  select: `SELECT ${transferFieldsSql}, merchants.name AS merchantName
    FROM transfers t CROSS JOIN merchants ON merchants.id = t.merchant ${transferPartsSql}`,
  row: "t",
  order:
    "t.id IN (SELECT id FROM withdrawals WHERE merchant IN (SELECT id FROM merchants) AND orderId = ?)",
};

const sourceOf = (operation: Operation): NamedSource =>
  operation === "deposit" ? namedDeposits : namedTransfers;

function readNamed<T extends Operation>(
  database: Database,
  sql: string,
  values: readonly SqlScalar[],
): readonly TransactionWithMerchant<T>[] {
  const rows = database.all<TransactionRow & MerchantName>(sql, ...values);
  return rows.map((row) => ({
    ...(narrowTransactionRow(row) as RowsByOperation[T]),
    merchantName: row.merchantName,
  }));
}

/** The conditions that a query names on the rows of an operation, as SQL with its values. */
function conditionsOf(
  query: Omit<TransactionQuery, "most" | "operations">,
  operation: Operation,
): readonly (readonly [string, SqlScalar])[] {
  const { merchant, status, stage, orderId, sinceMs, untilMs, isLate, isReorged, isHeld } = query;
  const { row, order } = sourceOf(operation);
  const flag = (isAsked: boolean | undefined): 1 | undefined => (isAsked === true ? 1 : undefined);
  const named: readonly (readonly [string, SqlScalar | undefined])[] = [
    ["t.operation IS ?", row === "t" ? operation : undefined],
    [`${row}.merchant = ?`, merchant],
    [`${row}.status = ?`, status],
    [`${row}.stage = ?`, stage],
    [`${row}.createdAt >= ?`, sinceMs],
    [`${row}.createdAt < ?`, untilMs],
    [row === "d" ? "d.late = ?" : "0 = ?", flag(isLate)],
    [`? = 1 AND ${row}.id IN (${undecidedDepositsSql})`, flag(isReorged)],
    [`? = 1 AND ${row}.id IN (SELECT transactionId FROM gapHolds)`, flag(isHeld)],
    [order, orderId],
    // The index of orders begins with the merchant.
    [
      `? IS NOT NULL AND ${row}.merchant IN (SELECT id FROM merchants)`,
      merchant === undefined ? orderId : undefined,
    ],
  ];
  return named.flatMap(([sql, value]) => (value === undefined ? [] : [[sql, value] as const]));
}

/**
 * The newest records of these operations, of one merchant by the time that they state, of all
 * merchants as their rows were made; in the order of their times, newest first.
 */
export function listTransactionsWithMerchant<T extends Operation>(
  database: Database,
  query: TransactionQuery<T>,
): readonly TransactionWithMerchant<T>[] {
  // The rows of one operation come in an order of the table; the lists are merged here.
  const lists = query.operations.map((operation) => {
    const conditions = conditionsOf(query, operation);
    const { select, row } = sourceOf(operation);
    return readNamed<T>(
      database,
      `${select} WHERE ${["TRUE", ...conditions.map(([sql]) => sql)].join(" AND ")}
       ORDER BY ${query.merchant === undefined ? `${row}.number DESC` : `${row}.createdAt DESC, ${row}.id`} LIMIT ?`,
      [...conditions.map(([, value]) => value), query.most],
    );
  });
  const merged = lists.flat().sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1));
  return merged.slice(0, query.most);
}

export function readTransactionWithMerchant<T extends "deposit" | "withdraw">(
  database: Database,
  operation: T,
  id: string,
): TransactionWithMerchant<T> | undefined {
  const sql =
    operation === "deposit"
      ? `${namedDeposits.select} WHERE d.id = ?`
      : `${namedTransfers.select} WHERE t.id = ? AND t.operation = 'withdraw'`;
  return readNamed<T>(database, sql, [id])[0];
}

/** The records of these ids, of any operation, newest first. */
export function readTransactionsWithMerchant(
  database: Database,
  ids: readonly string[],
): readonly TransactionWithMerchant[] {
  const of = ({ select, row }: NamedSource): string =>
    `${select} WHERE ${row}.id IN (SELECT value FROM json_each(?1))`;
  return readNamed(
    database,
    `${of(namedDeposits)} UNION ALL ${of(namedTransfers)} ORDER BY createdAt DESC, id`,
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
