/**
 * Ledger time: the time of every record, by which every limit is counted. It stands until the
 * handshake of this run. Then it follows the local clock, but never far ahead of the gateway's
 * newest signed time. So a clock that jumps begins no new day, and leaves no ledger permanently
 * ahead.
 *
 * The chains' blocks are the third clock, in case both others jump: blocks never advance ledger
 * time, but can stop it. Pure: clocks and reports are passed in. Source: docs/ledger.md section 2.
 */

/**
 * The largest difference between clocks. Beyond it, the signer takes nothing from the gateway, and
 * ledger time goes no further ahead.
 */
export const skewMaxMs = 600_000;

/**
 * The largest lead of both clocks over the newest block. A chain without a block for so long cannot
 * confirm the clocks, and nothing is decided or signed.
 */
export const blockAgeMaxMs = 3_600_000;

/** The times that this run has received. */
export interface ReceivedTimes {
  readonly handshakeDone: boolean;
  readonly orders: { readonly isWhole: boolean }; // a recovery offer for this run, whose time was checked like a welcome's
  readonly gatewayAt: number; // newest `at` of a verified envelope of this run
  readonly receivedAt: number; // monotonic time at which that envelope arrived
  // the most that a block's own time was ahead of the monotonic clock; -Infinity before the first
  readonly chainLeadMs: number;
}

/**
 * Returns the highest possible ledger time in whole milliseconds, 0 while it stands. Callers never
 * go below the newest record's own time. `localMs` is the local clock, `monotonicMs` is from the
 * same clock as `receivedAt`.
 */
export function ledgerTime(received: ReceivedTimes, localMs: number, monotonicMs: number): number {
  const { handshakeDone, orders } = received;
  if ((!handshakeDone && !orders.isWhole) || aheadOfBlocksMs(received, localMs, monotonicMs) > 0)
    return 0;
  return Math.floor(byClocks(received, localMs, monotonicMs));
}

/**
 * Returns the lead of both clocks over the newest block that the courier's nodes showed in this
 * run, continued by the monotonic clock. Returns 0 within `blockAgeMaxMs`, and without such a
 * block. The courier can only stop the signer with it.
 */
export function aheadOfBlocksMs(
  received: ReceivedTimes,
  localMs: number,
  monotonicMs: number,
): number {
  const aheadMs = byClocks(received, localMs, monotonicMs) - (received.chainLeadMs + monotonicMs);
  return Number.isFinite(received.chainLeadMs) && aheadMs > blockAgeMaxMs ? Math.floor(aheadMs) : 0;
}

function byClocks(
  { gatewayAt, receivedAt }: ReceivedTimes,
  localMs: number,
  monotonicMs: number,
): number {
  return gatewayAt === 0
    ? localMs
    : Math.min(localMs, gatewayAt + (monotonicMs - receivedAt) + skewMaxMs);
}
