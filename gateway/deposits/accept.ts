/**
 * Takes an expired deposit as paid by a person's word: the shop's by its key, or the operator's.
 * Only final money in the request's own currency counts. It is the only way from Failed to
 * Completed. Source: docs/api.md, Accept a late or short payment.
 */
import { type Answer, dataAnswer, problemAnswer } from "../answer/answer.ts";
import { writeRecord } from "../answer/record.ts";
import type { Service } from "../service.ts";
import { recordAct } from "../store/audit.ts";
import { completeExpiredDeposit } from "../store/deposits.ts";
import { isCancelledByShop, isPaidByOtherChoice } from "../store/invoices.ts";
import type { DepositRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { readDeposit, readTransactionOf, refundedUnits } from "../store/transactions.ts";
import { isPaidBy } from "../watcher/payments.ts";

/** Why a deposit cannot be taken as paid. */
export type AcceptProblem =
  | "open" // it may still complete by itself
  | "completed" // by itself
  | "invoice_paid" // another currency has paid its invoice
  | "cancelled" // the shop cancelled it
  | "unasked" // no request asked for the money
  | "nothing" // nothing final was paid in its currency
  | "returned" // refunds pay all of it back
  | "short" // less was paid than it asked for
  | "short_after_refund"; // less was paid and not paid back

/**
 * The problem of a request that received so much; null for none. Money that refunds pay back counts
 * for nothing.
 */
export function findShortfall(
  database: Database,
  row: Pick<DepositRow, "id" | "invoice" | "code" | "units" | "toleranceUnits">,
  receivedUnits: bigint,
  isShortFine: boolean,
): AcceptProblem | null {
  if (isPaidByOtherChoice(database, row)) return "invoice_paid";
  if (isCancelledByShop(database, row)) return "cancelled";
  const backUnits = refundedUnits(database, row.id);
  if (receivedUnits <= backUnits) return receivedUnits === 0n ? "nothing" : "returned";
  if (isPaidBy(database, row, receivedUnits) || isShortFine) return null;
  return backUnits > 0n ? "short_after_refund" : "short";
}

export interface AcceptOrder {
  readonly isShortFine: boolean; // less than the amount is enough
  readonly reason: string; // for the audit
  readonly actor: string; // "operator", or the id of a key
  readonly nowMs: number;
}

/**
 * Makes an expired deposit Completed, inside the caller's transaction, and keeps who said so.
 * Returns the problem of one that cannot be taken; nothing is written then.
 */
export function acceptExpiredDeposit(
  database: Database,
  row: DepositRow,
  { isShortFine, reason, actor, nowMs }: AcceptOrder,
): AcceptProblem | null {
  const problem = findProblem(database, row, isShortFine);
  if (problem !== null) return problem;
  completeExpiredDeposit(database, row.id, nowMs);
  recordAct(database, {
    at: nowMs,
    actor,
    act: "deposit credited",
    subject: row.id,
    detail: reason,
  });
  return null;
}

function findProblem(
  database: Database,
  row: DepositRow,
  isShortFine: boolean,
): AcceptProblem | null {
  if (row.status === 1) return "completed";
  if (row.status === 0) return "open";
  return findShortfall(database, row, BigInt(row.receivedUnits), isShortFine);
}

/** A shop's key accepts a deposit of its merchant. */
export interface AcceptRequest {
  readonly merchant: string;
  readonly keyId: string;
  readonly transactionId: string;
  readonly reason: string;
  readonly isShortFine: boolean;
  readonly write: <T>(fn: (database: Database) => T) => Promise<T>; // resolves when it is durable
}

/** The reasons that a shop reads; an operator reads them apart. */
const shownReasons: Readonly<Partial<Record<AcceptProblem, string>>> = {
  returned: "nothing",
  short_after_refund: "short",
};

/**
 * Answers with the record of the accepted deposit, 404 for an unknown one, or 409 `not_acceptable`
 * with the reason. Harmless to call twice: a deposit that was accepted is answered again.
 */
export async function acceptDeposit(service: Service, request: AcceptRequest): Promise<Answer> {
  const { merchant, keyId, transactionId: id, reason, isShortFine } = request;
  const outcome = await request.write((database): AcceptProblem | "unknown" | null => {
    const row = readTransactionOf(database, { id, merchant, operation: "deposit" });
    if (row?.operation !== "deposit") return "unknown";
    if (row.origin === "unattributed") return "unasked";
    if (row.status === 1 && row.acceptedAt !== null) return null;
    const how = { isShortFine, reason, actor: keyId, nowMs: service.clock() };
    return acceptExpiredDeposit(database, row, how);
  });
  if (outcome === "unknown") return problemAnswer("transaction_not_found");
  if (outcome !== null)
    return problemAnswer("not_acceptable", {
      transactionId: id,
      reason: shownReasons[outcome] ?? outcome,
    });
  const row = readDeposit(service.store.database, id);
  return row === undefined
    ? problemAnswer("transaction_not_found")
    : dataAnswer(writeRecord(row, service, (record) => record));
}
