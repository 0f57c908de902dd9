/**
 * The state of a request in a payer's eyes: one of ten, a pure function of the facts. Payments
 * count here as soon as they are in a block, because a payer must not be asked for money that is on
 * its way.
 */
import { createHash } from "node:crypto";
import type { PayerFacts } from "./facts.ts";

export const payerStates = [
  "waiting",
  "seen",
  "short",
  "over",
  "completed",
  "expired",
  "expiredWithMoney",
  "late",
  "otherCoin",
  "outOfService",
] as const;
export type PayerState = (typeof payerStates)[number];

export const sumUnits = ({ finalUnits, seenUnits }: Pick<PayerFacts, "finalUnits" | "seenUnits">): bigint =>
  finalUnits + seenUnits;

/**
 * True after the end. The request itself may still be open then, until the blocks of its last
 * minute are read; but whoever sends now is late.
 */
export const isOver = ({ status, nowMs, expiresAt }: Pick<PayerFacts, "status" | "nowMs" | "expiresAt">): boolean =>
  status === 2 || (status === 0 && nowMs >= expiresAt);

export function stateOf(facts: PayerFacts): PayerState {
  const { status, amountUnits, toleranceUnits, others, isOut } = facts;
  const sum = sumUnits(facts);
  if (status === 1) return facts.finalUnits > amountUnits ? "over" : "completed";
  if (status === 0 && sum > 0n && sum >= amountUnits - toleranceUnits) return "seen";
  const hasOnlyOthers = sum === 0n && others.length > 0;
  if (isOver(facts)) {
    if (hasOnlyOthers) return "otherCoin";
    if (sum === 0n) return "expired";
    return facts.isLate || (status === 2 && facts.seenUnits > 0n) ? "late" : "expiredWithMoney";
  }
  if (isOut) return "outOfService";
  if (hasOnlyOthers) return "otherCoin";
  return sum > 0n ? "short" : "waiting";
}

/** True if the payer can still do what the request asks for. */
export function asksForMoney(facts: PayerFacts, state: PayerState): boolean {
  return !isOver(facts) && (state === "waiting" || state === "short" || state === "otherCoin");
}

/** The units that the payer has still to send. */
export function dueUnits(facts: PayerFacts): bigint {
  const left = facts.amountUnits - sumUnits(facts);
  return left > 0n ? left : 0n;
}

/** Seconds until the page looks for a change; 0 if nothing can change it any more. */
export function lookSeconds({ status, seenUnits }: PayerFacts): number {
  if (status === 0 || seenUnits > 0n) return 4;
  return status === 2 ? 60 : 0; // late money may still come
}

/** Changes with all that the page shows, but not with time alone. */
export function markOf(facts: PayerFacts): string {
  const { shop, contact, returnUrl, status, confirmations, others, isLate, isOut, txHash } = facts;
  const units = [facts.finalUnits, facts.seenUnits, facts.amountUnits].map(String);
  const parts = [stateOf(facts), shop, contact, returnUrl, status, confirmations, others, isLate, isOut, txHash, units];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
}
