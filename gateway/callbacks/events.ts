/**
 * Derives the events from a change of a record: pure. Every deposit ends in one `deposit.completed`
 * or `deposit.expired`, every withdrawal in one `withdrawal.completed` or `withdrawal.failed`; an
 * operator can turn a Failed end into Completed, and revoke a deposit that was Completed, which
 * have their events. The other events report the
 * progress, or add details to an end. Source: docs/api.md, Callbacks, has
 * each with its meaning.
 */
import type { DeliveryRank } from "../store/callback-deliveries.ts";
import type { RecordChange, RecordState } from "../store/callback-outbox.ts";
import { revokedStage } from "../store/gone-payments.ts";

/** In the order of docs/api.md. */
export const eventTypes = [
  "deposit.detected",
  "deposit.partial",
  "deposit.below_minimum",
  "deposit.completed",
  "deposit.overpaid",
  "deposit.expired",
  "deposit.late",
  "deposit.reorged",
  "deposit.revoked",
  "deposit.unattributed",
  "withdrawal.created",
  "withdrawal.approved",
  "withdrawal.rejected",
  "withdrawal.broadcast",
  "withdrawal.completed",
  "withdrawal.failed",
  "invoice.chosen",
  "invoice.completed",
  "invoice.expired",
  "invoice.cancelled",
  "invoice.revoked",
  "invoice.exception",
] as const;
export type EventType = (typeof eventTypes)[number];

/**
 * The events after which no money of a record or an invoice is expected, or some came or left
 * without being expected: a shop that has these misses none.
 */
const endsOfMoney: ReadonlySet<string> = new Set<EventType>([
  "deposit.completed",
  "deposit.expired",
  "deposit.late",
  "deposit.revoked",
  "withdrawal.completed",
  "withdrawal.failed",
  "invoice.completed",
  "invoice.expired",
  "invoice.cancelled",
  "invoice.revoked",
  "invoice.exception",
]);

/** The rank of an event among those that are due at the same time. */
export const rankOf = (type: string): DeliveryRank => (endsOfMoney.has(type) ? 0 : 1);

/** The event that `gateway callbacks test` sends, to a target with any filter. */
export const testType = "webhook.test";

/** Facts that the change alone does not have. */
export interface EventContext {
  readonly minPaymentUnits: bigint; // for the record's currency; 0n if the configuration no longer has it
  readonly surplusToleranceUnits: bigint; // so much above a deposit's amount is no overpayment
  readonly refundedUnits: bigint; // of a deposit, by refunds that were ordered before the change
  readonly wasBroadcast: boolean; // withdrawal.broadcast was sent before
}

/** The progress of a deposit, by stage. */
const seenBy: Readonly<Record<string, number>> = { waiting: 0, seen: 1, partial: 1, confirming: 2 };

/** The gateway's operator may hold an order back before the agent's operator sees it. */
const waitsForPerson: ReadonlySet<string> = new Set(["awaiting_approval", "awaiting_operator"]);

const onItsWay: ReadonlySet<string> = new Set(["broadcast", "confirming"]);

/** @returns the change's events in the order of sending; empty for a change without an event */
export function eventsOf(
  change: Omit<RecordChange, "id">,
  circumstances: EventContext,
): readonly EventType[] {
  const { row, before, payment } = change;
  if (payment !== null) return ["deposit.unattributed"];
  if (before === null) return row.operation === "withdraw" ? ["withdrawal.created"] : [];
  return row.operation === "withdraw"
    ? withdrawalEvents(before, row, circumstances)
    : depositEvents(before, row, BigInt(row.units ?? 0), circumstances);
}

function withdrawalEvents(
  before: RecordState,
  after: RecordState,
  { wasBroadcast }: EventContext,
): readonly EventType[] {
  // An operator may name the transaction that paid an order after it had failed.
  if (before.status !== 0)
    return before.status === 2 && after.status === 1 ? ["withdrawal.completed"] : [];
  if (after.status === 1) return ["withdrawal.completed"];
  // A refusal, by an operator or by policy, has its own event, and ends the withdrawal like any
  // other failure.
  if (after.status === 2)
    return after.stage === "refused"
      ? ["withdrawal.rejected", "withdrawal.failed"]
      : ["withdrawal.failed"];
  const isApproved = before.stage === "awaiting_approval" && !waitsForPerson.has(after.stage);
  const isBroadcast = onItsWay.has(after.stage) && !onItsWay.has(before.stage) && !wasBroadcast;
  return [
    ...(isApproved ? (["withdrawal.approved"] as const) : []),
    ...(isBroadcast ? (["withdrawal.broadcast"] as const) : []),
  ];
}

function depositEvents(
  before: RecordState,
  after: RecordState,
  amountUnits: bigint,
  { minPaymentUnits, surplusToleranceUnits, refundedUnits }: EventContext,
): readonly EventType[] {
  const receivedUnits = BigInt(after.receivedUnits);
  const isMore = receivedUnits > BigInt(before.receivedUnits);
  const types: EventType[] = [];
  if (before.status !== 0) {
    if (before.status === 1 && after.status === 2) return ["deposit.revoked"];
    // A payment that an operator revoked and that a block has again came in time.
    const isBack = before.stage === revokedStage && after.status === 1;
    if (isMore && !isBack) types.push("deposit.late");
    if (before.status === 2 && after.status === 1) types.push("deposit.completed");
    if (before.status === 1 && receivedUnits < BigInt(before.receivedUnits))
      types.push("deposit.reorged");
    return types;
  }
  if (after.status === 1)
    return receivedUnits - refundedUnits > amountUnits + surplusToleranceUnits
      ? ["deposit.completed", "deposit.overpaid"]
      : ["deposit.completed"];
  if (after.status === 2) return ["deposit.expired"];
  const [seenBefore = 0, seenNow = 0] = [seenBy[before.stage], seenBy[after.stage]];
  if (seenNow < seenBefore) types.push("deposit.reorged");
  if (seenBefore === 0 && seenNow > 0) types.push("deposit.detected");
  if (isMore) types.push("deposit.partial");
  if (isMore && receivedUnits < minPaymentUnits) types.push("deposit.below_minimum");
  return types;
}

/** The events of a choice that are a person's business as well, so that they are the invoice's. */
const exceptionsOfChoice: ReadonlySet<string> = new Set<EventType>([
  "deposit.late",
  "deposit.overpaid",
  "deposit.unattributed",
]);

/** True if an event of a choice makes an `invoice.exception`. */
export const isExceptionOfChoice = (type: EventType): boolean => exceptionsOfChoice.has(type);
