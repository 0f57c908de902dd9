/**
 * One price out of what the sources say: those that agree, when they are two or more and more than
 * half, and of them the median. The others are left out, each with the reason. Pure; time is passed
 * in.
 */
import type { SourceName } from "../price-settings.ts";
import type { Said } from "./markets.ts";

/**
 * Why a source does not count: `silent` it has given no price lately, `stuck` nothing has moved
 * there, `outlier` the others agree on another price, `split` no group of them agrees, `alone`
 * there is no second one.
 * @public
 */
export type LeftOut = "" | "silent" | "stuck" | "outlier" | "split" | "alone";

/** @public */
export interface Reading extends Said {
  readonly source: SourceName;
  readonly readAtMs: number;
  readonly markSinceMs: number; // when its mark was first seen
}

/** @public */
export interface JudgeRules {
  // the highest price that counts is at most so much above the lowest
  readonly guardPercent: number;
  readonly readingMsMax: number; // age of a reading that counts
  readonly stuckMs: number; // time without a trade, or by the source's own clock, after which a price is stuck
}

/** @public */
export interface Judged {
  readonly price: bigint | null; // null: nothing can be said
  readonly atMs: number; // when the second of those that count last said so; 0 without a price
  readonly leftOut: ReadonlyMap<SourceName, LeftOut>; // "" counts
}

/**
 * The moment of which a reading speaks: the newest trade that is known of.
 * @public
 */
export function momentOf({ atMs, markSinceMs }: Reading): number {
  return Math.min(markSinceMs, atMs ?? markSinceMs);
}

function fault(reading: Reading, rules: JudgeRules, nowMs: number): LeftOut {
  if (nowMs - reading.readAtMs > rules.readingMsMax) return "silent";
  return nowMs - momentOf(reading) > rules.stuckMs ? "stuck" : "";
}

/**
 * The largest run of neighbours that lie within the guard; of two as large, the narrower. `sorted`
 * is by price, and not empty.
 */
function agreeing(sorted: readonly Reading[], guardPercent: number): readonly Reading[] {
  const ceiling = BigInt(100 + guardPercent);
  let best: readonly Reading[] = [];
  const width = (run: readonly Reading[]): bigint => (run.at(-1)?.price ?? 0n) - (run[0]?.price ?? 0n);
  for (const [place, lowest] of sorted.entries()) {
    const run = sorted.slice(place).filter(({ price }) => price * 100n <= lowest.price * ceiling);
    if (run.length > best.length || (run.length === best.length && width(run) < width(best))) best = run;
  }
  return best;
}

function medianOf(sorted: readonly Reading[]): bigint {
  const lower = sorted[(sorted.length - 1) >> 1]?.price ?? 0n;
  const upper = sorted[sorted.length >> 1]?.price ?? 0n;
  return (lower + upper) / 2n;
}

/** The newest moment at which two of them had said so. */
function agreedAt(group: readonly Reading[]): number {
  const [, second = 0] = group.map(({ readAtMs }) => readAtMs).sort((a, b) => b - a);
  return second;
}

/** @public */
export function judge(readings: readonly Reading[], rules: JudgeRules, nowMs: number): Judged {
  const leftOut = new Map<SourceName, LeftOut>(readings.map((one) => [one.source, fault(one, rules, nowMs)]));
  const good = readings.filter(({ source }) => leftOut.get(source) === "");
  const sorted = [...good].sort((a, b) => (a.price < b.price ? -1 : Number(a.price > b.price)));
  const group = agreeing(sorted, rules.guardPercent);
  const enough = group.length >= 2 && group.length * 2 > good.length;
  const why: LeftOut = good.length === 1 ? "alone" : enough ? "outlier" : "split";
  for (const one of good) if (!enough || !group.includes(one)) leftOut.set(one.source, why);
  return enough ? { price: medianOf(group), atMs: agreedAt(group), leftOut } : { price: null, atMs: 0, leftOut };
}
