/** How a ledger is opened: its disk, its seal, its clock and its sizes. */
import type { LedgerDisk } from "./disk.ts";
import type { LedgerSeal } from "./seal.ts";

/**
 * A segment this long wants a successor: about 4,100 withdrawals, read back in well under a second.
 * @public
 */
export const segmentBytesDefault = 16 * 1024 * 1024;
/**
 * Free space below which nothing new is bound: what is open already must still be recorded to its
 * end.
 * @public
 */
export const roomBytesDefault = 64 * 1024 * 1024;

/** @public */
export interface LedgerOptions {
  readonly disk: LedgerDisk;
  readonly seal: LedgerSeal; // of the wallet whose ledger it is
  readonly clock: () => number; // milliseconds since 1970
  readonly segmentBytesMax?: number;
  readonly roomBytesMin?: number;
}
