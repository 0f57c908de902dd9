/**
 * Who may run on a database: the gateway whose key it was made with, and one process at a time. The lock is an open transaction on a
 * little file beside the database, which the system ends with the process; commands that only read or write rows do not ask for it.
 * The file names the run as well: a database that was put back from a backup does not bring the name of the present run with it.
 * Sources: sqlite.org/lockingv3.html (RESERVED); docs/architecture.md section 2.
 */
import { randomBytes } from "node:crypto";
import { closeSync, existsSync, openSync, realpathSync } from "node:fs";
import { DatabaseSync } from "@photostructure/sqlite";
import { AgentError } from "../../protocol/fault.ts";
import { type Database, isBusy } from "./store.ts";

/** @public */
export interface Ownership {
  readonly run: string; // names this process among all that ever ran on the database
  release(): void; // harmless twice
}

type Raw = InstanceType<typeof DatabaseSync>;

/** `runningOn` holds the lock for a moment; a gateway that starts just then waits it out. */
const lockTimeoutMs = 250;
const runBytes = 16;

const lockOf = (path: string): string => `${realpathSync(path)}.lock`;

/**
 * Takes the database at `path`, which exists, for this process until it ends or releases it. Makes `path`.lock, owner-only, and leaves
 * it there. Throws GATEWAY_STORE_OWNED (another one has it), GATEWAY_STORE_INVALID (the lock file cannot be used).
 * @public
 */
export function ownStore(path: string): Ownership {
  const lock = lockOf(path);
  const run = randomBytes(runBytes).toString("hex");
  let raw: Raw | null = null;
  try {
    // Never opened and closed when it is there: closing any descriptor of it would end this process's own POSIX locks.
    if (!existsSync(lock)) closeSync(openSync(lock, "a", 0o600));
    raw = new DatabaseSync(lock, { timeout: lockTimeoutMs });
    raw.exec(`BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS run (id TEXT NOT NULL); DELETE FROM run;
      INSERT INTO run (id) VALUES ('${run}'); COMMIT; BEGIN IMMEDIATE`);
  } catch (cause) {
    raw?.close();
    if (isBusy(cause)) {
      const message = `another gateway runs on ${path}`;
      throw new AgentError("GATEWAY_STORE_OWNED", "none", message, { path, lock }, { cause });
    }
    throw unusable(lock, cause);
  }
  const held = raw;
  return {
    run,
    release() {
      if (held.isOpen) held.close();
    },
  };
}

/**
 * The run of the gateway that owns the database at `path` now; null when none does. Throws GATEWAY_STORE_INVALID.
 * @public
 */
export function runningOn(path: string): string | null {
  const lock = lockOf(path);
  if (!existsSync(lock)) return null;
  let raw: Raw | null = null;
  try {
    raw = new DatabaseSync(lock, { timeout: 0 });
    if (isFree(raw)) return null;
    // The lock lets others read; an older version's file names no run.
    const named = raw.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'run'").get() as { n: number };
    if (named.n === 0) return null;
    return (raw.prepare("SELECT id FROM run").get() as { id: string } | undefined)?.id ?? null;
  } catch (cause) {
    throw unusable(lock, cause);
  } finally {
    raw?.close();
  }
}

function isFree(raw: Raw): boolean {
  try {
    raw.exec("BEGIN IMMEDIATE; ROLLBACK");
    return true;
  } catch (error) {
    if (!isBusy(error)) throw error;
    return false;
  }
}

function unusable(lock: string, cause: unknown): AgentError {
  const reason = cause instanceof Error ? cause.message : "";
  return new AgentError("GATEWAY_STORE_INVALID", "none", `${lock} cannot be used: ${reason}`, { path: lock }, { cause });
}

/**
 * Throws GATEWAY_KEY_OTHER unless the database was made with the key of this fingerprint: under another one no API secret in it
 * opens, and no agent in it would know the gateway.
 * @public
 */
export function checkKey(
  database: Database,
  fingerprint: string,
  paths: { readonly keyFile: string; readonly database: string },
): void {
  const made = database.get<{ value: string }>("SELECT value FROM meta WHERE name = 'gatewayKey'")?.value ?? "";
  if (made === fingerprint) return;
  throw new AgentError("GATEWAY_KEY_OTHER", "none", `the key ${paths.keyFile} is not the one ${paths.database} was made with`, {
    path: paths.keyFile,
    found: fingerprint,
    expected: made || "none",
  });
}
