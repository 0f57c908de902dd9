/** Medians, percentiles and rounding, as every part of the bench takes them. */

/** The mean of the middle two for an even number, because the better of two rounds is no median. */
export function median(list: readonly number[]): number {
  const sorted = [...list].sort((a, b) => a - b);
  const [low, high] = [
    sorted[Math.ceil(list.length / 2) - 1] ?? 0,
    sorted[Math.floor(list.length / 2)] ?? 0,
  ];
  return (low + high) / 2;
}

/** The value that `share` of the list does not exceed (0 to 1); 0 for an empty list. */
export function percentile(list: readonly number[], share: number): number {
  return [...list].sort((a, b) => a - b)[Math.max(0, Math.ceil(list.length * share) - 1)] ?? 0;
}

/**
 * Events a second between the 10th and the 90th percentile of their times, given in milliseconds:
 * without the beginning and the end of a load, which last as long for few events as for many. 0 if
 * both are at one time. Events that come together, as those of one block, count whole.
 */
export function steadyRate(timesMs: readonly number[]): number {
  const [from, to] = [percentile(timesMs, 0.1), percentile(timesMs, 0.9)];
  const between = timesMs.filter((at) => at > from && at <= to).length;
  return to > from ? (1_000 * between) / (to - from) : 0;
}

export const rounded = (figure: number, digits: number): number =>
  Math.round(figure * 10 ** digits) / 10 ** digits;
