/** All rules of the terminal: where lines go, how a yes is asked for, how columns line up. */
import { userInfo } from "node:os";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { dropUnread } from "../base/unread-output.ts";
import { visibleLines, visibleText } from "../base/visible.ts";

/** The outside as commands see it; tests put their own in its place. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  /** Replaces the present line of stderr with `text`. If this is missing, nothing is shown. */
  again?(text: string): void;
  /** Empties the screen of stdout. */
  clear?(): void;
  /** An operator is at the terminal and can answer. */
  readonly isInteractive: boolean;
  /** The greatest width of a line; 80 if missing. A pipe or a file takes any: Infinity. */
  readonly columns?: number;
  /** True if an operator watches the output of `err`: then long work shows that it goes on. */
  readonly isWatched?: boolean;
  /** True only for the complete word yes. */
  confirm(question: string): Promise<boolean>;
  readonly now: () => number; // milliseconds since 1970
  /**
   * The user at the terminal as the system reports it: the caller of sudo, if sudo names one, else
   * the process's own user. Proves no identity.
   */
  readonly user: string;
  /**
   * Waits. Resolves with false if the caller must stop its repetition: nobody reads it any more.
   */
  sleep(ms: number): Promise<boolean>;
  /** Runs a program of our own; a process of its own, started for it, if this is missing. */
  readonly runProgram?: RunProgram;
}

/**
 * Runs the program `name` (a path from cli/, without its ending) on the parts, which stay the
 * caller's. Never rejects for a program that ends badly.
 */
export type RunProgram = (name: string, parts: readonly Uint8Array[]) => Promise<ProgramResult>;

/** How a program ended, and what it printed on stdout. */
export interface ProgramResult {
  readonly status: number | null; // null for a signal
  readonly output: string;
}

const columnsMin = 80;
/** Moves the cursor home, then clears everything behind it. Source: ECMA-48, CUP and ED. */
const clearScreen = "\u001b[H\u001b[2J";

/** A user without an entry in the system's list has only a number. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? ""}`;
  }
}

export function processTerminal(): Terminal {
  // A command goes on without a reader: half of its work under an exit code of success would be
  // worse than lines that nobody sees.
  const isUnread = dropUnread(process.stdout, process.stderr);
  return {
    // These texts contain foreign names, reasons and answers, so no character of them may move the
    // cursor.
    out: (text) => void process.stdout.write(visibleLines(text)),
    err: (text) => void process.stderr.write(visibleLines(text)),
    again: (text) => void process.stderr.write(`\r${visibleText(text)}`),
    clear: () => void process.stdout.write(clearScreen),
    user: process.env.SUDO_USER || userName(),
    isInteractive: process.stdin.isTTY === true && process.stderr.isTTY === true,
    get columns() {
      return process.stdout.isTTY === true
        ? Math.max(columnsMin, process.stdout.columns)
        : Number.POSITIVE_INFINITY;
    },
    isWatched: process.stderr.isTTY === true,
    confirm: async (question) => {
      const lines = createInterface({ input: process.stdin, output: process.stderr });
      try {
        const answer = await new Promise<string | null>((resolve) => {
          lines.once("close", () => resolve(null));
          lines.question(question, resolve);
        });
        // After Ctrl-C or Ctrl-D the next text begins on a line of its own.
        if (answer === null) process.stderr.write("\n");
        return answer?.trim().toLowerCase() === "yes";
      } finally {
        lines.close();
      }
    },
    now: Date.now,
    sleep: async (ms) => {
      await sleep(ms);
      return !isUnread();
    },
  };
}

/**
 * Formats names in one column and their texts in the next: `  name      text`. A text wider than
 * `columns` continues in its own column.
 */
export function fieldLines(
  rows: readonly (readonly [name: string, text: string])[],
  columns = columnsMin,
): string {
  const width = Math.max(...rows.map(([name]) => name.length)) + 3;
  const indent = `\n${" ".repeat(width + 2)}`;
  return rows
    .map(([name, text]) =>
      `  ${name.padEnd(width)}${wrapText(text, columns - width - 2).join(indent)}`.trimEnd(),
    )
    .join("\n");
}

/**
 * Formats rows under a heading, each column as wide as its widest cell; nothing is shortened. If
 * the table is wider than `columns`, the last column continues below itself. If this is not enough,
 * each row becomes a block with one line for each cell.
 */
export function tableLines(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  columns = columnsMin,
): string {
  const widths = heading.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0);
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  if (before + (widths.at(-1) ?? 0) <= columns) return [heading, ...rows].map(line).join("\n");
  const left = columns - before;
  const longest = Math.max(
    ...rows.flatMap((row) => (row.at(-1) ?? "").split(" ").map((word) => word.length)),
  );
  if (left < lastColumnMin || longest > left)
    return rows.map((row) => block(heading, row)).join("\n\n");
  const indent = `\n${" ".repeat(before)}`;
  return [heading, ...rows]
    .map((row) => line([...row.slice(0, -1), wrapText(row.at(-1) ?? "", left).join(indent)]))
    .join("\n");
}

/** In a narrower column, wrapped text is hard to read. */
const lastColumnMin = 24;

function block(heading: readonly string[], row: readonly string[]): string {
  const [first = "", ...rest] = row;
  return `${heading[0] ?? ""} ${first}\n${fieldLines(rest.map((cell, at) => [heading[at + 1] ?? "", cell] as const))}`;
}

/** The text in lines of at most `width`; a longer word is not split. */
export function wrapText(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

const progressAfterMs = 1_000;

/**
 * Returns the result of `work`. On a terminal, after a second, one line of stderr shows the time
 * each second and is cleared at the end. A pipe or a file gets nothing.
 */
export async function withProgress<T>(
  terminal: Terminal,
  what: string,
  work: Promise<T>,
): Promise<T> {
  if (terminal.isWatched !== true) return work;
  const begunAt = terminal.now();
  let shown = "";
  const timer = setInterval(() => {
    const text = `${what}: ${Math.round((terminal.now() - begunAt) / 1000)} s`;
    terminal.again?.(text.padEnd(shown.length));
    shown = text;
  }, progressAfterMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    if (shown !== "") for (const text of [" ".repeat(shown.length), ""]) terminal.again?.(text);
  }
}

/** A moment in the form that operators compare: 2026-11-20 21:40:03 UTC. */
export function momentText(ms: number): string {
  return ms === 0 ? "never" : `${plain(ms)} UTC`;
}

/**
 * The same, with the local time of this machine if it differs: 2026-11-20 21:40:03 UTC (2026-11-21
 * 00:40:03 here). `offsetMinutes` is the lead of local time over UTC.
 */
export function momentHere(ms: number, offsetMinutes = -new Date(ms).getTimezoneOffset()): string {
  if (ms === 0 || offsetMinutes === 0) return momentText(ms);
  const [day, time] = plain(ms + offsetMinutes * 60_000).split(" ");
  return `${momentText(ms)} (${plain(ms).startsWith(day ?? "") ? time : `${day} ${time}`} here)`;
}

function plain(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}
