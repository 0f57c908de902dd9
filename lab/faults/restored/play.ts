/**
 * The stream `restored`: real processes of both sides restored to one moment, with and without a
 * recovery, on each of the families; runs, figures and their table.
 */
import type { Report } from "../tally.ts";
import { openChain, type RestoredFamily, restoredFamilies, restoredLackOf } from "./families.ts";
import { planOf, wordsOf } from "./plan.ts";
import { RestoredWorld } from "./world.ts";

export { restoredFamilies, restoredLackOf };

export type Recovery = "with" | "without";

export interface RestoredFaults {
  readonly runs: number; // of each cell
  readonly recoveries: readonly Recovery[];
  readonly seed: string;
  readonly blockMs: number;
  readonly say: (line: string) => void;
}

/** A family, with or without a recovery. */
export interface CellReport {
  readonly family: RestoredFamily;
  readonly recovery: Recovery;
  readonly runs: number;
  readonly orders: number;
  readonly waited: number; // orders that waited for a person
  readonly recoveriesDone: number;
  readonly seconds: number;
  readonly violations: readonly string[];
}

export interface RestoredReport extends Report {
  readonly cells: readonly CellReport[];
}

/** Plays one cell; what it started is gone afterwards. A run that fails ends its system. */
export async function playCell(
  family: RestoredFamily,
  recovery: Recovery,
  faults: RestoredFaults,
): Promise<CellReport> {
  const begunAt = performance.now();
  const { runs, say } = faults;
  const seed = `${faults.seed}/${family}/${recovery}`;
  const violations: string[] = [];
  const sums = { orders: 0, waited: 0, recoveriesDone: 0 };
  let done = 0;
  while (done < runs) {
    const part = await playSystem(
      family,
      recovery,
      { ...faults, seed, from: done + 1, most: runs - done },
      sums,
    );
    violations.push(...part.violations);
    done += part.runs;
  }
  for (const violation of violations)
    say(`violation: ${family}, ${recovery} recovery: ${violation}`);
  const seconds = Math.round((performance.now() - begunAt) / 1_000);
  return { family, recovery, runs: done, ...sums, seconds, violations };
}

interface Part {
  readonly runs: number;
  readonly violations: readonly string[];
}

async function playSystem(
  family: RestoredFamily,
  recovery: Recovery,
  {
    blockMs,
    seed,
    say,
    from,
    most,
  }: RestoredFaults & { readonly from: number; readonly most: number },
  sums: { orders: number; waited: number; recoveriesDone: number },
): Promise<Part> {
  const opened = await openChain(family, blockMs);
  const violations: string[] = [];
  const world = await RestoredWorld.create(opened, `${seed}/${from}`);
  say(`${family}, ${recovery} recovery: a system on ${opened.words}`);
  let runs = 0;
  try {
    for (; runs < Math.min(most, opened.runsMax) && violations.length === 0; runs += 1) {
      const plan = planOf(seed, from + runs);
      const where = `${family}, ${recovery} recovery, run ${from + runs}`;
      say(`${where}: ${wordsOf(plan)}`);
      const played = await world
        .play(plan, recovery === "with", (line) => say(`  ${line}`))
        .catch((error: unknown) => {
          return {
            orders: 0,
            waited: 0,
            recoveries: 0,
            violations: [error instanceof Error ? error.message : String(error)],
          };
        });
      sums.orders += played.orders;
      sums.waited += played.waited;
      sums.recoveriesDone += played.recoveries;
      violations.push(...played.violations.map((words) => `run ${from + runs}: ${words}`));
    }
    if (violations.length === 0) violations.push(...(await world.verify()));
  } finally {
    await world.close();
  }
  return { runs, violations };
}

/** Plays one cell after another. */
export async function playRestored(
  families: readonly RestoredFamily[],
  faults: RestoredFaults,
): Promise<RestoredReport> {
  const cells: CellReport[] = [];
  for (const family of families) {
    const lack = restoredLackOf(family);
    if (lack !== null) faults.say(`*** SKIPPED: ${family}: ${lack}`);
    else
      for (const recovery of faults.recoveries)
        cells.push(await playCell(family, recovery, faults));
  }
  const name = ({ family, recovery }: CellReport): string => `${family}, ${recovery} recovery`;
  return {
    cells,
    violations: cells.flatMap((cell) => cell.violations.map((words) => `${name(cell)}: ${words}`)),
    lines: cells.map((cell) => {
      const { runs, orders, waited, recoveriesDone, seconds, violations } = cell;
      return `${name(cell)}: ${runs} runs, ${orders} orders, ${waited} waited for a person, ${recoveriesDone} recoveries, ${violations.length} violations; ${seconds} s`;
    }),
  };
}
