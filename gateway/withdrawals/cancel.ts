/**
 * A shop cancels a withdrawal that it no longer wants. The gateway alone cannot end one: its job
 * may be with the agent, and bytes may be signed. So the gateway keeps a recall, names it to the
 * agent, and the withdrawal ends with the refusal that the agent's signer recorded. Sources:
 * docs/api.md, Cancel a withdrawal; docs/protocol.md section 6.7.
 */
import { type Answer, dataAnswer, isAnswer, problemAnswer } from "../answer/answer.ts";
import type { Language } from "../answer/language.ts";
import { messageOf } from "../answer/messages.ts";
import type { Service } from "../service.ts";
import { agentOfJob } from "../store/jobs.ts";
import { keepRecall } from "../store/recalls.ts";
import type { RecordRow } from "../store/rows.ts";
import { isSigned } from "../store/signatures.ts";
import type { Database } from "../store/store.ts";
import { readTransactionOf } from "../store/transactions.ts";

export interface CancelRequest {
  readonly merchant: string;
  readonly transactionId: string;
  readonly language: Language;
  readonly write: <T>(fn: (database: Database) => T) => Promise<T>; // resolves when it is durable
}

const isCancelled = ({ status, code }: RecordRow): boolean =>
  status === 2 && code === "SHOP_CANCELLED";

/** Keeps the recall of an open withdrawal without a signature, or answers why there is none. */
function recall(
  service: Service,
  { merchant, write }: CancelRequest,
  id: string,
): Promise<RecordRow | Answer> {
  return write((database) => {
    const row =
      readTransactionOf(database, { id, merchant, operation: "withdraw" }) ??
      readTransactionOf(database, { id, merchant, operation: "deposit" });
    if (row === undefined) return problemAnswer("transaction_not_found");
    if (isCancelled(row)) return row;
    if (row.operation !== "withdraw" || row.status !== 0 || isSigned(database, id))
      return problemAnswer("not_cancellable", { transactionId: id });
    keepRecall(database, id, service.clock());
    return row;
  });
}

/**
 * Cancels a withdrawal, and waits a short time for the agent's word. Answers 200 with `cancelled`:
 * true if nothing will be paid, false while the agent has not answered and may still pay. Answers
 * 404 for an unknown transaction, 409 for one that is no open withdrawal or was signed. Harmless to
 * call twice.
 */
export async function cancelWithdrawal(service: Service, request: CancelRequest): Promise<Answer> {
  const { transactionId: id } = request;
  const { store, waiters, signals, config, log } = service;
  const row = await recall(service, request, id);
  if (isAnswer(row)) return row;
  if (!isCancelled(row)) {
    log.info(
      { event: "withdrawal-recalled", transactionId: id, merchant: row.merchant },
      "a shop recalls a withdrawal",
    );
    const agent = agentOfJob(store.database, id);
    if (agent !== undefined) {
      const changed = waiters.changed(
        { agent: agent.id, transactionId: id },
        config.limits.withdrawalWaitMs,
      );
      signals.emit("recall", { agent: agent.id });
      await changed;
    }
  }
  const now = readTransactionOf(store.database, row) ?? row;
  const { status, stage } = now;
  if (isSigned(store.database, id)) return problemAnswer("not_cancellable", { transactionId: id });
  // An operator may have named the transaction that paid it (operator/assigning.ts).
  if (status === 1) return problemAnswer("not_cancellable", { transactionId: id });
  const cancelled = isCancelled(now);
  const message = messageOf(
    cancelled ? "withdrawal_cancelled" : "cancel_requested",
    request.language,
  );
  return dataAnswer({ message, transactionId: id, cancelled, status, stage });
}
