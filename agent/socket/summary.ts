/** The signer in numbers, as the answer to `tell`. Types and their limits. */

/**
 * Upper bounds of the buckets for sync times, milliseconds; one more bucket counts longer times.
 */
export const syncBucketsMs = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000] as const;

export interface SyncSummary {
  readonly counts: readonly number[]; // one for each bucket, not cumulative
  readonly sumUs: number;
}

/**
 * The signer in numbers, for the courier's metrics and alerts. A hostile courier has no use for
 * them.
 */
export interface SignerSummary {
  readonly counts: Readonly<Record<string, number>>; // by WithdrawalState
  // by WithdrawalState, since the oldest entered a state that is not final
  readonly oldestMs: Readonly<Record<string, number>>;
  /** Used part of each limit in millionths; -1 if there is no such limit. */
  readonly limits: readonly {
    readonly currency: string;
    readonly hour: number;
    readonly day: number;
    readonly feesDay: number;
  }[];
  readonly records: number;
  readonly acked: number;
  readonly startedAt: number;
  readonly freeBytes: number; // -1 if unknown
  readonly freeBytesMin: number;
  readonly residentBytes: number;
  readonly syncs: SyncSummary;
  readonly configDiffers: boolean; // the courier uses another config.json
}
