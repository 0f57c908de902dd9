/** One hunter's process: runs seeds on a tree with a bug until one is violated that holds without the bug, and says which. */
import { loadTree } from "../tree.ts";
import type { Found, Prey } from "./hunt.ts";

async function hunted({ folder, sound, from, seeds }: Prey): Promise<Found> {
  const tree = await loadTree(folder);
  const whole = await loadTree(sound);
  for (const each of [tree, whole]) process.on("unhandledRejection", (error) => each.rejected(error));
  for (let seed = from; seed < from + seeds; seed += 1) {
    const { violation } = await tree.runSeed(seed);
    if (violation === null) continue;
    if ((await whole.runSeed(seed)).violation !== null) continue;
    return { schedules: seed - from + 1, caught: true, seed, ...violation };
  }
  return { schedules: seeds, caught: false, seed: 0, sentence: "", detail: "" };
}

const found = await hunted(JSON.parse(process.argv[2] ?? "{}") as Prey);
process.send?.(found, () => process.exit(0));
