/**
 * An operator approves a held withdrawal. The signer records the approval only after the handshake,
 * because ledger time stands before it. Touches nothing; records go through the `RequestContext`.
 */

import { refuse } from "../../../base/fault.ts";
import { answerOfFirstGuard, type Guard } from "../../../base/guard.ts";
import { saySlot } from "../../../chains/families.ts";
import { canonicalAddress } from "../state/content.ts";
import { confirmationOf } from "../state/digest.ts";
import { isFinal } from "../state/machine.ts";
import { contestedCode } from "../state/slot-assignments.ts";
import { isCancelling, type Withdrawal } from "../state/withdrawal.ts";
import { type ActResult, type RequestContext, refuseIfGateClosed } from "./context.ts";
import { isSameApprovedPayment } from "./restored-slots.ts";

/** An operator's decision. */
interface ApprovalDecision {
  readonly transactionId: string;
  readonly digest: string; // digest of the operator's view
  readonly address: string; // "" if the withdrawal has one
  readonly approver: string; // the name that the operator gave
  readonly expected: string; // digest of the withdrawal as it is now
}

/** An operator's decision on a withdrawal, and the destination that it leads to. */
interface ApprovalRequest extends ApprovalDecision {
  readonly withdrawal: Withdrawal;
  readonly named: string; // the destination that is known, "" for none
}

const isHeld = ({ withdrawal: { state } }: ApprovalRequest): boolean =>
  state === "held" || state === "quarantined";

/** The reasons why a yes is not judged, in order. */
export const approveGuards: readonly Guard<ApprovalRequest, ActResult>[] = [
  [
    "the same yes again",
    (yes) => !isHeld(yes) && isSameYes(yes),
    ({ withdrawal }) => ({ ok: true, withdrawal }),
  ],
  [
    "not held",
    (yes) => !isHeld(yes),
    ({ withdrawal }) => refuse("WITHDRAWAL_NOT_HELD", withdrawal.state),
  ],
  [
    "cancelled",
    ({ withdrawal: one }) => one.state === "quarantined" && isCancelling(one),
    () => refuse("WITHDRAWAL_CANCELLING"),
  ],
  [
    "contested",
    ({ withdrawal }) => withdrawal.code === contestedCode,
    (yes) => refuse("SLOT_CONTESTED", slotOf(yes)),
  ],
  [
    "another view",
    (yes) => yes.digest !== yes.expected,
    () => refuse("WITHDRAWAL_DIGEST", "it is not what was shown"),
  ],
  [
    "another destination",
    (yes) => isElsewhere(yes),
    ({ named }) => refuse("WITHDRAWAL_HAS_ADDRESS", named),
  ],
  [
    "no destination",
    ({ named, address }) => named === "" && address === "",
    () => refuse("WITHDRAWAL_NEEDS_ADDRESS"),
  ],
];

const slotOf = ({ withdrawal: { job, slot } }: ApprovalRequest): string =>
  saySlot(job.network, slot);
const isElsewhere = ({ named, address, withdrawal: { job } }: ApprovalRequest): boolean =>
  named !== "" && address !== "" && canonicalAddress(job.network, address) !== named;

/**
 * Approves a held withdrawal. `digest` is that of the view that the operator saw; `address` is the
 * destination if the withdrawal has none, else "". Every limit still applies, and a withdrawal
 * above a limit stays held. If the amount needs two operators, the first approval is recorded and
 * the withdrawal stays held until another name approves the same content. The same approval twice
 * is harmless.
 */
export function approveWithdrawal(context: RequestContext, yes: ApprovalDecision): ActResult {
  // Before the handshake ledger time stands: a yes would count for the day of the newest record.
  const closed = refuseIfGateClosed(context);
  if (closed !== null) return closed;
  const { core } = context;
  const { transactionId, digest, address, approver, expected } = yes;
  const withdrawal = core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  const first = confirmationOf(withdrawal, expected);
  const named = withdrawal.address || (first?.address ?? "");
  const decided = answerOfFirstGuard(approveGuards, { ...yes, withdrawal, named });
  if (decided !== null) return decided;
  const isAssigned = withdrawal.state === "quarantined";
  const destination = named === "" ? address : named;
  const judged = core.policy.judgeHeld(
    withdrawal.job,
    { address: destination, approver },
    context.nowMs,
    isAssigned,
  );
  if (!judged.ok) return judged;
  const { body, needsTwo } = judged;
  if (isAssigned && !isSameApprovedPayment(withdrawal, body)) {
    return refuse(
      "POLICY_NOT_AS_APPROVED",
      "the currency's table changed since the slot was assigned",
    );
  }
  if (needsTwo && first === null)
    context.commit([{ kind: "CONFIRMED", transactionId, approver, digest, address: body.address }]);
  else if (!needsTwo || !isSameOperator(first?.approver ?? "", approver)) context.commit([body]);
  return { ok: true, withdrawal };
}

function isSameYes({
  withdrawal: { amountUnits, address: own, job, state },
  address,
}: ApprovalRequest): boolean {
  return (
    amountUnits !== "" &&
    (address === "" || canonicalAddress(job.network, address) === own) &&
    !isFinal(state)
  );
}

/** True if two names differ at most in upper and lower case; such names are one operator. */
export function isSameOperator(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
