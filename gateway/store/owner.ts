/**
 * Decides which process may run on a database: only the gateway with the database's own key, and
 * only one process at a time. The lock is an open transaction on a small file next to the database;
 * the system ends it with the process. Commands that only read or write rows do not take the lock.
 * The file also names the run, because a database restored from a backup must not bring back the
 * name of an old run. Sources: sqlite.org/lockingv3.html (RESERVED); docs/architecture.md section
 * 2.
 */
import { randomBytes } from "node:crypto";
import { closeSync, existsSync, openSync, realpathSync } from "node:fs";
import { DatabaseSync } from "@photostructure/sqlite";
import { AgentError } from "../../base/fault.ts";
import { unusableStoreFault } from "./disk.ts";
import { isDatabaseBusyError } from "./library-errors.ts";
import { readGatewayKeyFingerprint } from "./meta.ts";
import type { Database } from "./store.ts";

export interface Ownership {
  readonly run: string; // unique among all processes that ever ran on the database
  release(): void; // harmless to call twice
}

type SqliteDatabase = InstanceType<typeof DatabaseSync>;

/** `owningRun` holds the lock for a moment; a gateway that starts just then waits. */
const lockTimeoutMs = 250;
const runBytes = 16;
/**
 * Gateways that start in the same moment overwrite each other's name. A gateway that loses this
 * often gives up.
 */
const namingsMax = 16;

/** A database elsewhere has no file here, and the lock keeps the gateway's own files. */
const lockOf = (path: string): string => `${existsSync(path) ? realpathSync(path) : path}.lock`;

/**
 * Takes the existing database at `path` for this process, until the process ends or releases it.
 * Makes `path`.lock, readable only by its owner, and leaves the file there.
 * @throws AgentError GATEWAY_STORE_OWNED (another process has it), GATEWAY_STORE_INVALID (the lock
 * file cannot be used)
 */
export function ownStore(path: string): Ownership {
  const lock = lockOf(path);
  const run = randomBytes(runBytes).toString("hex");
  let raw: SqliteDatabase | null = null;
  try {
    // An existing file is never opened and closed here, because closing any descriptor of the file
    // would end this process's own POSIX locks.
    if (!existsSync(lock)) closeSync(openSync(lock, "a", 0o600));
    raw = new DatabaseSync(lock, { timeout: lockTimeoutMs });
    if (!holdUnder(raw, run)) throw owned(path, lock);
  } catch (cause) {
    if (raw !== null) end(raw);
    if (cause instanceof AgentError) throw cause;
    throw isDatabaseBusyError(cause) ? owned(path, lock, cause) : unusableStoreFault(lock, cause);
  }
  const held = raw;
  return { run, release: () => end(held) };
}

/**
 * Names the run in the file and takes the lock. Other processes see a name only after a commit, but
 * the commit ends the lock, and another gateway may then write its own name. So the name is read
 * back under the new lock, and no process can change it afterwards. False if the name was never
 * ours.
 */
function holdUnder(raw: SqliteDatabase, run: string): boolean {
  for (let naming = 0; naming < namingsMax; naming += 1) {
    raw.exec(`BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS run (id TEXT NOT NULL); DELETE FROM run;
      INSERT INTO run (id) VALUES ('${run}'); COMMIT; BEGIN IMMEDIATE`);
    if (namedRun(raw) === run) return true;
    raw.exec("ROLLBACK");
  }
  return false;
}

/** Closing alone keeps the lock until the garbage collector has freed every prepared statement. */
function end(raw: SqliteDatabase): void {
  if (!raw.isOpen) return;
  if (raw.isTransaction) raw.exec("ROLLBACK");
  raw.close();
}

const namedRun = (raw: SqliteDatabase): string | null =>
  (raw.prepare("SELECT id FROM run").get() as { id: string } | undefined)?.id ?? null;

/**
 * Returns the run of the gateway that owns the database at `path` now; null if there is none.
 * @throws AgentError GATEWAY_STORE_INVALID
 */
export function owningRun(path: string): string | null {
  const lock = lockOf(path);
  if (!existsSync(lock)) return null;
  let raw: SqliteDatabase | null = null;
  try {
    raw = new DatabaseSync(lock, { timeout: 0 });
    if (isFree(raw)) return null;
    // The lock lets other processes read. An older version's file names no run.
    const named = raw
      .prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'run'")
      .get() as { n: number };
    if (named.n === 0) return null;
    return namedRun(raw);
  } catch (cause) {
    throw unusableStoreFault(lock, cause);
  } finally {
    raw?.close();
  }
}

function isFree(raw: SqliteDatabase): boolean {
  try {
    raw.exec("BEGIN IMMEDIATE; ROLLBACK");
    return true;
  } catch (error) {
    if (!isDatabaseBusyError(error)) throw error;
    return false;
  }
}

function owned(path: string, lock: string, cause?: unknown): AgentError {
  return new AgentError(
    "GATEWAY_STORE_OWNED",
    "none",
    `another gateway runs on ${path}`,
    { path, lock },
    { cause },
  );
}

/**
 * Checks that the database was made with the key of this fingerprint. Under another key no API
 * secret in it opens, and no agent would recognize the gateway.
 * @throws AgentError GATEWAY_KEY_OTHER
 */
export function checkStoreKey(
  database: Database,
  fingerprint: string,
  paths: { readonly keyFile: string; readonly database: string },
): void {
  checkStoreKeyFingerprint(readGatewayKeyFingerprint(database), fingerprint, paths);
}

/** The same for a database that names the key `made`. @throws AgentError GATEWAY_KEY_OTHER */
export function checkStoreKeyFingerprint(
  made: string,
  fingerprint: string,
  paths: { readonly keyFile: string; readonly database: string },
): void {
  if (made === fingerprint) return;
  throw new AgentError(
    "GATEWAY_KEY_OTHER",
    "none",
    `the key ${paths.keyFile} is not the one ${paths.database} was made with`,
    {
      path: paths.keyFile,
      found: fingerprint,
      expected: made || "none",
    },
  );
}
