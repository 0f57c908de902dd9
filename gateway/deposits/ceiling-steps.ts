/** How far ceilings are ahead of the addresses that left (ceilings.ts). */

/** Indexes between two ceilings. An agent that is away blocks nothing until its step is used up. */
export const ceilingStep = 1_000;

/**
 * How far an account jumps if nothing outside the database shows how far it was used: by this
 * number, or by the number of used indexes if higher. The skipped addresses are derived gradually
 * (skipped-addresses.ts), which takes a minute or two, only once.
 */
export const indexesJumpMin = 10_000;

/**
 * No ledger holds a ceiling this far above the database's count, because a shop does not give out a
 * million addresses between a backup and its restore. Deriving them takes an hour.
 */
export const ceilingAheadMax = 1_000_000;
