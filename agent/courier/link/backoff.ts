/**
 * The wait before the next try: exponential, with full jitter, so a thousand agents do not arrive
 * together after their gateway came back. Pure. Source: "Exponential Backoff And Jitter" (AWS
 * Architecture Blog, 2015), full jitter.
 */

export interface BackoffLimits {
  readonly baseMs: number; // the first wait is drawn from 0 … baseMs
  readonly capMs: number;
}

/** `attempt` counts failures since the last success, from 0; `random` is in [0, 1). */
export function backoffMs(attempt: number, random: number, limits: BackoffLimits): number {
  // 2^16 is past every cap. The bound keeps the product finite after a week of failures.
  const ceilingMs = Math.min(limits.capMs, limits.baseMs * 2 ** Math.min(attempt, 16));
  return Math.floor(random * ceilingMs);
}
