/** The result of a hunt, for people and for programs. Touches nothing. */
import type { HuntReport } from "./hunt.ts";

/** Schedules are counted for those that were caught. */
interface Summary {
  readonly mutants: number;
  readonly caught: number;
  readonly survivors: readonly string[];
  readonly schedules: { readonly median: number; readonly max: number; readonly total: number };
  readonly elapsedMs: number;
}

export function summaryOf(all: readonly HuntReport[], elapsedMs: number): Summary {
  const caught = all.filter((one) => one.caught);
  const counts = caught.map((one) => one.schedules).sort((a, b) => a - b);
  return {
    mutants: all.length,
    caught: caught.length,
    survivors: all.filter((one) => !one.caught).map((one) => one.mutant),
    schedules: {
      median: counts[counts.length >> 1] ?? 0,
      max: counts.at(-1) ?? 0,
      total: all.reduce((sum, one) => sum + one.schedules, 0),
    },
    elapsedMs,
  };
}

/** One line for an operator: whether, after how many, by what and on which seed. */
export function lineOf({
  mutant,
  caught,
  schedules,
  invariant,
  seed,
  elapsedMs,
}: HuntReport): string {
  const seconds = (elapsedMs / 1000).toFixed(1);
  if (!caught) return `${mutant} is alive after ${schedules} schedules, ${seconds} s`;
  return `${mutant} was caught by schedule ${schedules} (seed ${seed}, ${seconds} s): ${invariant}`;
}
