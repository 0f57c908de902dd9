/** The codes of withdrawals that no block takes, here and at the gateway. Touches nothing. */
import { isFirstSlotOnChain, pinExclusionOf } from "../../../chains/families.ts";
import { isInternalMode } from "../../../protocol/job-mode.ts";
import type { Job } from "../../../protocol/messages.ts";

/** A payment with a slot below its account's first. */
export const slotBelowFirstCode = "SLOT_UNREACHABLE";

/** The code of a withdrawal that the gateway names as unreachable. */
export function outOfReachCode({
  job,
}: {
  readonly job: Pick<Job, "network" | "mode">;
}): "SWEEP_UNREACHABLE" | "COIN_UNKNOWN" | typeof slotBelowFirstCode {
  if (pinExclusionOf(job.network) !== null) return "COIN_UNKNOWN";
  return isFirstSlotOnChain(job.network) && !isInternalMode(job.mode)
    ? slotBelowFirstCode
    : "SWEEP_UNREACHABLE";
}
