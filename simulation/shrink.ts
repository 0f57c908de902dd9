/**
 * Makes a failing run small: takes faults out of the list of those that came true, in ever smaller parts, as long as the same sentence
 * still does not hold. Every draw has its own name, so what is left strikes where it struck before. Source: delta debugging (ddmin),
 * Zeller and Hildebrandt 2002.
 */
import type { Run, RunResult } from "./run.ts";

/** Runs tried for one failing seed at most. */
const triesMax = 400;

/** What is left of a failing run. */
export interface Shrunk {
  readonly faults: readonly string[];
  readonly result: RunResult;
  readonly tries: number;
}

/** @param failing a run whose sentence was violated, with the faults that came true in it */
export async function shrink(tree: Pick<Run, "runSeed">, failing: RunResult): Promise<Shrunk> {
  let faults = failing.taken;
  let result = failing;
  let tries = 0;
  const stillFails = async (kept: readonly string[]): Promise<boolean> => {
    tries += 1;
    const again = await tree.runSeed(failing.seed, { only: new Set(kept), isReadable: false });
    if (again.violation?.sentence !== failing.violation?.sentence) return false;
    // Some of them did not come true any more; what did is all that is needed.
    faults = again.taken;
    result = again;
    return true;
  };
  if (await stillFails([])) return { faults, result, tries };
  for (let parts = 2; parts <= faults.length && tries < triesMax; ) {
    const size = Math.ceil(faults.length / parts);
    let wasSmaller = false;
    for (let at = 0; at < faults.length && tries < triesMax && !wasSmaller; at += size) {
      wasSmaller = await stillFails([...faults.slice(0, at), ...faults.slice(at + size)]);
    }
    if (wasSmaller) parts = Math.max(2, parts - 1);
    else if (parts === faults.length) break;
    else parts = Math.min(faults.length, parts * 2);
  }
  return { faults, result, tries };
}
