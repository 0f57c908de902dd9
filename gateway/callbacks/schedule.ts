/**
 * Computes when a failed delivery is tried again: pure. Uses the configured delays, each a little
 * longer by chance, so that receivers that failed together are not tried together. A receiver's
 * later Retry-After replaces the delay. A target that takes an event again gets extra tries of its
 * waiting events, which use up nothing of their schedule. Sources: Standard Webhooks, retries; RFC
 * 9110 section 10.2.3 (Retry-After).
 */

/** The longest wait that a receiver may ask for. */
const retryAfterMsMax = 86_400_000;
const jitterShare = 0.2;

/** @returns when to try again, in milliseconds since 1970; null if it is given up */
export function nextTry(
  retryMs: readonly number[],
  failed: {
    readonly tries: number; // including this try
    readonly nowMs: number;
    readonly retryAfterMs: number; // 0 if the receiver named none
    readonly chance: number; // 0 to 1
  },
): number | null {
  const delayMs = retryMs[failed.tries - 1];
  if (delayMs === undefined) return null;
  return (
    failed.nowMs +
    Math.max(Math.trunc(delayMs * (1 + jitterShare * failed.chance)), failed.retryAfterMs)
  );
}

/**
 * Part of the wait until the scheduled try that passes after a failed extra try before another one.
 */
const restShare = 0.1;

/**
 * The times of a delivery whose extra try failed: the schedule stays, unless the receiver asks for
 * more time. An event that one receiver never takes is so tried ten times more often at most.
 */
export function afterExtraTry(failed: {
  readonly scheduledAt: number;
  readonly nowMs: number;
  readonly retryAfterMs: number; // 0 if the receiver named none
}): { readonly nextAt: number; readonly restUntil: number } {
  const { scheduledAt, nowMs, retryAfterMs } = failed;
  const nextAt = Math.max(scheduledAt, nowMs + retryAfterMs);
  return {
    nextAt,
    restUntil: nowMs + Math.max(retryAfterMs, Math.trunc((nextAt - nowMs) * restShare)),
  };
}

/**
 * A Retry-After header in milliseconds from now, at most a day; 0 if it is absent, in the past or
 * unreadable.
 */
export function retryAfterOf(header: string | undefined, nowMs: number): number {
  if (header === undefined) return 0;
  const waitMs = /^\d{1,10}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - nowMs;
  return Number.isNaN(waitMs) ? 0 : Math.min(Math.max(0, waitMs), retryAfterMsMax);
}
