/**
 * Final outgoing transactions that no signature explains, each with the withdrawal that it paid, as
 * an operator says. While the withdrawal is open, the row waits for the agent's refusal, so that
 * nothing can be signed for the withdrawal afterwards. A signature of the withdrawal removes the
 * row.
 */
import type { OutgoingRow } from "./rows.ts";
import type { Database } from "./store.ts";

export interface PaymentAssignedToWithdrawal
  extends Pick<OutgoingRow, "network" | "account" | "txHash" | "block"> {
  readonly transactionId: string;
  readonly feeUnits: string; // what it cost, in the coin that pays fees
  readonly at: number; // when the operator assigned it
}

/** The table's constraints also check: one payment per withdrawal, one withdrawal per payment. */
export function insertAssigned(database: Database, row: PaymentAssignedToWithdrawal): void {
  const { transactionId, network, account, txHash, block, feeUnits, at } = row;
  database.run(
    "INSERT INTO assignedPayments (transactionId, network, account, txHash, block, feeUnits, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
    ...[transactionId, network, account, txHash, block, feeUnits, at],
  );
}

/** True if there is any. */
export function hasAssigned(database: Database): boolean {
  return database.get("SELECT 1 FROM assignedPayments LIMIT 1") !== undefined;
}

/** The payment that was assigned to a withdrawal. */
export function readAssignedPayment(
  database: Database,
  transactionId: string,
): PaymentAssignedToWithdrawal | undefined {
  return database.get<PaymentAssignedToWithdrawal>(
    "SELECT * FROM assignedPayments WHERE transactionId = ?",
    transactionId,
  );
}

/** The withdrawal to which a transaction of an account was assigned. */
export function withdrawalOfAssignedPayment(
  database: Database,
  { account, txHash }: Pick<PaymentAssignedToWithdrawal, "account" | "txHash">,
): string | undefined {
  const sql = "SELECT transactionId FROM assignedPayments WHERE txHash = ? AND account = ?";
  return database.get<{ transactionId: string }>(sql, txHash, account)?.transactionId;
}
