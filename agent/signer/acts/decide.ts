/**
 * Policy's word as a record, and the clock's: a withdrawal that ran out ends, one that a delay held
 * is judged anew. Only a signer that the gateway has greeted records either. Touches nothing:
 * records leave through the turn.
 */
import type { RecordBody } from "../../ledger/records.ts";
import type { Decision } from "../policy/policy.ts";
import { isFinal, step } from "../state/machine.ts";
import { isHeldByRecovery, type Withdrawal } from "../state/withdrawal.ts";
import { judgeKept } from "./kept.ts";
import { closedGate, type Turn } from "./run.ts";
import { hasRunOut } from "./waiting.ts";

/**
 * What policy decided, as the record that follows.
 * @public
 */
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
 * Ends what ran out before a token was bound, held or approved alike, or after every version was
 * dead (`hasRunOut`), and gives what it ended. Time ends nothing in a recovery, nor what one has
 * held: ledger and gateway may both have forgotten that it was paid, and its end would say that it
 * never will be.
 * @public
 */
export function expire(turn: Turn): readonly Withdrawal[] {
  if (closedGate(turn) !== null) return [];
  const { nowMs } = turn;
  const { isHolding } = turn.core;
  const ended: Withdrawal[] = [];
  for (const withdrawal of turn.core.book.open()) {
    if (isHeldByRecovery(withdrawal)) continue;
    if (hasRunOut(turn, withdrawal)) ended.push(withdrawal);
    if (nowMs > withdrawal.job.expiresAt && !isHolding && step(withdrawal.state, "expired") !== null) ended.push(withdrawal);
  }
  if (ended.length > 0) turn.commit(ended.map(({ transactionId }) => ({ kind: "EXPIRED", transactionId }) as const));
  return ended;
}

/**
 * Judges anew what a delay held, once it is over: by the rules and sums of that moment, as if it
 * had just come. What the rules of this run would let wait longer waits longer. Gives what it
 * decided.
 * @public
 */
export function reconsider(turn: Turn): readonly Withdrawal[] {
  const { core } = turn;
  if (core.book.count("held") + core.book.count("quarantined") === 0 || closedGate(turn) !== null) return [];
  const due: Withdrawal[] = [];
  for (const withdrawal of core.book.open()) {
    const { code, job, requestedAt } = withdrawal;
    if (code !== "POLICY_NEW_DESTINATION_DELAY" || isFinal(withdrawal.state)) continue;
    if (turn.nowMs >= core.policy.delayEndsAt(job.currency, requestedAt)) due.push(withdrawal);
  }
  // One by one: what the first takes of an hour or a day is not there for the next.
  for (const withdrawal of due) {
    const { transactionId, job, requestedAt, state } = withdrawal;
    const judged = (): RecordBody => decisionBody(transactionId, core.policy.judge(job, requestedAt, turn.nowMs));
    turn.commit([state === "quarantined" ? judgeKept(turn, withdrawal) : judged()]);
  }
  return due;
}
