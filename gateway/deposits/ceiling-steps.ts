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
