/**
 * Decides why policy holds a withdrawal for an operator or for a time, and finds the paid
 * destination that its address resembles. Touches nothing.
 */
import type { Code } from "../../../base/codes.ts";
import type { Job } from "../../../protocol/messages.ts";
import type { LastPayment, PaidDestinations, Payee } from "./destinations.ts";
import type { Limits } from "./rules.ts";

/**
 * A job in the agent's own terms, its address canonical, "" while there is none. Both times are
 * ledger time.
 */
interface Candidate extends Payee, Pick<Job, "mode"> {
  readonly limits: Limits;
  readonly units: bigint;
  readonly requestedAt: number;
  readonly nowMs: number;
}

/** Returns the reason for a hold, the most alarming first; null if policy may approve by itself. */
export function holdReason(candidate: Candidate, paid: PaidDestinations): Code | null {
  const { limits, units, mode, requestedAt, nowMs } = candidate;
  if (findResembledDestination(candidate, limits, paid) !== null) return "POLICY_LOOKALIKE";
  if (mode === "manual") return "POLICY_MANUAL";
  if (isAbove(units, limits.holdAboveUnits)) return "POLICY_HOLD_ABOVE";
  const fresh = paid.isNew(candidate) ? limits.newDestination : null;
  if (fresh !== null && isAbove(units, fresh.holdAboveUnits)) return "POLICY_NEW_DESTINATION";
  if (isAbove(units, limits.twoApproversAboveUnits)) return "POLICY_TWO_APPROVERS";
  return fresh !== null && nowMs < requestedAt + fresh.delayMs
    ? "POLICY_NEW_DESTINATION_DELAY"
    : null;
}

/**
 * Returns the paid destination that an address resembles; none for an address on the allow list,
 * because an operator has read that address in full.
 */
export function findResembledDestination(
  payee: Payee,
  limits: Limits | undefined,
  paid: PaidDestinations,
): LastPayment | null {
  return limits?.allow.has(payee.address) === true ? null : paid.likeness(payee);
}

/** True if an amount is above a limit; null is no limit. */
export function isAbove(units: bigint, mostUnits: bigint | null): boolean {
  return mostUnits !== null && units > mostUnits;
}
