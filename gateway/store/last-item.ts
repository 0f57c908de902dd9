/**
 * Against a loop of starts and ends by one row: a process that ends by a bug writes down the row
 * that was in work, in a file beside the database, which a bug in a transaction cannot take back. A
 * start that finds a row there twice within ten minutes sets the row aside.
 */
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { RowKey, RowKind } from "./set-aside.ts";

export interface CrashedRow extends RowKey {
  readonly at: number; // Unix milliseconds
  readonly stack: string;
}

const windowMs = 10 * 60_000;
const stackCharactersMax = 4_000;
const linesMax = 100;

export const crashedRowsPathOf = (database: string): string => `${database}.last-item`;

/** Adds the row of a bug that ends the process. A disk that takes no line is no second bug. */
export function noteCrashedRow(
  database: string,
  { kind, id, about }: RowKey,
  error: Error,
  at: number,
): void {
  const item: CrashedRow = {
    kind,
    id,
    about,
    at,
    stack: (error.stack ?? error.message).slice(0, stackCharactersMax),
  };
  try {
    appendFileSync(crashedRowsPathOf(database), `${JSON.stringify(item)}\n`, { mode: 0o600 });
  } catch {
    // Without the line the next start tries the row once more.
  }
}

function readItem(line: string): readonly CrashedRow[] {
  try {
    const { kind, id, about, at, stack } = JSON.parse(line) as Partial<CrashedRow>;
    const isWhole =
      [kind, id, about, stack].every((text) => typeof text === "string") && typeof at === "number";
    return isWhole
      ? [
          {
            kind: kind as RowKind,
            id: id ?? "",
            about: about ?? "",
            at: at ?? 0,
            stack: stack ?? "",
          },
        ]
      : [];
  } catch {
    return []; // the end of a line that a full disk cut
  }
}

/**
 * The rows that ended a process twice within ten minutes, each by its newest end. Keeps what is
 * younger than that and came once, and forgets the rest.
 */
export function takeRepeatedlyCrashedRows(database: string, nowMs: number): readonly CrashedRow[] {
  const path = crashedRowsPathOf(database);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(-linesMax);
  const young = lines.flatMap(readItem).filter(({ at }) => Math.abs(nowMs - at) <= windowMs);
  const named = grouped(young);
  const repeated = [...named.values()]
    .filter((ends) => ends.length > 1)
    .map((ends) => ends.at(-1) as CrashedRow);
  const once = [...named.values()].filter((ends) => ends.length === 1).flat();
  if (once.length === 0) rmSync(path, { force: true });
  else
    writeFileSync(path, once.map((item) => `${JSON.stringify(item)}\n`).join(""), { mode: 0o600 });
  return repeated;
}

function grouped(items: readonly CrashedRow[]): ReadonlyMap<string, CrashedRow[]> {
  const groups = new Map<string, CrashedRow[]>();
  for (const item of items) {
    const name = `${item.kind}/${item.id}`;
    groups.set(name, [...(groups.get(name) ?? []), item]);
  }
  return groups;
}
