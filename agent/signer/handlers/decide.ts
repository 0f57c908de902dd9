/**
 * Turns policy's decision into a record, and ends or reconsiders withdrawals by time. A withdrawal
 * that ran out ends, and after a delay a held withdrawal is judged again. The signer records either
 * only after the handshake. Touches nothing; records go through the `RequestContext`.
 */
import type { RecordBody } from "../../ledger/records.ts";
import type { Decision } from "../policy/policy.ts";
import { isFinal, nextState } from "../state/machine.ts";
import { isHeldByRecovery, type Withdrawal } from "../state/withdrawal.ts";
import { type RequestContext, refuseIfGateClosed } from "./context.ts";
import { mayEndVoidWithdrawal } from "./expiry-exclusion.ts";
import { judgeKept } from "./restored-slots.ts";
import { expiryRecordsOf } from "./top-up.ts";

/** Returns policy's decision as the record that follows. */
export function decisionBody(transactionId: string, decision: Decision): RecordBody {
  switch (decision.decision) {
    case "approve":
      return decision.body;
    case "hold":
      return { kind: "HELD", transactionId, code: decision.code };
    case "refuse":
      return { kind: "REFUSED", transactionId, by: "policy", approver: "", code: decision.code };
  }
}

/**
 * Ends each withdrawal that ran out before it had a slot, held or approved, or after every attempt
 * was void (`mayEndVoidWithdrawal`). Returns the ended withdrawals.
 *
 * Time ends nothing during the hold of a recovery, nor a withdrawal that a recovery held. Ledger
 * and gateway may both have forgotten a payment, and an end would state that none will ever be
 * made.
 */
export function expireWithdrawals(context: RequestContext): readonly Withdrawal[] {
  if (refuseIfGateClosed(context) !== null) return [];
  const { nowMs } = context;
  const { isHolding } = context.core;
  const ended: Withdrawal[] = [];
  for (const withdrawal of context.core.book.open()) {
    if (isHeldByRecovery(withdrawal)) continue;
    if (mayEndVoidWithdrawal(context, withdrawal)) ended.push(withdrawal);
    if (
      nowMs > withdrawal.job.expiresAt &&
      !isHolding &&
      nextState(withdrawal.state, "expired") !== null
    )
      ended.push(withdrawal);
  }
  if (ended.length > 0) context.commit(expiryRecordsOf(context, ended));
  return ended;
}

/**
 * Judges each withdrawal again after its delay, by the present rules and sums, like a new job. A
 * withdrawal waits longer if this run's rules have a longer delay. Returns the judged withdrawals.
 */
export function reconsiderWithdrawals(context: RequestContext): readonly Withdrawal[] {
  const { core } = context;
  if (
    core.book.count("held") + core.book.count("quarantined") === 0 ||
    refuseIfGateClosed(context) !== null
  )
    return [];
  const due: Withdrawal[] = [];
  for (const withdrawal of core.book.open()) {
    const { code, job, requestedAt } = withdrawal;
    if (code !== "POLICY_NEW_DESTINATION_DELAY" || isFinal(withdrawal.state)) continue;
    if (context.nowMs >= core.policy.delayEndsAt(job.currency, requestedAt)) due.push(withdrawal);
  }
  // Judged one by one: each approval reduces the room that the hour and the day leave for the next.
  for (const withdrawal of due) {
    const { transactionId, job, requestedAt, state } = withdrawal;
    const judged = (): RecordBody =>
      decisionBody(transactionId, core.policy.judge(job, requestedAt, context.nowMs));
    context.commit([state === "quarantined" ? judgeKept(context, withdrawal) : judged()]);
  }
  return due;
}
