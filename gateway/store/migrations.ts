/**
 * The steps that bring a database's tables to those of this program: a file a step, numbered in the
 * order of landing, forward only. The first file is the schema with which the numbers began, and
 * only names a database of that time. A file that has landed never changes, because a database is
 * recognized by the digest of all files up to its version. schema.ts is the commented text for a
 * new database; a test holds that both make the same tables.
 */
import { createHash } from "node:crypto";
import { invariant } from "../../base/fault.ts";
import { migrationTexts } from "./migration-files.ts";

export interface Migration {
  readonly version: number; // the tables have it after the step
  readonly name: string;
  readonly sql: string;
}

/**
 * Gives the statements of a step the aggregate `units_sum`, which adds base units of any size as
 * texts, because SQLite adds 64 bits.
 */
export function addUnitsSumAggregate(raw: {
  readonly aggregate: (name: string, options: UnitsAggregate) => void;
}): void {
  raw.aggregate("units_sum", {
    start: "0",
    step: (sum, units) => (BigInt(String(sum)) + BigInt(String(units))).toString(),
  });
}

interface UnitsAggregate {
  readonly start: string;
  readonly step: (sum: unknown, units: unknown) => string;
}

/** The files in their order; their numbers count from 1 without a gap. */
export function migrationsOf(texts: Readonly<Record<string, string>>): readonly Migration[] {
  return Object.keys(texts)
    .sort()
    .map((file, at) => {
      const [, number = "", name = ""] = /^(\d{4})-([a-z-]+)\.sql$/.exec(file) ?? [];
      invariant(
        Number(number) === at + 1,
        `migrations count from 1 without a gap, and ${file} does not`,
      );
      return { version: at + 1, name, sql: texts[file] ?? "" };
    });
}

export const migrations: readonly Migration[] = migrationsOf(migrationTexts);

/** The version of this program's tables, kept in `meta`. */
export const schemaVersion = migrations.length;

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The digest of the tables of a version, kept in `meta` beside it; "" for an unknown version. */
export function digestOfVersion(version: number, steps: readonly Migration[] = migrations): string {
  return steps.slice(0, version).reduce((before, { sql }) => sha256(`${before}${sql}`), "");
}

export const schemaDigest = digestOfVersion(schemaVersion);

/**
 * The statements of a file. A statement ends with a semicolon at the end of a line, a trigger with
 * the line END; and a line that begins with -- is a comment.
 */
export function statementsOf(sql: string): readonly string[] {
  const statements: string[] = [];
  let lines: string[] = [];
  for (const line of sql.split("\n")) {
    if (line.startsWith("--") || (lines.length === 0 && line.trim() === "")) continue;
    lines.push(line);
    const isTrigger = /^CREATE TRIGGER\b/.test(lines[0] ?? "");
    if (!(isTrigger ? line === "END;" : line.endsWith(";"))) continue;
    statements.push(lines.join("\n"));
    lines = [];
  }
  invariant(lines.length === 0, `a migration ends within a statement: ${lines[0]}`);
  return statements;
}

/**
 * The questions of a file's lines `-- check: SELECT …`; each answers 1 if the step did its work.
 */
export function checksOf(sql: string): readonly string[] {
  return [...sql.matchAll(/^-- check: (.+)$/gm)].map(([, question = ""]) => question);
}
