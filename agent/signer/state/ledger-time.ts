/**
 * Ledger time: what every record is stamped with and every limit is counted by. It stands while no
 * gateway has greeted this run, and then follows the local clock, but never far ahead of what the
 * gateway last signed: a clock that jumps opens no new day and leaves no ledger that is ahead for
 * ever. The chains' blocks are the third witness for two clocks that jump: they let no time pass,
 * they only stop it. Pure: clocks and what was heard come in. Source: docs/ledger.md section
 * 2.
 */

/**
 * Clocks may be apart by this much: beyond it the signer takes nothing of the gateway's, and ledger
 * time goes no further ahead.
 * @public
 */
export const skewMaxMs = 600_000;

/**
 * Both clocks may be ahead of the newest block by this much: a chain that had no block for so long
 * is no witness that they are right, and nothing is decided or signed.
 * @public
 */
export const blockAgeMaxMs = 3_600_000;

/** What this run has heard of the gateway's time. */
export interface Heard {
  readonly greeted: boolean;
  readonly orders: { readonly isWhole: boolean }; // a recovery order for this run, whose time was verified as a greeting's is
  readonly gatewayAt: number; // newest `at` of a verified envelope of this run
  readonly heardAt: number; // monotonic, when that came
  // most that a block's own time was ahead of the monotonic clock; -Infinity before the first
  readonly chainLeadMs: number;
}

/**
 * How far ledger time may have come, whole milliseconds, 0 while it stands. The newest record's own
 * time is the floor under it, wherever it is used. `localMs` is the local clock, `monotonicMs` of
 * the same clock as `heardAt`.
 * @public
 */
export function ledgerTime(heard: Heard, localMs: number, monotonicMs: number): number {
  const { greeted, orders } = heard;
  if ((!greeted && !orders.isWhole) || aheadOfBlocksMs(heard, localMs, monotonicMs) > 0) return 0;
  return Math.floor(byClocks(heard, localMs, monotonicMs));
}

/**
 * By how much both clocks are ahead of the newest block that the courier's nodes showed in this
 * run, carried on by the clock that only goes on; 0 within `blockAgeMaxMs`, and where no node
 * showed one. The courier can only stop the signer by it.
 * @public
 */
export function aheadOfBlocksMs(heard: Heard, localMs: number, monotonicMs: number): number {
  const aheadMs = byClocks(heard, localMs, monotonicMs) - (heard.chainLeadMs + monotonicMs);
  return Number.isFinite(heard.chainLeadMs) && aheadMs > blockAgeMaxMs ? Math.floor(aheadMs) : 0;
}

function byClocks({ gatewayAt, heardAt }: Heard, localMs: number, monotonicMs: number): number {
  return gatewayAt === 0 ? localMs : Math.min(localMs, gatewayAt + (monotonicMs - heardAt) + skewMaxMs);
}
