/**
 * Derives one price from the sources: the median of the sources that agree, if they are at least
 * two and more than half. The other sources are left out, each with a reason. Pure; time is passed
 * in.
 */
import type { SourceName } from "../config/price-settings.ts";
import type { StatedPrice } from "./markets.ts";

/**
 * The reason why a source does not count. `silent`: no price lately. `stuck`: no trade there
 * lately. `outlier`: the others agree on another price. `split`: no group agrees. `alone`: there is
 * no second source.
 */
export type SourceRejection = "" | "silent" | "stuck" | "outlier" | "split" | "alone";

export interface PriceReading extends StatedPrice {
  readonly source: SourceName;
  readonly readAtMs: number;
  readonly markSinceMs: number; // when its mark was first read
}

export interface JudgeRules {
  // The highest price that counts is at most this much above the lowest.
  readonly guardPercent: number;
  readonly readingMsMax: number; // age of a reading that counts
  readonly stuckMs: number; // time without a trade, also by the source's own clock, after which a price is stuck
}

export interface JudgedPrice {
  readonly price: bigint | null; // null: no price
  readonly atMs: number; // the second newest reading time of the sources that count; 0 without a price
  readonly leftOut: ReadonlyMap<SourceName, SourceRejection>; // "" if it counts
}

/**
 * True if a time lies more than `ageMsMax` back. So far ahead as well: it was kept while this
 * machine's clock was ahead, and nobody knows how old it is.
 */
export function isOlder(atMs: number, ageMsMax: number, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) > ageMsMax;
}

/** The time that a reading is about: its newest known trade. */
export function readingTimeOf({ atMs, markSinceMs }: PriceReading): number {
  return Math.min(markSinceMs, atMs ?? markSinceMs);
}

function fault(reading: PriceReading, rules: JudgeRules, nowMs: number): SourceRejection {
  if (isOlder(reading.readAtMs, rules.readingMsMax, nowMs)) return "silent";
  return nowMs - readingTimeOf(reading) > rules.stuckMs ? "stuck" : "";
}

/**
 * The largest group of neighbours within the guard; of two equally large groups, the narrower.
 * `sorted` is by price, and not empty.
 */
function agreeing(sorted: readonly PriceReading[], guardPercent: number): readonly PriceReading[] {
  const ceiling = BigInt(100 + guardPercent);
  let best: readonly PriceReading[] = [];
  const width = (run: readonly PriceReading[]): bigint =>
    (run.at(-1)?.price ?? 0n) - (run[0]?.price ?? 0n);
  for (const [place, lowest] of sorted.entries()) {
    const run = sorted.slice(place).filter(({ price }) => price * 100n <= lowest.price * ceiling);
    if (run.length > best.length || (run.length === best.length && width(run) < width(best)))
      best = run;
  }
  return best;
}

function medianOf(sorted: readonly PriceReading[]): bigint {
  const lower = sorted[(sorted.length - 1) >> 1]?.price ?? 0n;
  const upper = sorted[sorted.length >> 1]?.price ?? 0n;
  return (lower + upper) / 2n;
}

/** The newest time at which two sources had agreed. */
function agreedAt(group: readonly PriceReading[]): number {
  const [, second = 0] = group.map(({ readAtMs }) => readAtMs).sort((a, b) => b - a);
  return second;
}

export function judgePrice(
  readings: readonly PriceReading[],
  rules: JudgeRules,
  nowMs: number,
): JudgedPrice {
  const leftOut = new Map<SourceName, SourceRejection>(
    readings.map((one) => [one.source, fault(one, rules, nowMs)]),
  );
  const good = readings.filter(({ source }) => leftOut.get(source) === "");
  const sorted = [...good].sort((a, b) => (a.price < b.price ? -1 : Number(a.price > b.price)));
  const group = agreeing(sorted, rules.guardPercent);
  const enough = group.length >= 2 && group.length * 2 > good.length;
  const why: SourceRejection = good.length === 1 ? "alone" : enough ? "outlier" : "split";
  for (const one of good) if (!enough || !group.includes(one)) leftOut.set(one.source, why);
  return enough
    ? { price: medianOf(group), atMs: agreedAt(group), leftOut }
    : { price: null, atMs: 0, leftOut };
}
