/** The signer in numbers, as it answers `tell`. Types and their limits. */

/**
 * Upper bounds of the buckets that syncs are counted in, milliseconds; one more bucket has what
 * took longer.
 * @public
 */
export const syncBucketsMs = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000] as const;

/** @public */
export interface SyncSummary {
  readonly counts: readonly number[]; // one a bucket, each for itself
  readonly sumUs: number;
}

/**
 * The signer in numbers, for the courier's metrics and notices: nothing that a hostile courier
 * could use.
 * @public
 */
export interface SignerSummary {
  readonly counts: Readonly<Record<string, number>>; // by WithdrawalState
  // by WithdrawalState, since the oldest came into a state that is not final
  readonly oldestMs: Readonly<Record<string, number>>;
  /** Used of each limit, millionths; -1 where there is no such limit. */
  readonly limits: readonly {
    readonly currency: string;
    readonly hour: number;
    readonly day: number;
    readonly feesDay: number;
  }[];
  readonly records: number;
  readonly acked: number;
  readonly startedAt: number;
  readonly freeBytes: number; // -1 when it cannot be told
  readonly freeBytesMin: number;
  readonly residentBytes: number;
  readonly syncs: SyncSummary;
  readonly configDiffers: boolean; // the courier goes by another config.json
}
