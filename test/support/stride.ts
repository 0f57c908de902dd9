/**
 * The share of an exhaustive loop that this run takes: every place in the long tier, else each
 * tenth from an offset that the run's seed draws, so that the quick tier sees every place in time.
 * The seed goes into what a failing test says.
 */
import { SeededRandom, seedsOfRun } from "../../lab/kit/seeded.ts";
import { isLongTier } from "../../lab/kit/share.ts";

export interface Stride {
  readonly seed: number;
  /** The first place of the loop. */
  readonly first: number;
  /** From one place to the next. */
  readonly step: number;
}

export function strideOfRun(quickStep = 10): Stride {
  const seed = seedsOfRun(1)[0] as number;
  return isLongTier
    ? { seed, first: 0, step: 1 }
    : { seed, first: new SeededRandom(seed).below(quickStep), step: quickStep };
}

/** The places 0 … count - 1 that the stride meets. */
export function* places(count: number, { first, step }: Stride): Generator<number> {
  for (let at = first; at < count; at += step) yield at;
}
