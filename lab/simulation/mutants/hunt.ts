/**
 * Runs the simulator on one mutant after another, in processes of their own, until an invariant is
 * violated or the schedules are used up. A seed on which the code without the bug is violated as
 * well catches nothing. Writes and removes trees under dist/simulated.
 */
import { type ChildProcess, fork } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildTree } from "../tree.ts";
import { mutants } from "./all.ts";
import type { Mutant } from "./mutant.ts";

/** The result of the hunt for one mutant. */
export interface HuntReport {
  readonly mutant: string;
  readonly schedules: number; // run until it was caught, or all of them
  readonly caught: boolean;
  readonly seed: number; // that caught it, 0 when none did
  readonly invariant: string; // that did not hold, "" when all did
  readonly detail: string;
  readonly elapsedMs: number;
}

/**
 * The task of a hunter: a tree with a bug, one without, and how many schedules from which seed on.
 */
export interface Prey {
  readonly mutant: string;
  readonly folder: string;
  readonly sound: string;
  readonly from: number;
  readonly seeds: number;
}

/** The answer of a hunter. */
export type HunterAnswer = Omit<HuntReport, "mutant" | "elapsedMs">;

interface HuntOptions {
  readonly only: ReadonlySet<string> | null; // names; null for all
  readonly world: string | null; // whose they are; null for all
  readonly from: number;
  readonly seeds: number; // most schedules for one mutant
  readonly workers: number;
  readonly monotonic: () => number;
  readonly onHunted: (hunted: HuntReport) => void;
}

/**
 * @returns the result of each, in the order of the list. @throws Error when a patch does not fit or
 * a hunter fails
 */
export async function hunt(options: HuntOptions): Promise<readonly HuntReport[]> {
  const { only, world, workers } = options;
  const isMeant = (mutant: Mutant): boolean =>
    (only === null || only.has(mutant.name)) && (world === null || mutant.world === world);
  const waiting = mutants.filter(isMeant);
  const sound = buildTree();
  const found = new Map<string, HuntReport>();
  const work = async (): Promise<void> => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const hunted = await huntOne(mutant, sound, options);
      found.set(mutant.name, hunted);
      options.onHunted(hunted);
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  return mutants.flatMap(({ name }) => found.get(name) ?? []);
}

async function huntOne(
  mutant: Mutant,
  sound: string,
  { from, seeds, monotonic }: HuntOptions,
): Promise<HuntReport> {
  const begunAt = monotonic();
  const folder = buildTree(mutant);
  if (folder === sound) throw new Error(`${mutant.name} changes nothing`);
  try {
    const said = await sent({ mutant: mutant.name, folder, sound, from, seeds });
    return { mutant: mutant.name, ...said, elapsedMs: Math.round(monotonic() - begunAt) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function sent(prey: Prey): Promise<HunterAnswer> {
  const child: ChildProcess = fork(fileURLToPath(new URL("./hunter.js", import.meta.url)), [
    JSON.stringify(prey),
  ]);
  return new Promise((resolve, reject) => {
    let said: HunterAnswer | null = null;
    child.on("message", (message) => {
      said = message as HunterAnswer;
    });
    child.on("error", reject);
    child.on("exit", (code) => {
      if (said === null) reject(new Error(`the hunter ended with ${code} on ${prey.folder}`));
      else resolve(said);
    });
  });
}
