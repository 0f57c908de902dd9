/**
 * The gateway's word that nothing on the chain pays a withdrawal already. On chains without counts
 * neither a slot nor a nonce excludes a payment that both sides forgot when they were restored, so
 * no attempt that excludes no earlier one is made without this word of the run. Touches nothing.
 * Source: docs/protocol.md section 6.8.
 */
import { type Refusal, refuse } from "../../../base/fault.ts";
import { familyOf } from "../../../chains/families.ts";
import { isInternalMode } from "../../../protocol/job-mode.ts";
import type { Withdrawal } from "../state/withdrawal.ts";
import type { RequestContext } from "./context.ts";

/**
 * Returns why a withdrawal gets no such attempt now, or null. A sweep or a top-up needs no word:
 * its money stays the merchant's.
 */
export function refuseIfUncleared(
  { run, monotonicMs }: RequestContext,
  { transactionId, job }: Withdrawal,
): Refusal | null {
  if (familyOf(job.network).slots.isCounted || isInternalMode(job.mode)) return null;
  return run.sightings.clears(transactionId, monotonicMs) ? null : refuse("WITHDRAWAL_UNCLEARED");
}
