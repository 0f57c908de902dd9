/** An invariant of docs/architecture.md section 2 that does not hold, with what shows it. */

import { AgentError } from "../../../base/fault.ts";

export class Violation extends Error {
  override readonly name = "Violation";
  readonly invariant: string;

  constructor(invariant: string, detail: string) {
    super(`${invariant}: ${detail}`);
    this.invariant = invariant;
  }
}

export function must(condition: boolean, invariant: string, detail: () => string): void {
  if (!condition) throw new Violation(invariant, detail());
}

/** The violation for an error that nobody expected of a process. */
export function violationOf(process: string, error: unknown): Violation {
  if (error instanceof Violation) return error;
  if (error instanceof AgentError)
    return new Violation("no process stops for good", `${process}: ${error.code} ${error.message}`);
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Violation(
    "no process has a bug",
    `${process}: ${text.split("\n").slice(0, 4).join(" ")}`,
  );
}
