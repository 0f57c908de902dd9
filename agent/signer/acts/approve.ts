/**
 * An operator approves a held withdrawal. The signer records the approval only after the handshake,
 * because ledger time stands before it. Touches nothing; records go through the `Turn`.
 */

import { refuse } from "../../../base/fault.ts";
import { saySlot } from "../../../chains/families.ts";
import { contestedCode } from "../state/bindings.ts";
import { canonicalAddress } from "../state/content.ts";
import { confirmationOf } from "../state/digest.ts";
import { isFinal } from "../state/machine.ts";
import { isCancelling } from "../state/withdrawal.ts";
import { isAsBefore } from "./kept.ts";
import { closedGate, type Done, type Turn } from "./run.ts";

/** An operator's decision. */
interface Yes {
  readonly transactionId: string;
  readonly digest: string; // digest of the operator's view
  readonly address: string; // "" if the withdrawal has one
  readonly approver: string; // the name that the operator gave
  readonly expected: string; // digest of the withdrawal as it is now
}

/**
 * Approves a held withdrawal. `digest` is that of the view that the operator saw; `address` is the
 * destination if the withdrawal has none, else "". Every limit still applies, and a withdrawal
 * above a limit stays held. If the amount needs two people, the first approval is recorded and the
 * withdrawal stays held until another name approves the same content. The same approval twice is
 * harmless.
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
  if (isBound && isCancelling(withdrawal)) return refuse("WITHDRAWAL_CANCELLING");
  if (withdrawal.code === contestedCode) return refuse("SLOT_CONTESTED", saySlot(withdrawal.job.network, withdrawal.slot));
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

/** True if two names differ at most in upper and lower case; such names are one person. */
function isSameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
