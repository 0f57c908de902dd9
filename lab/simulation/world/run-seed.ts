/** One run: everything made again, told until it ends, and what came of it. One at a time. */

import { closeAll } from "../fakes/files.ts";
import { begin, kernel } from "../kernel/kernel.ts";
import { TwoLiars } from "../pairs/two-liars.ts";
import type { RestoredRun } from "./restored-run.ts";
import { World } from "./world.ts";
import { isIn } from "./worlds.ts";

export interface RunOptions {
  /** Only these faults come true; null lets chance decide. */
  readonly only: ReadonlySet<string> | null;
  readonly isReadable: boolean;
}

export interface RunResult {
  readonly seed: number;
  readonly hash: string;
  readonly steps: number;
  readonly violation: { readonly invariant: string; readonly detail: string } | null;
  readonly taken: readonly string[]; // faults that came true
  readonly lines: readonly string[];
  readonly simulatedMs: number;
  readonly apart: number; // payments made twice by bytes that no node showed when the order came again
  readonly restored: RestoredRun | null; // null outside the world `both-restored`
}

/** The parts of a seed's world. */
type SeedWorld = Pick<World, "start" | "thrown" | "violation"> & {
  readonly apart?: number;
  readonly restored?: RestoredRun | null;
};

let running: SeedWorld | null = null;

/** Runs one seed. */
export async function runSeed(
  seed: number,
  options: RunOptions = { only: null, isReadable: false },
): Promise<RunResult> {
  let world: SeedWorld | null = null;
  // A stack is worth reading only where somebody reads.
  Error.stackTraceLimit = options.isReadable ? 10 : 0;
  begin(seed, { ...options, onThrown: (owner, error) => world?.thrown(owner, error) });
  closeAll();
  world = isIn("two-liars", seed) ? new TwoLiars(seed) : new World(seed);
  running = world;
  world.start();
  await kernel.scheduler.run();
  running = null;
  const { trace, random, scheduler } = kernel;
  const violation =
    world.violation === null
      ? null
      : { invariant: world.violation.invariant, detail: world.violation.message };
  return {
    seed,
    hash: trace.hash,
    steps: trace.steps,
    violation,
    taken: random.taken,
    lines: trace.lines ?? [],
    simulatedMs: scheduler.nowMs,
    apart: world.apart ?? 0,
    restored: world.restored ?? null,
  };
}

/** A promise nobody waits for failed: a bug of the code, unless its process is dead. */
export function rejected(error: unknown): void {
  running?.thrown(kernel.scheduler.current, error);
}
