/**
 * The runs of the stream `restored`, drawn by the seed: how many orders stand at which step when
 * both folders are copied, how many when the copies take their place again, and how it ends. Pure.
 */
import { type Random, seeded } from "../tally.ts";

/** Orders by the step that they have reached. */
export interface Standing {
  readonly paid: number; // final
  readonly held: number; // for an operator of the agent
  readonly onItsWay: number; // handed to the nodes, in no block
}

export interface RunPlan {
  readonly atCopy: Standing;
  readonly after: Standing; // orders that only the later state has
  /** An operator approves after the copy what was held at it. */
  readonly isApprovedAfter: boolean;
  /** Both sides end by SIGKILL, in place of SIGTERM. */
  readonly isKilled: boolean;
  /** No block comes from the last order until the shop has asked again. */
  readonly isAtRest: boolean;
  /** New orders of the content of one that was paid after the copy. */
  readonly alike: number;
}

const likely = 0.5;

/**
 * The plan of a run by its number, from 1; a run of less than one forgotten payment has no sense.
 */
export function planOf(seed: string, run: number): RunPlan {
  const random = seeded(`${seed}/run ${run}`);
  const upTo = (most: number): number => Math.floor(random() * (most + 1));
  const atCopy = { paid: upTo(1), held: upTo(1), onItsWay: upTo(2) };
  const after = { paid: 1 + upTo(1), held: upTo(1), onItsWay: upTo(2) };
  return {
    ...{ atCopy, after },
    isApprovedAfter: isSo(random),
    isKilled: isSo(random),
    isAtRest: isSo(random),
    alike: upTo(1),
  };
}

function isSo(random: Random): boolean {
  return random() < likely;
}

/** A plan in words. */
export function wordsOf({
  atCopy,
  after,
  isApprovedAfter,
  isKilled,
  isAtRest,
  alike,
}: RunPlan): string {
  const standing = ({ paid, held, onItsWay }: Standing): string =>
    `${paid} paid, ${held} held, ${onItsWay} on their way`;
  const further = [
    ...(isApprovedAfter && atCopy.held > 0 ? ["held ones approved after it"] : []),
    ...(isKilled ? ["killed"] : []),
    ...(isAtRest ? ["blocks at rest"] : []),
    ...(alike > 0 ? [`${alike} alike`] : []),
  ];
  return `copy: ${standing(atCopy)}; later: ${[standing(after), ...further].join(", ")}`;
}
