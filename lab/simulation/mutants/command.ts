/**
 * `simulate --mutants`: hunts every mutant, or those named, with a line for each and one at the
 * end. Touches the processes that hunt and standard output.
 */
import { performance } from "node:perf_hooks";
import { hunt } from "./hunt.ts";
import { lineOf, summaryOf } from "./summary.ts";

/** @returns the exit code: 1 when one is alive, or none has the name. */
export async function huntMutants(options: {
  readonly only: string | undefined; // names, by commas
  readonly world: string | null; // whose they are; null for all
  readonly seeds: number; // most schedules for one mutant
  readonly from: number;
  readonly workers: number;
  readonly isJson: boolean;
}): Promise<number> {
  const { only, world, seeds, from, workers, isJson } = options;
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const begunMs = performance.now();
  const all = await hunt({
    only: only === undefined ? null : new Set(only.split(",")),
    ...{ world, from, seeds, workers },
    monotonic: () => performance.now(),
    onHunted: (hunted) => say(isJson ? JSON.stringify(hunted) : lineOf(hunted)),
  });
  const summary = summaryOf(all, Math.round(performance.now() - begunMs));
  const { mutants, caught, survivors, schedules, elapsedMs } = summary;
  const seconds = Math.round(elapsedMs / 1000);
  const alive = survivors.length === 0 ? "" : `; alive: ${survivors.join(", ")}`;
  const counts = `${schedules.median} schedules at the median, ${schedules.max} at most`;
  say(
    isJson
      ? JSON.stringify(summary)
      : `${caught} of ${mutants} caught in ${seconds} s, by ${counts}${alive}`,
  );
  return survivors.length === 0 && mutants > 0 ? 0 : 1;
}
