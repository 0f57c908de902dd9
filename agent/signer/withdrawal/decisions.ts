/**
 * What a person or the clock decides: approve or refuse what is held, and let run out what was never bound. Only written by a signer
 * that the gateway has greeted: a refusal and an expiry say "nothing was ever signed", which a restored ledger may have forgotten.
 * Touches nothing: records leave through the turn.
 */
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import { closedGate, type Turn } from "../run.ts";
import { canonicalAddress } from "./content.ts";
import { isFinal, step, type Withdrawal } from "./withdrawal.ts";

type Done = { readonly ok: true; readonly withdrawal: Withdrawal } | Refusal;

/**
 * A person's yes to a held withdrawal. `digest` is that of the view they saw; `address` is the destination when the withdrawal has
 * none, else "". Every limit still holds; what is above one stays held. The same yes twice is harmless.
 * @public
 */
export function approve(
  turn: Turn,
  { transactionId, digest, address, expected }: { transactionId: string; digest: string; address: string; expected: string },
): Done {
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
  if (withdrawal.address !== "" && address !== "" && canonicalAddress(address) !== withdrawal.address) {
    return refuse("WITHDRAWAL_HAS_ADDRESS", withdrawal.address);
  }
  const destination = withdrawal.address === "" ? address : withdrawal.address;
  if (destination === "") return refuse("WITHDRAWAL_NEEDS_ADDRESS");
  const judged = core.policy.judgeHeld(withdrawal.job, destination, turn.nowMs, isBound);
  if (!judged.ok) return judged;
  if (isBound && !isAsBefore(withdrawal, judged.body)) {
    return refuse("POLICY_NOT_AS_APPROVED", "the currency's table changed since the token was bound");
  }
  turn.commit([judged.body]);
  return { ok: true, withdrawal };
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
export function refuseByOperator(turn: Turn, transactionId: string): Done {
  const closed = closedGate(turn);
  if (closed !== null) return closed;
  const withdrawal = turn.core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (withdrawal.state === "refused") return { ok: true, withdrawal };
  if (isFinal(withdrawal.state)) return refuse("WITHDRAWAL_CLOSED", withdrawal.state);
  if (step(withdrawal.state, "refused") === null) return refuse("WITHDRAWAL_BOUND", `nonce ${withdrawal.nonce}`);
  turn.commit([{ kind: "REFUSED", transactionId, by: "operator", code: "OPERATOR_REFUSED" }]);
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
    if (withdrawal.state === "held" && isOfRecovery(withdrawal.code)) continue;
    if (nowMs > withdrawal.job.expiresAt && step(withdrawal.state, "expired") !== null) ended.push(withdrawal);
  }
  if (ended.length > 0) turn.commit(ended.map(({ transactionId }) => ({ kind: "EXPIRED", transactionId }) as const));
  return ended;
}

function isOfRecovery(code: string): boolean {
  return code === "RECOVERY_HOLD" || code === "RECOVERY_SETTLED";
}
