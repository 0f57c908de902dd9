/**
 * Makes a failing run small: takes faults out of the list of those that came true, whole kinds
 * first, then ever smaller parts, as long as the same invariant still does not hold. Every draw has
 * its own name, so what is left strikes where it struck before. Source: delta debugging (ddmin),
 * Zeller and Hildebrandt 2002.
 */
import type { Run, RunResult } from "./run.ts";

/** Runs tried for one failing seed at most. */
const triesMax = 500;

/** The rest of a failing run. */
export interface ShrunkRun {
  readonly faults: readonly string[];
  readonly result: RunResult;
  readonly tries: number;
}

class Shrinking {
  readonly #tree: Pick<Run, "runSeed">;
  readonly #invariant: string | undefined;
  faults: readonly string[];
  result: RunResult;
  tries = 0;

  constructor(tree: Pick<Run, "runSeed">, failing: RunResult) {
    this.#tree = tree;
    this.#invariant = failing.violation?.invariant;
    this.faults = failing.taken;
    this.result = failing;
  }

  /**
   * Whether it fails with these alone; then they are what is left, less what does not come true any
   * more.
   */
  async failsWith(kept: readonly string[]): Promise<boolean> {
    if (this.tries >= triesMax || kept.length >= this.faults.length) return false;
    this.tries += 1;
    const again = await this.#tree.runSeed(this.result.seed, {
      only: new Set(kept),
      isReadable: false,
    });
    if (again.violation?.invariant !== this.#invariant) return false;
    this.faults = again.taken;
    this.result = again;
    return true;
  }

  /** Leaves out every kind of fault that is not needed. */
  async withoutKinds(): Promise<void> {
    for (const kind of new Set(this.faults.map(kindOf)))
      await this.failsWith(this.faults.filter((fault) => kindOf(fault) !== kind));
  }

  async withoutParts(): Promise<void> {
    for (let parts = 2; parts <= this.faults.length && this.tries < triesMax; ) {
      const size = Math.ceil(this.faults.length / parts);
      let wasSmaller = false;
      for (let at = 0; at < this.faults.length && !wasSmaller; at += size) {
        wasSmaller = await this.failsWith([
          ...this.faults.slice(0, at),
          ...this.faults.slice(at + size),
        ]);
      }
      if (!wasSmaller && parts === this.faults.length) return;
      parts = wasSmaller ? Math.max(2, parts - 1) : Math.min(this.faults.length, parts * 2);
    }
  }
}

/** `label#number` is one fault of the kind `label`. */
function kindOf(fault: string): string {
  return fault.slice(0, fault.lastIndexOf("#"));
}

/** @param failing a run whose invariant was violated, with the faults that came true in it */
export async function shrink(tree: Pick<Run, "runSeed">, failing: RunResult): Promise<ShrunkRun> {
  const shrinking = new Shrinking(tree, failing);
  if (!(await shrinking.failsWith([]))) {
    await shrinking.withoutKinds();
    await shrinking.withoutParts();
  }
  const { faults, result, tries } = shrinking;
  return { faults, result, tries };
}
