/**
 * What policy does not decide by itself: for which reason a withdrawal waits for a person or for its time, and what that person should
 * know of its destination. Touches nothing.
 */
import type { Code } from "../../../protocol/codes.ts";
import type { Job } from "../../../protocol/messages.ts";
import type { Destinations, Paid } from "./destinations.ts";
import type { Limits } from "./rules.ts";

/** What a hold goes by, in the agent's own terms. Both times are ledger time. */
interface Held {
  readonly limits: Limits;
  readonly units: bigint;
  readonly mode: Job["mode"];
  readonly network: string;
  readonly address: string; // EIP-55, "" while there is none
  readonly requestedAt: number;
  readonly nowMs: number;
}

/** Why policy says no yes by itself, the most alarming reason first; null when it may. */
export function heldFor({ limits, units, mode, network, address, requestedAt, nowMs }: Held, paid: Destinations): Code | null {
  if (likenessOf(network, address, limits, paid) !== null) return "POLICY_LOOKALIKE";
  if (mode === "manual") return "POLICY_MANUAL";
  if (isAbove(units, limits.holdAboveUnits)) return "POLICY_HOLD_ABOVE";
  const fresh = paid.isNew(network, address) ? limits.newDestination : null;
  if (fresh !== null && isAbove(units, fresh.holdAboveUnits)) return "POLICY_NEW_DESTINATION";
  if (isAbove(units, limits.twoApproversAboveUnits)) return "POLICY_TWO_APPROVERS";
  return fresh !== null && nowMs < requestedAt + fresh.delayMs ? "POLICY_NEW_DESTINATION_DELAY" : null;
}

/** The paid destination that an address could be taken for. Whoever wrote one into the allow list has looked at all of it. */
export function likenessOf(network: string, address: string, limits: Limits | undefined, paid: Destinations): Paid | null {
  return limits?.allow.has(address) === true ? null : paid.likeness(network, address);
}

export function isAbove(units: bigint, mostUnits: bigint | null): boolean {
  return mostUnits !== null && units > mostUnits;
}
