/**
 * In the place of SQLite's package (statements.ts), of which the gateway uses this one class:
 * counts the statements that its process gives to it. On SIGUSR2 it writes the counts into the file
 * `statements.json` of the current folder.
 */
import { renameSync, writeFileSync } from "node:fs";
import { DatabaseSync as Database } from "@photostructure/sqlite";

/** Counts since the start. */
export interface StatementCounts {
  readonly statements: number;
  readonly outside: number; // those outside of any transaction
  readonly commits: number;
}

type Method = (...values: unknown[]) => unknown;

const counts = { statements: 0, outside: 0, commits: 0 };

export class DatabaseSync extends Database {
  #isInside = false;

  override prepare(...args: Parameters<InstanceType<typeof Database>["prepare"]>) {
    const statement = super.prepare(...args);
    for (const name of ["run", "get", "all"] as const) {
      const real = statement[name] as Method;
      const value: Method = (...values) => {
        counts.statements += 1;
        if (!this.#isInside) counts.outside += 1;
        return real.apply(statement, values);
      };
      Object.defineProperty(statement, name, { value });
    }
    return statement;
  }

  override exec(sql: string): void {
    if (sql === "BEGIN IMMEDIATE") this.#isInside = true;
    if (sql === "COMMIT") counts.commits += 1;
    if (sql === "COMMIT" || sql === "ROLLBACK") this.#isInside = false;
    super.exec(sql);
  }
}

process.on("SIGUSR2", () => {
  // The reader waits for the name, so the content is there before it.
  writeFileSync("statements.json.new", JSON.stringify(counts));
  renameSync("statements.json.new", "statements.json");
});
