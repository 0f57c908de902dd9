/**
 * Brings the tables of an earlier version to this program's, at a start of the gateway: first a
 * checked copy of the whole database, then step by step, each in one transaction. SQLite
 * takes an interrupted step back, and the next start goes on with it. Sources:
 * sqlite.org/lang_altertable.html, section 7 (foreign keys off around a rebuilt table);
 * docs/operations.md, section 9.
 */
import type { DatabaseSync } from "@photostructure/sqlite";
import { AgentError, reasonOf } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import { copyStore } from "./copy.ts";
import { fileBytesOf, freeBytesOf, isDiskFull, unusableStoreFault } from "./disk.ts";
import { inspectStore } from "./inspect.ts";
import { isDatabaseBusyError } from "./library-errors.ts";
import {
  addUnitsSumAggregate,
  checksOf,
  digestOfVersion,
  type Migration,
  migrations,
  statementsOf,
} from "./migrations.ts";
import { ownStore } from "./owner.ts";
import type { SqlScalar } from "./statements.ts";
import { leaveWalMode, openSqliteFile } from "./store.ts";

export interface MigrateOptions {
  readonly log: GatewayLog;
  readonly nowMs: number;
  /** All steps from the first version on; other ones than this program's in tests alone. */
  readonly steps?: readonly Migration[];
  /** Called before each statement of a step. */
  readonly onStatement?: (statement: string) => void;
  readonly freeBytes?: (path: string) => number | null;
}

export interface MigrationResult {
  readonly from: number; // version of the tables before
  readonly to: number;
  readonly copy: string; // path of the database as it was; "" if nothing was to do
}

type SqliteDatabase = InstanceType<typeof DatabaseSync>;

/** The copy of the database as it was before the step to `version`. */
export const pathOfCopyBeforeVersion = (path: string, version: number): string =>
  `${path}.before-${version}`;

/**
 * Copies that a migration needs room for: the database as it was, and, where a step rebuilds the
 * tables, their new pages in the log and in the file.
 */
const copies = 4;

/**
 * Bytes that are missing on the disk for a migration of the database at `path`; 0 if it has room.
 */
export function missingRoomBytes(path: string, freeBytes = freeBytesOf): number {
  const free = freeBytes(path);
  const needed = copies * (fileBytesOf(path) + fileBytesOf(`${path}-wal`));
  return free === null ? 0 : Math.max(0, needed - free);
}

/**
 * Migrates the database at `path`, which no gateway may run on. Does nothing to a database that has
 * this program's tables. Harmless to call twice.
 * @throws AgentError as `inspectStore` and `ownStore`; GATEWAY_DISK_FULL (nothing was changed),
 * GATEWAY_STORE_UPGRADE (a step does not fit this database and was taken back), GATEWAY_FILE_EXISTS
 * (the copy cannot be made), GATEWAY_DISK_FAILED
 */
export function migrateStore(path: string, options: MigrateOptions): MigrationResult {
  const { steps = migrations } = options;
  const { version } = inspectStore(path, steps);
  if (version === steps.length) return { from: version, to: version, copy: "" };
  const ownership = ownStore(path);
  try {
    return migrateOwned(path, steps, options);
  } catch (cause) {
    throw faultOf(path, cause);
  } finally {
    ownership.release();
  }
}

function migrateOwned(
  path: string,
  steps: readonly Migration[],
  options: MigrateOptions,
): MigrationResult {
  const { version: from } = inspectStore(path, steps); // another start may have come first
  if (from === steps.length) return { from, to: from, copy: "" };
  const missing = missingRoomBytes(path, options.freeBytes);
  if (missing > 0) throw noRoom(path, missing);
  const raw = openSqliteFile(path, "withoutKeys");
  try {
    // A rebuilt table takes the old one's name while triggers and keys of others name it.
    raw.exec("PRAGMA legacy_alter_table = ON");
    addUnitsSumAggregate(raw);
    const copy = pathOfCopyBeforeVersion(path, from + 1);
    const whole = {
      run: (sql: string, ...values: readonly SqlScalar[]) => ({
        changes: Number(raw.prepare(sql).run(...values).changes),
      }),
    };
    copyStore(whole, copy, options.nowMs, steps);
    options.log.info(
      { event: "database-copied", copy, version: from },
      `the database as it was is kept as ${copy}`,
    );
    for (const step of steps.slice(from)) runStep(raw, path, step, steps, options);
    return { from, to: steps.length, copy };
  } finally {
    leaveWalMode(raw);
    raw.close();
  }
}

