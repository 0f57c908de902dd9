/** Terminal manners, in one place: where lines go, how a yes is asked for, how columns line up. */
import { userInfo } from "node:os";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { exitCodes } from "../agent/launcher/verdict.ts";

/**
 * What commands see of the outside; tests put their own in its place.
 * @public
 */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  /** A person sits there and can answer. */
  readonly isInteractive: boolean;
  /** True only for the whole word yes. */
  confirm(question: string): Promise<boolean>;
  readonly now: () => number; // milliseconds since 1970
  /** Who sits there, as the system tells: the one who called sudo, where it says so, else the process's own user. No proof of anybody. */
  readonly user: string;
  /** False when whatever repeats should end. */
  sleep(ms: number): Promise<boolean>;
}

/** A user without an entry in the system's list has a number alone. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? ""}`;
  }
}

/** @public */
export function processTerminal(): Terminal {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
      // Whoever read this has seen enough.
      process.exit(exitCodes.fine);
    });
  }
  return {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    user: process.env.SUDO_USER || userName(),
    isInteractive: process.stdin.isTTY === true && process.stderr.isTTY === true,
    confirm: async (question) => {
      const lines = createInterface({ input: process.stdin, output: process.stderr });
      try {
        const answer = await new Promise<string>((resolve) => {
          lines.once("close", () => resolve(""));
          lines.question(question, resolve);
        });
        return answer.trim().toLowerCase() === "yes";
      } finally {
        lines.close();
      }
    },
    now: Date.now,
    sleep: async (ms) => {
      await sleep(ms);
      return true;
    },
  };
}

/**
 * Names in one column, what they say in the next: `  name      text`.
 * @public
 */
export function fields(rows: readonly (readonly [name: string, text: string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length)) + 3;
  return rows.map(([name, text]) => `  ${name.padEnd(width)}${text}`.trimEnd()).join("\n");
}

/**
 * Rows under a heading, every column as wide as its widest cell; nothing is shortened.
 * @public
 */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heading.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return [heading, ...rows].map(line).join("\n");
}

/**
 * A moment as people on call compare it: 2026-11-20 21:40:03 UTC.
 * @public
 */
export function moment(ms: number): string {
  return ms === 0 ? "never" : `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
