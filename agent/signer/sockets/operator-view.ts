/**
 * Withdrawals as operators see them: the courier's view, and with it the order, its times and the
 * digest that an approval names. The runtime, which answers the courier, does not import this
 * module. Touches nothing.
 */
import { limitGroupOf } from "../../../protocol/job-mode.ts";
import type { OperatorView, WaitView } from "../../socket/verbs.ts";
import type { Policy } from "../policy/policy.ts";
import { canonicalAddress } from "../state/content.ts";
import { approvalDigestOf, confirmationOf } from "../state/digest.ts";
import { regardConfig } from "../state/in-force.ts";
import { courierViewOf, unitsOf } from "../state/view.ts";
import type { Withdrawal } from "../state/withdrawal.ts";

/** Returns one withdrawal. `approvalDigest` is "" unless an operator must decide. */
export function operatorViewOf(withdrawal: Withdrawal, policy: Policy): OperatorView {
  const { job, requestedAt, ordered } = withdrawal;
  const { awaited: _awaited, ...view } = courierViewOf(withdrawal, policy);
  const isWaiting = view.state === "held" || view.state === "quarantined";
  return {
    ...view,
    orderId: job.orderId,
    decimal: policy.asset(limitGroupOf(job))?.decimal ?? 0,
    requestedAt,
    expiresAt: job.expiresAt,
    ...(ordered?.act === "cancel" ? { isCancelling: true } : {}),
    approvalDigest: isWaiting ? approvalDigestOf(withdrawal, view.amountUnits) : "",
  };
}

/**
 * Returns the facts for the operator who decides; null if no decision is needed. `address` is the
 * destination that the operator would give to a withdrawal without one.
 */
export function waitOf(withdrawal: Withdrawal, policy: Policy, address = ""): WaitView | null {
  const { state, code, job, requestedAt } = withdrawal;
  if (state !== "held" && state !== "quarantined") return null;
  const first = confirmationOf(
    withdrawal,
    approvalDigestOf(withdrawal, unitsOf(withdrawal, policy)),
  );
  const destination =
    withdrawal.address || first?.address || canonicalAddress(job.network, address);
  return {
    until:
      code === "POLICY_NEW_DESTINATION_DELAY" ? policy.delayEndsAt(job.currency, requestedAt) : 0,
    ...regardConfig(policy, job, destination),
    confirmed:
      first === null ? null : { approver: first.approver, address: first.address, at: first.at },
  };
}
