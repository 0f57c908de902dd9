/**
 * One hunter's process: runs seeds on a tree with a bug until one is violated that holds without
 * the bug, and says which.
 */
import { loadTree } from "../tree.ts";
import { worlds } from "../world/worlds.ts";
import { mutants } from "./all.ts";
import type { HunterAnswer, Prey } from "./hunt.ts";

async function hunted({ mutant, folder, sound, from, seeds }: Prey): Promise<HunterAnswer> {
  const { when = () => true, world } = mutants.find((one) => one.name === mutant) ?? {};
  const first = from + (world === undefined ? 0 : worlds[world]);
  const tree = await loadTree(folder);
  process.on("unhandledRejection", (error) => tree.rejected(error));
  let schedules = 0;
  for (let seed = first; schedules < seeds; seed += 1) {
    if (!when(tree.planOf(seed))) continue;
    schedules += 1;
    const { violation } = await tree.runSeed(seed);
    if (violation === null) continue;
    if (await isViolatedAnyway(sound, seed)) continue;
    return { schedules, caught: true, seed, ...violation };
  }
  return { schedules: seeds, caught: false, seed: 0, invariant: "", detail: "" };
}

async function isViolatedAnyway(sound: string, seed: number): Promise<boolean> {
  const tree = await loadTree(sound);
  const tell = (error: unknown): void => tree.rejected(error);
  process.on("unhandledRejection", tell);
  const { violation } = await tree.runSeed(seed);
  process.off("unhandledRejection", tell);
  return violation !== null;
}

const found = await hunted(JSON.parse(process.argv[2] ?? "{}") as Prey);
process.send?.(found, () => process.exit(0));
