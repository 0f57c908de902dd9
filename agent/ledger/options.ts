/** The options of a ledger: disk, seal, clock and sizes. */
import type { LedgerDisk } from "./folder.ts";
import type { LedgerSeal } from "./seal.ts";

/**
 * The length at which a segment gets a successor: about 4,100 withdrawals, read in well under a
 * second.
 */
export const segmentBytesDefault = 16 * 1024 * 1024;
/**
 * Free space below which no new slot is used: open withdrawals must still be recorded to their end.
 */
export const freeDiskBytesMinDefault = 64 * 1024 * 1024;

export interface LedgerOptions {
  readonly disk: LedgerDisk;
  readonly seal: LedgerSeal; // the seal of the ledger's own wallet
  readonly clock: () => number; // milliseconds since 1970
  readonly segmentBytesMax?: number;
  readonly roomBytesMin?: number;
}
