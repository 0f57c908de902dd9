/**
 * The one knob of the two tiers of tests. `npm test` runs a tenth of each loop of random or
 * exhaustive values; `npm run test:long` (`TEST_TIER=long`) runs all of them.
 */

/** Whether this run is the long tier. */
export const isLongTier = process.env.TEST_TIER === "long";

/**
 * Rounds of a loop in this tier: all of them in the long one, else `quick`, which is a tenth and
 * at least one unless the caller knows better. A loop over several shapes gives at least one
 * round for each of them.
 */
export function share(rounds: number, quick = Math.max(1, Math.floor(rounds / 10))): number {
  return isLongTier ? rounds : Math.min(rounds, quick);
}

/**
 * Rows of a table in this tier: all in the long one, else every `step`th from `first` on. `first`
 * is drawn by the caller from the seed that it prints, so that the quick tier sees each row in
 * time.
 */
export function shareOf<Row>(rows: readonly Row[], step = 10, first = 0): readonly Row[] {
  return isLongTier ? rows : rows.filter((_, at) => at % step === first % step);
}
