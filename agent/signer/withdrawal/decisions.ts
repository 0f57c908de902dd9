/**
 * What a person or the clock decides: approve or refuse what is held, judge anew what a delay held, and let run out what was never
 * bound. Only a signer that the gateway has greeted writes any of it: a refusal and an expiry say "nothing was ever signed", which a
 * restored ledger may have forgotten. Touches nothing: records leave through the turn.
 */
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import type { RecordBody } from "../ledger/records.ts";
import type { Decision } from "../policy/policy.ts";
import { closedGate, type Turn } from "../run.ts";
import { canonicalAddress } from "./content.ts";
import { confirmationOf } from "./digest.ts";
import { isFinal, isHeldByRecovery, step, type Withdrawal } from "./withdrawal.ts";

type Done = { readonly ok: true; readonly withdrawal: Withdrawal } | Refusal;

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

/** A person's word. */
interface Yes {
  readonly transactionId: string;
  readonly digest: string; // of what they saw
  readonly address: string; // "" where the withdrawal has one
  readonly approver: string; // their name, as they gave it
  readonly expected: string; // digest of the withdrawal as it is
}

/**
 * A person's yes to a held withdrawal. `digest` is that of the view they saw; `address` is the destination when the withdrawal has
 * none, else "". Every limit still holds; what is above one stays held. Where the amount wants two people, the first yes is recorded and
 * the withdrawal stays as it is, and the second is another name's to the same content. The same yes twice is harmless.
 * @public
 */
export function approve(turn: Turn, { transactionId, digest, address, approver, expected }: Yes): Done {
  // Before the greeting ledger time stands: a yes would count for the day of the newest record.
  const closed = closedGate(turn);
  if (closed !== null) return closed;
  const { core } = turn;
  const withdrawal = core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  const isBound = withdrawal.state === "quarantined";
  if (withdrawal.state !== "held" && !isBound) {
    const isSame = withdrawal.amountUnits !== "" && (address === "" || canonicalAddress(address) === withdrawal.address);
    return isSame && !isFinal(withdrawal.state) ? { ok: true, withdrawal } : refuse("WITHDRAWAL_NOT_HELD", withdrawal.state);
  }
  if (digest !== expected) return refuse("WITHDRAWAL_DIGEST", "it is not what was shown");
  const first = confirmationOf(withdrawal, expected);
  const named = withdrawal.address || (first?.address ?? "");
  if (named !== "" && address !== "" && canonicalAddress(address) !== named) return refuse("WITHDRAWAL_HAS_ADDRESS", named);
  const destination = named === "" ? address : named;
  if (destination === "") return refuse("WITHDRAWAL_NEEDS_ADDRESS");
  const judged = core.policy.judgeHeld(withdrawal.job, { address: destination, approver }, turn.nowMs, isBound);
  if (!judged.ok) return judged;
  const { body, needsTwo } = judged;
  if (isBound && !isAsBefore(withdrawal, body)) {
    return refuse("POLICY_NOT_AS_APPROVED", "the currency's table changed since the token was bound");
  }
  if (needsTwo && first === null) turn.commit([{ kind: "CONFIRMED", transactionId, approver, digest, address: body.address }]);
  else if (!needsTwo || !isSameName(first?.approver ?? "", approver)) turn.commit([body]);
  return { ok: true, withdrawal };
}

/** Nobody becomes two people by another case of their letters. */
function isSameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** Versions made before a recovery pay what was approved then; a new yes cannot be to anything else. */
function isAsBefore(
  { amountUnits, contract, address, job }: Withdrawal,
  now: { readonly amountUnits: string; readonly contract: string; readonly address: string; readonly network: string },
): boolean {
  if (job.network !== now.network) return false;
  return amountUnits === "" || (amountUnits === now.amountUnits && contract === now.contract && address === now.address);
}

/**
 * A person's no, before a token is bound. Twice is harmless.
 * @public
 */
export function refuseByOperator(turn: Turn, transactionId: string, approver: string): Done {
  const closed = closedGate(turn);
  if (closed !== null) return closed;
  const withdrawal = turn.core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (withdrawal.state === "refused") return { ok: true, withdrawal };
  if (isFinal(withdrawal.state)) return refuse("WITHDRAWAL_CLOSED", withdrawal.state);
  if (step(withdrawal.state, "refused") === null) return refuse("WITHDRAWAL_BOUND", `nonce ${withdrawal.nonce}`);
  turn.commit([{ kind: "REFUSED", transactionId, by: "operator", approver, code: "OPERATOR_REFUSED" }]);
  return { ok: true, withdrawal };
}

/**
 * Ends what ran out before a token was bound, held or approved alike, and gives what it ended. Time ends nothing in a recovery, nor what
 * one has held: ledger and gateway may both have forgotten that it was paid, and its end would say that it never will be.
 * @public
 */
export function expire(turn: Turn): readonly Withdrawal[] {
  if (closedGate(turn) !== null || turn.core.recovery !== null) return [];
  const { nowMs } = turn;
  const ended: Withdrawal[] = [];
  for (const withdrawal of turn.core.book.open()) {
    if (isHeldByRecovery(withdrawal)) continue;
    if (nowMs > withdrawal.job.expiresAt && step(withdrawal.state, "expired") !== null) ended.push(withdrawal);
  }
  if (ended.length > 0) turn.commit(ended.map(({ transactionId }) => ({ kind: "EXPIRED", transactionId }) as const));
  return ended;
}

/**
 * Judges anew what a delay held, once it is over: by the rules and sums of that moment, as if it had just come. What the rules of this
 * run would let wait longer waits longer. Gives what it decided.
 * @public
 */
export function reconsider(turn: Turn): readonly Withdrawal[] {
  const { core } = turn;
  // A recovery holds all of these in its own name, so that no time decides them.
  if (core.book.count("held") === 0 || closedGate(turn) !== null) return [];
  const due: Withdrawal[] = [];
  for (const withdrawal of core.book.open()) {
    const { state, code, job, requestedAt } = withdrawal;
    if (state !== "held" || code !== "POLICY_NEW_DESTINATION_DELAY") continue;
    if (turn.nowMs >= core.policy.delayEndsAt(job.currency, requestedAt)) due.push(withdrawal);
  }
  // One by one: what the first takes of an hour or a day is not there for the next.
  for (const { transactionId, job, requestedAt } of due) {
    turn.commit([decisionBody(transactionId, core.policy.judge(job, requestedAt, turn.nowMs))]);
  }
  return due;
}
