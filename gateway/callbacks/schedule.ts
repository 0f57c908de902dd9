/**
 * When a failed delivery is tried again: pure. The configured delays, each a little longer by
 * chance so that receivers that fell together are not asked together; a receiver's own Retry-After
 * where that is later. Sources: Standard Webhooks, retries; RFC 9110 section 10.2.3 (Retry-After).
 */

/** The longest wait that a receiver may ask for. */
const retryAfterMsMax = 86_400_000;
const jitterShare = 0.2;

/** @returns when to try again, in milliseconds since 1970; null when it is given up */
export function nextTry(
  retryMs: readonly number[],
  failed: {
    readonly tries: number; // this one included
    readonly nowMs: number;
    readonly retryAfterMs: number; // 0 when the receiver named none
    readonly chance: number; // 0 to 1
  },
): number | null {
  const delayMs = retryMs[failed.tries - 1];
  if (delayMs === undefined) return null;
  return failed.nowMs + Math.max(Math.trunc(delayMs * (1 + jitterShare * failed.chance)), failed.retryAfterMs);
}

/**
 * A Retry-After header in milliseconds from now, at most a day; 0 for none, for the past and for
 * what cannot be read.
 */
export function retryAfterOf(header: string | undefined, nowMs: number): number {
  if (header === undefined) return 0;
  const waitMs = /^\d{1,10}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - nowMs;
  return Number.isNaN(waitMs) ? 0 : Math.min(Math.max(0, waitMs), retryAfterMsMax);
}
