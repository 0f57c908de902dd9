/**
 * Ledger time: what every record is stamped with and every limit is counted by. It stands while no
 * gateway has greeted this run, and then follows the local clock, but never far ahead of what the
 * gateway last signed: a clock that jumps opens no new day and leaves no ledger that is ahead for
 * ever. Pure: clocks and what was heard come in. Source: docs/ledger.md section 2.
 */

/**
 * Clocks may be apart by this much: beyond it the signer takes nothing of the gateway's, and ledger
 * time goes no further ahead.
 * @public
 */
export const skewMaxMs = 600_000;

/** What this run has heard of the gateway's time. */
export interface Heard {
  readonly greeted: boolean;
  readonly orders: { readonly isWhole: boolean }; // a recovery order for this run, whose time was verified as a greeting's is
  readonly gatewayAt: number; // newest `at` of a verified envelope of this run
  readonly heardAt: number; // monotonic, when that came
}

/**
 * How far ledger time may have come, whole milliseconds, 0 while it stands. The newest record's own
 * time is the floor under it, wherever it is used. `localMs` is the local clock, `monotonicMs` of
 * the same clock as `heardAt`.
 * @public
 */
export function ledgerTime({ greeted, orders, gatewayAt, heardAt }: Heard, localMs: number, monotonicMs: number): number {
  return greeted || orders.isWhole ? Math.floor(Math.min(localMs, gatewayAt + (monotonicMs - heardAt) + skewMaxMs)) : 0;
}
