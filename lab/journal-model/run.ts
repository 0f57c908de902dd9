/**
 * Histories in a row, on a world of this process. A tree with a mutant is bundled from here.
 */
import { makeHistory } from "./histories.ts";
import { type Failure, play, shrink } from "./play.ts";
import { cast, deposits, GatewayWorld } from "./world.ts";

/** A history that went apart. */
export interface FailedHistory extends Failure {
  readonly seed: number;
}

/** Hears of histories while they are played. */
export interface Listener {
  /** Called behind each history. @returns true to go on */
  onPlayed(seed: number, failure: Failure | null): boolean;
}

/**
 * Plays the histories of seeds from `from` on, at most `most`.
 * @returns how many were played
 */
export async function playHistories(
  { from, most }: { readonly from: number; readonly most: number },
  { onPlayed }: Listener,
): Promise<number> {
  const world = new GatewayWorld();
  try {
    for (let seed = from; seed < from + most; seed += 1) {
      const { steps, pictures } = makeHistory(cast, deposits, seed);
      const failure = await play(cast, world, steps, pictures);
      if (!onPlayed(seed, failure)) return seed - from + 1;
    }
    return most;
  } finally {
    world.close();
  }
}

/** The first history that goes apart, not made small; null if none of them does. */
export async function findFailure(range: {
  readonly from: number;
  readonly most: number;
}): Promise<FailedHistory | null> {
  let found: FailedHistory | null = null;
  await playHistories(range, {
    onPlayed(seed, failure) {
      if (failure !== null) found = { seed, ...failure };
      return failure === null;
    },
  });
  return found;
}

/** The failure of a history with as few steps as can be found. */
export async function shrinkFailure(failure: Failure): Promise<Failure> {
  const world = new GatewayWorld();
  try {
    return await shrink(cast, world, failure);
  } finally {
    world.close();
  }
}
