/**
 * Who may run on a database: the gateway whose key it was made with, and one process at a time. The lock is an open transaction on a
 * little file beside the database, which the system ends with the process; commands that only read or write rows do not ask for it.
 * Sources: sqlite.org/lockingv3.html (RESERVED); docs/architecture.md section 2.
 */
import { closeSync, existsSync, openSync, realpathSync } from "node:fs";
import { DatabaseSync } from "@photostructure/sqlite";
import { AgentError } from "../../protocol/fault.ts";
import { type Database, isBusy } from "./store.ts";

/** @public */
export interface Ownership {
  release(): void; // harmless twice
}

/**
 * Takes the database at `path`, which exists, for this process until it ends or releases it. Makes `path`.lock, owner-only, and leaves
 * it there. Throws GATEWAY_STORE_OWNED (another one has it), GATEWAY_STORE_INVALID (the lock file cannot be used).
 * @public
 */
export function ownStore(path: string): Ownership {
  const lock = `${realpathSync(path)}.lock`;
  let raw: InstanceType<typeof DatabaseSync> | null = null;
  try {
    // Never opened and closed when it is there: closing any descriptor of it would end this process's own POSIX locks.
    if (!existsSync(lock)) closeSync(openSync(lock, "a", 0o600));
    raw = new DatabaseSync(lock, { timeout: 0 });
    raw.exec("BEGIN IMMEDIATE");
  } catch (cause) {
    raw?.close();
    if (isBusy(cause)) {
      const message = `another gateway runs on ${path}`;
      throw new AgentError("GATEWAY_STORE_OWNED", "none", message, { path, lock }, { cause });
    }
    const reason = cause instanceof Error ? cause.message : "";
    throw new AgentError("GATEWAY_STORE_INVALID", "none", `${lock} cannot be used: ${reason}`, { path: lock }, { cause });
  }
  const held = raw;
  return {
    release() {
      if (held.isOpen) held.close();
    },
  };
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
