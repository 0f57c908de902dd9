/** The entry of the simulated tree: what the commands outside of it may call. */
import { planOf } from "./world/draw.ts";
import { type RunOptions, type RunResult, rejected, runSeed } from "./world/run-seed.ts";

export { planOf, type RunOptions, type RunResult, rejected, runSeed };

/** This module as a value. */
export interface Run {
  readonly runSeed: typeof runSeed;
  readonly planOf: typeof planOf;
  readonly rejected: typeof rejected;
}
