/** The entry of the simulated tree: what the commands outside of it may call. */
import { type RunOptions, type RunResult, rejected, runSeed } from "./world/world.ts";

export { type RunOptions, type RunResult, rejected, runSeed };

/** This module as a value. */
export interface Run {
  readonly runSeed: typeof runSeed;
  readonly rejected: typeof rejected;
}
