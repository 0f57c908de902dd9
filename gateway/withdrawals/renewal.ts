/**
 * Renewal: an ended request is asked for again under the same orderId, explicitly and by its
 * transactionId. So each ended record has one successor at most, and a repeat finds it. Nothing is
 * renewed that was paid, may still be paid or is open. Runs in the transaction that makes the
 * successor. Source: docs/api.md, Renew an ended request.
 */
import { type Answer, problemAnswer } from "../answer/answer.ts";
import { endedSlotUnreachableCode } from "../store/below-beginning.ts";
import { hasGivenUpGapSince } from "../store/gap-holds.ts";
import { findOpenGapSince } from "../store/gaps.ts";
import { listGonePaymentsOf } from "../store/gone-payments.ts";
import { hasPayment } from "../store/payments.ts";
import type { DepositRow, RecordRow, RowsByOperation } from "../store/rows.ts";
import { isSigned } from "../store/signatures.ts";
import type { Database } from "../store/store.ts";
import { listStraySumsOf } from "../store/stray-sums.ts";
import {
  type OrderPlace,
  type RecordOperation,
  readTransactionOf,
  recordOfOrder,
} from "../store/transactions.ts";
import { coinEndedCode } from "../store/unknown-coins.ts";
import { hasUnreadTransaction } from "../store/unread-transactions.ts";

/**
 * The ended record that an order renews; null for an order that renews none. Answers 400 for a
 * transactionId that is not of this order, 409 for other content and for a record that must not be
 * renewed.
 */
export function checkRenewal<T extends RecordOperation>(
  database: Database,
  place: OrderPlace<T>,
  contentHash: string,
): RowsByOperation[T] | null | Answer {
  const { merchant, operation, orderId, renews } = place;
  if (renews === "") return null;
  const row = readTransactionOf(database, { id: renews, merchant, operation });
  if (row === undefined || row.orderId !== orderId)
    return problemAnswer("renew_invalid", { field: "renew" });
  if (row.contentHash !== contentHash)
    return problemAnswer("order_id_reused", { transactionId: row.id });
  const reason = reasonAgainst(database, row);
  return reason === "" ? row : problemAnswer("not_renewable", { transactionId: row.id, reason });
}

/** The reason why a record must not be renewed; "" for none. */
function reasonAgainst(
  database: Database,
  row: RecordRow,
): "" | "open" | "completed" | "paid" | "signed" {
  if (row.status === 0) return "open";
  if (row.status === 1) return "completed";
  if (row.operation === "deposit") return mayBePaid(database, row) ? "paid" : "";
  // The agent lets no renewal of such a payment be paid beside it.
  if (row.code === coinEndedCode) return "";
  // No ledger ever takes those bytes: their sequence is below the account's first.
  if (row.code === endedSlotUnreachableCode) return "";
  // Bytes that were signed can be in anybody's hands, although the chain takes them no more.
  return isSigned(database, row.id) ? "signed" : "";
}

/**
 * True if a customer paid a deposit, late or not final yet, or may have: in a payment that is a
 * part of a sum, in a transaction that names the address and cannot be read, in blocks of its life
 * that no node has shown, or by one whose block left the chain and which may come again: it then
 * counts for this deposit. Nobody must be asked again for what was paid.
 */
export function mayBePaid(database: Database, row: DepositRow): boolean {
  const { id, network, currency, createdAt } = row;
  if (hasPayment(database, id) || row.receivedUnits !== "0") return true;
  if (
    listStraySumsOf(database, id, currency).length > 0 ||
    listGonePaymentsOf(database, id).length > 0
  )
    return true;
  const addresses = [...new Set([row.address, row.payTo])];
  return (
    addresses.some((address) => hasUnreadTransaction(database, network, address)) ||
    findOpenGapSince(database, network, addresses, createdAt) !== undefined ||
    hasGivenUpGapSince(database, network, addresses, createdAt)
  );
}

/** The links of a record to the one before and the one after it, as answers show them. */
export function renewalOf(
  database: Database,
  row: RecordRow,
): { readonly renews?: string; readonly renewedBy?: string } {
  const next = row.status === 2 ? recordOfOrder(database, { ...row, renews: row.id }) : undefined;
  return {
    ...(row.renews === "" ? {} : { renews: row.renews }),
    ...(next === undefined ? {} : { renewedBy: next.id }),
  };
}
