/**
 * Runs of the world `both-restored` by family, with and without a recovery: sums of what each run
 * told, as a table.
 */
import type { RunResult } from "./run.ts";

const columns = {
  runs: "runs",
  restores: "restores",
  violations: "violations",
  twice: "paid twice",
  hiding: "runs that hid bytes",
  apart: "paid twice by them",
  waited: "orders for a person",
  left: "left to one",
} as const;
type Column = keyof typeof columns;

/** Sums by column. */
export type Cell = Readonly<Record<Column, number>>;
/** By the cell's name. */
export type Cells = Readonly<Record<string, Cell>>;

const twice = "no withdrawal is paid twice";

/** One run as a table; an empty one for a run of another world. */
export function cellsOf({
  restored,
  violation,
  apart,
}: Pick<RunResult, "restored" | "violation" | "apart">): Cells {
  if (restored === null) return {};
  const { family, isRecovered, restores, hidden, waited, left } = restored;
  const cell: Cell = {
    ...{ runs: 1, restores, waited, left, apart },
    violations: violation === null ? 0 : 1,
    twice: violation?.invariant === twice ? 1 : 0,
    hiding: hidden > 0 ? 1 : 0,
  };
  return { [`${family}, ${isRecovered ? "with" : "without"} recovery`]: cell };
}

export function together(one: Cells, other: Cells): Cells {
  const sums: Record<string, Cell> = { ...one };
  for (const [name, cell] of Object.entries(other)) {
    const before = sums[name];
    const entries = Object.entries(cell) as [Column, number][];
    sums[name] =
      before === undefined
        ? cell
        : (Object.fromEntries(entries.map(([key, count]) => [key, before[key] + count])) as Cell);
  }
  return sums;
}

/** The table for people; empty if no run was of that world. */
export function linesOf(cells: Cells): readonly string[] {
  const names = Object.keys(cells).sort();
  if (names.length === 0) return [];
  const keys = Object.keys(columns) as Column[];
  const first = Math.max(...names.map((name) => name.length));
  const row = (name: string, texts: readonly string[]): string =>
    [
      name.padEnd(first),
      ...texts.map((text, at) => text.padStart((columns[keys[at] as Column] as string).length)),
    ].join("  ");
  const head = row("", Object.values(columns));
  return [
    head,
    ...names.map((name) =>
      row(
        name,
        keys.map((key) => `${(cells[name] as Cell)[key]}`),
      ),
    ),
  ];
}
