/** How far ahead of the addresses that left ceilings are held (ceilings.ts). */

/**
 * Places between two ceilings. An agent that is away blocks nothing before its step is used up.
 * @public
 */
export const ceilingStep = 1_000;

/**
 * How far an account jumps where nothing outside the database says how far it was used: so many
 * places, or as many as were ever used where that is more. Their addresses
 * are derived by and by (skipped-addresses.ts), which takes a minute or two, once.
 * @public
 */
export const farPlaces = 10_000;

/**
 * No ledger holds a ceiling so far above the addresses that this database counts: a shop does not
 * hand out a million of them between a backup and its restore. Deriving them takes an hour.
 * @public
 */
export const ceilingAheadMax = 1_000_000;
