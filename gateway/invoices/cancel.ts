/**
 * cancelRequest: a shop ends an invoice, or a deposit request, for which nothing was paid. Money
 * that comes afterwards is late. Source: docs/api.md, Cancel a request.
 */
import { type Answer, dataAnswer, isAnswer, problemAnswer } from "../answer/answer.ts";
import type { Service } from "../service.ts";
import { listArrivingPayments } from "../store/arriving.ts";
import { recordAct } from "../store/audit.ts";
import { cancelDeposit, endInvoice, listChoices, readInvoiceOf } from "../store/invoices.ts";
import type { DepositRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { readTransactionOf } from "../store/transactions.ts";
import { mayBePaid } from "../withdrawals/renewal.ts";

export interface CancelRequestOrder {
  readonly merchant: string;
  readonly keyId: string; // whose word it is, for the audit
  /** The id of an invoice, or of a deposit. */
  readonly subject: { readonly invoice: string } | { readonly transactionId: string };
  readonly write: <T>(fn: (database: Database) => T) => Promise<T>; // resolves when it is durable
}

const isPaid = (database: Database, row: DepositRow): boolean =>
  mayBePaid(database, row) || listArrivingPayments(database, row.id).length > 0;

interface CancelSubjectOf {
  readonly id: string;
  readonly merchant: string;
  readonly keyId: string;
}

const recordCancel = (database: Database, { id, keyId }: CancelSubjectOf, at: number): void =>
  recordAct(database, { at, actor: keyId, act: "request cancelled", subject: id, detail: "" });

/** Null: it is cancelled now. */
function cancelInvoice(
  { clock }: Service,
  database: Database,
  { id, merchant, keyId }: CancelSubjectOf,
): Answer | null {
  const row = readInvoiceOf(database, { id, merchant });
  if (row === undefined) return problemAnswer("invoice_not_found");
  if (row.code === "invoice_cancelled") return null;
  const refuse = (reason: string): Answer =>
    problemAnswer("not_cancellable", { invoice: id, reason });
  if (row.status !== 0) return refuse(row.status === 1 ? "completed" : "ended");
  const choices = listChoices(database, id);
  if (choices.some((one) => isPaid(database, one))) return refuse("paid");
  const at = clock();
  endInvoice(database, id, { code: "invoice_cancelled", at });
  for (const one of choices) cancelDeposit(database, one.id, { code: "deposit_cancelled", at });
  recordCancel(database, { id, merchant, keyId }, at);
  return null;
}

/** Null: it is cancelled now. */
function cancelDepositRequest(
  { clock }: Service,
  database: Database,
  { id, merchant, keyId }: CancelSubjectOf,
): Answer | null {
  const row = readTransactionOf(database, { id, merchant, operation: "deposit" });
  if (row === undefined) return problemAnswer("transaction_not_found");
  const refuse = (reason: string): Answer =>
    problemAnswer("not_cancellable", { transactionId: id, reason });
  if (row.invoice !== "") return refuse("invoice");
  if (row.code === "deposit_cancelled") return null;
  if (row.status !== 0) return refuse(row.status === 1 ? "completed" : "ended");
  if (row.origin === "unattributed" || isPaid(database, row)) return refuse("paid");
  const at = clock();
  cancelDeposit(database, id, { code: "deposit_cancelled", at });
  recordCancel(database, { id, merchant, keyId }, at);
  return null;
}

/**
 * Answers 404 for what is unknown, and 409 `not_cancellable` with the reason: `completed`, `ended`,
 * `paid` as soon as any money was seen, `invoice` for a choice of one. Harmless to call twice.
 */
export async function cancelRequest(
  service: Service,
  { merchant, keyId, subject, write }: CancelRequestOrder,
): Promise<Answer> {
  const refusal = await write((database) =>
    "invoice" in subject
      ? cancelInvoice(service, database, { id: subject.invoice, merchant, keyId })
      : cancelDepositRequest(service, database, { id: subject.transactionId, merchant, keyId }),
  );
  return isAnswer(refusal) ? refusal : dataAnswer({ ...subject, cancelled: true });
}
