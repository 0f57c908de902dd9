/** Records of all merchants, each with its merchant's name, for the operator's lists. */
import type { PaymentRow, TransactionRow } from "./rows.ts";
import type { Database } from "./store.ts";

export interface TransactionQuery {
  readonly operation: "deposit" | "withdraw";
  readonly merchant: string | null; // null: all merchants
  readonly status: number | null;
  readonly orderId: string | null;
  readonly isLate: boolean; // only deposits with a payment after their end
  readonly most: number;
}

export type NamedTransaction = TransactionRow & { readonly merchantName: string };

/** Records of one operation, newest first. */
export function listedTransactions(database: Database, query: TransactionQuery): readonly NamedTransaction[] {
  const { operation, merchant, status, orderId, isLate, most } = query;
  return database.all<NamedTransaction>(
    `SELECT transactions.*, merchants.name AS merchantName FROM transactions JOIN merchants ON merchants.id = transactions.merchant
     WHERE operation = ? AND (? IS NULL OR merchant = ?) AND (? IS NULL OR status = ?) AND (? IS NULL OR orderId = ?) AND late >= ?
     ORDER BY transactions.createdAt DESC, transactions.id LIMIT ?`,
    ...[operation, merchant, merchant, status, status, orderId, orderId, isLate ? 1 : 0, most],
  );
}

export function namedTransaction(
  database: Database,
  operation: "deposit" | "withdraw",
  id: string,
): NamedTransaction | undefined {
  const sql = `SELECT transactions.*, merchants.name AS merchantName FROM transactions
    JOIN merchants ON merchants.id = transactions.merchant WHERE transactions.id = ? AND operation = ?`;
  return database.get<NamedTransaction>(sql, id, operation);
}

/** All payments seen on a deposit's address, including other currencies. */
export function listPaymentsTo(database: Database, transactionId: string): readonly PaymentRow[] {
  return database.all<PaymentRow>(
    "SELECT * FROM payments WHERE transactionId = ? ORDER BY block, txHash, logIndex",
    transactionId,
  );
}
