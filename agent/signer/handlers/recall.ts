/**
 * A shop recalls a withdrawal that it no longer wants, and the gateway names it in every
 * acknowledgement while it is open. A recall can only prevent a payment, so it needs no operator.
 * Touches nothing; records go through the `RequestContext`. Source: docs/protocol.md section 6.7.
 */
import { isInternalMode } from "../../../protocol/job-mode.ts";
import type { Job } from "../../../protocol/messages.ts";
import type { RecordBody } from "../../ledger/records.ts";
import { nextState } from "../state/machine.ts";
import { isHeldByRecovery } from "../state/withdrawal.ts";
import type { RequestContext } from "./context.ts";

/** True for a payment to a receiver that its shop recalled, as the newest acknowledgement says. */
export function isRecalled(
  { run }: Pick<RequestContext, "run">,
  { mode, transactionId }: Job,
): boolean {
  return !isInternalMode(mode) && run.recalled.has(transactionId);
}

/** The refusal of a recalled withdrawal. */
export function recallRefusal(transactionId: string): Extract<RecordBody, { kind: "REFUSED" }> {
  return { kind: "REFUSED", transactionId, by: "shop", approver: "", code: "SHOP_CANCELLED" };
}

/**
 * Refuses each recalled withdrawal that has no slot, also while an operator's yes is awaited. One
 * with a slot goes on, because its bytes may be out. One that a recovery holds stays with the
 * operator: ledger and gateway may both have forgotten its payment, and a refusal would state that
 * there was none. Returns the refused withdrawals; a repeat refuses nothing more.
 */
export function refuseRecalled(context: RequestContext): readonly string[] {
  const refused = [...context.run.recalled].filter((transactionId) => {
    const withdrawal = context.core.book.openOne(transactionId);
    if (withdrawal === undefined || isHeldByRecovery(withdrawal)) return false;
    return isRecalled(context, withdrawal.job) && nextState(withdrawal.state, "refused") !== null;
  });
  if (refused.length > 0) context.commit(refused.map(recallRefusal));
  return refused;
}
