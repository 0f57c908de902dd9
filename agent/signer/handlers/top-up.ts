/**
 * A sweep and its top-up, whose orderId is the sweep's id. On a chain with exclusion by expiry, no
 * attempt of one is begun while a block may still take the other: an address has only one of the
 * two at a time. Touches nothing.
 */

import { type Refusal, refuse } from "../../../base/fault.ts";
import { expiryExclusionOf, saySlot } from "../../../chains/families.ts";
import { deriveOrderTransactionId } from "../../../protocol/identity.ts";
import { operationOf } from "../../../protocol/job-mode.ts";
import type { Job } from "../../../protocol/messages.ts";
import type { RecordBody } from "../../ledger/records.ts";
import { isFinal, nextState } from "../state/machine.ts";
import { isOver, type Withdrawal } from "../state/withdrawal.ts";
import type { RequestContext } from "./context.ts";

/**
 * Returns the open sweep of a top-up: of the same currency, from exactly the address that the
 * top-up fills. Without such a sweep, the coins would stay at the address unnoticed.
 */
export function openSweepOfTopUp({ core }: RequestContext, topUp: Job): Withdrawal | null {
  const sweep = core.book.find(topUp.orderId);
  if (sweep === undefined || isFinal(sweep.state)) return null;
  const fields = ["network", "currency", "depositIndex", "depositAddress"] as const;
  return sweep.job.mode === "sweep" && fields.every((field) => sweep.job[field] === topUp[field])
    ? sweep
    : null;
}

/**
 * The refusal of a withdrawal, and of the sweep of a refused top-up, which gets no coins; the
 * gateway may then order another sweep.
 */
export function refusalRecordsOf(
  context: RequestContext,
  job: Job,
  refused: RefusedRecord,
): readonly RecordBody[] {
  const sweep = job.mode === "topup" ? openSweepOfTopUp(context, job) : null;
  if (sweep === null || nextState(sweep.state, "refused") === null) return [refused];
  return [refused, { ...refused, transactionId: sweep.transactionId }];
}

type RefusedRecord = Extract<RecordBody, { kind: "REFUSED" }>;

/**
 * The records that end withdrawals without a payment. A top-up takes its sweep along, because that
 * one gets no coins and would wait until it expires; the gateway may then order both again.
 */
export function expiryRecordsOf(
  context: RequestContext,
  ended: readonly Withdrawal[],
): readonly RecordBody[] {
  const sweeps = ended.flatMap(({ job }) =>
    job.mode === "topup" ? (openSweepOfTopUp(context, job) ?? []) : [],
  );
  const unsigned = sweeps.filter(({ state }) => nextState(state, "expired") !== null);
  const ids = new Set([...ended, ...unsigned].map(({ transactionId }) => transactionId));
  return [...ids].map((transactionId) => ({ kind: "EXPIRED", transactionId }));
}

/**
 * Gives the reason why a sweep or a top-up gets no new attempt yet, or null. A sweep waits for the
 * end of its top-up. A top-up waits only for recorded attempts of its sweep, so the two never wait
 * for each other without end. An end counts only if the gateway has reported it too, because a
 * courier may lie. Always null on a chain with excluding slots: no block takes a sweep before its
 * coins are there.
 */
export function refuseIfTopUpOverlaps(
  context: RequestContext,
  { job, transactionId }: Withdrawal,
): Refusal | null {
  if (expiryExclusionOf(job.network) === null) return null;
  if (job.mode === "sweep") {
    const topUp = context.core.book.openOne(topUpIdOf(context, transactionId));
    return topUp === undefined || isOver(topUp) ? null : other(topUp, "is open");
  }
  const sweep = job.mode === "topup" ? context.core.book.openOne(job.orderId) : undefined;
  if (sweep === undefined || isOver(sweep)) return null;
  // A recorded attempt without a signature counts too: the signer will still sign it.
  return sweep.attempts.every(({ voidBy }) => voidBy === "both")
    ? null
    : other(sweep, "may come into a block");
}

function topUpIdOf({ core }: RequestContext, orderId: string): string {
  const { merchant } = core.paired;
  return deriveOrderTransactionId({ merchant, operation: operationOf("topup"), orderId });
}

function other({ transactionId, job, slot }: Withdrawal, why: string): Refusal {
  const place = slot === "" ? "" : ` on ${saySlot(job.network, slot)}`;
  return refuse("SWEEP_OR_TOPUP_OPEN", `${job.mode} ${transactionId}${place} ${why}`);
}
