/** Asks many questions with a bound on those at the same time. Touches nothing itself. */

/** Runs `job` over all items, at most `width` at a time, in order of the items. */
export async function mapWithLimit<T, R>(
  items: readonly T[],
  width: number,
  job: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (let next = 0; next < items.length; next += width) {
    results.push(...(await Promise.all(items.slice(next, next + width).map(job))));
  }
  return results;
}