function noRoom(path: string, missingBytes: number): AgentError {
  const words = `the upgrade of ${path} needs room for ${copies} more copies of it: ${missingBytes} bytes are missing`;
  return new AgentError("GATEWAY_DISK_FULL", "none", `${words}; nothing was changed`, {
    path,
    missingBytes,
  });
}

function runStep(
  raw: SqliteDatabase,
  path: string,
  step: Migration,
  steps: readonly Migration[],
  options: MigrateOptions,
): void {
  const { version, name, sql } = step;
  const doing = (statement: string): void => {
    options.onStatement?.(statement);
    raw.exec(statement);
  };
  try {
    doing("BEGIN IMMEDIATE");
    for (const statement of statementsOf(sql)) doing(statement);
    const problem = problemAfter(raw, sql);
    if (problem !== "")
      throw new AgentError("GATEWAY_STORE_UPGRADE", "none", stepWords(path, step, problem), {
        path,
        version,
      });
    doing(`UPDATE meta SET value = '${version}' WHERE name = 'schema'`);
    doing(
      `UPDATE meta SET value = '${digestOfVersion(version, steps)}' WHERE name = 'schemaDigest'`,
    );
    doing("COMMIT");
  } catch (cause) {
    if (raw.isTransaction) raw.exec("ROLLBACK");
    if (isMisfit(cause))
      throw new AgentError(
        "GATEWAY_STORE_UPGRADE",
        "none",
        stepWords(path, step, reasonOf(cause)),
        { path, version },
        { cause },
      );
    throw cause;
  }
  options.log.info(
    { event: "database-upgraded", version, name },
    `the database's tables have version ${version} now: ${name}`,
  );
}

const stepWords = (path: string, { version, name }: Migration, problem: string): string =>
  `the step to version ${version} (${name}) does not fit ${path}: ${problem}; it was taken back`;

/** The reason why a step must not be committed; "" if it did its work. */
function problemAfter(raw: SqliteDatabase, sql: string): string {
  const [loose] = raw.prepare("PRAGMA foreign_key_check").all() as { table: string }[];
  if (loose !== undefined) return `a row of ${loose.table} refers to a row that is not there`;
  const failed = checksOf(sql).find((question) => {
    const row = raw.prepare(question).get() as Record<string, unknown> | undefined;
    return Object.values(row ?? {})[0] !== 1;
  });
  return failed === undefined ? "" : `this is not so: ${failed}`;
}

/** Primary result codes of SQLite: ERROR, CONSTRAINT, MISMATCH. The disk is not their cause. */
const misfits: readonly number[] = [1, 19, 20];

function isMisfit(error: unknown): boolean {
  const code = (error as { readonly errcode?: unknown } | null)?.errcode;
  return typeof code === "number" && misfits.includes(code & 0xff);
}

/** A full disk has its own code, whichever part of the migration met it. */
function faultOf(path: string, error: unknown): unknown {
  const isFull =
    isDiskFull(error) || isDiskFull((error as { readonly cause?: unknown } | null)?.cause);
  if (isFull && !(error instanceof AgentError && error.code === "GATEWAY_DISK_FULL"))
    return unusableStoreFault(path, causeOf(error));
  if (error instanceof AgentError || !(error instanceof Error && "errcode" in error)) return error;
  if (!isDatabaseBusyError(error)) return unusableStoreFault(path, error);
  return new AgentError(
    "GATEWAY_STORE_BUSY",
    "none",
    `${path} is held by another process`,
    { path },
    { cause: error },
  );
}

const causeOf = (error: unknown): unknown => (error instanceof AgentError ? error.cause : error);
