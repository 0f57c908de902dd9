/**
 * Measures how long the ledger's writes take until they are on disk, counted in buckets. Touches
 * nothing itself.
 */
import { type SyncSummary, syncBucketsMs } from "../socket/summary.ts";
import type { LedgerDisk } from "./folder.ts";

export interface TimedDisk {
  readonly disk: LedgerDisk;
  read(): SyncSummary;
}

/** Returns the same disk with timed appends. `monotonic` is in milliseconds. */
export function createTimedDisk(disk: LedgerDisk, monotonic: () => number): TimedDisk {
  const counts = [...syncBucketsMs, 0].map(() => 0);
  let sumUs = 0;
  const note = (ms: number): void => {
    const found = syncBucketsMs.findIndex((bound) => ms <= bound);
    const at = found === -1 ? syncBucketsMs.length : found;
    counts[at] = (counts[at] ?? 0) + 1;
    sumUs += Math.round(ms * 1000);
  };
  return {
    disk: {
      ...disk,
      open: (name) => {
        const file = disk.open(name);
        return {
          append(bytes, done) {
            const beganMs = monotonic();
            file.append(bytes, (error) => {
              if (error === null || error === undefined) note(monotonic() - beganMs);
              done(error);
            });
          },
          close: () => file.close(),
        };
      },
    },
    read: () => ({ counts: [...counts], sumUs }),
  };
}
