/**
 * Reads the facts that a database states about itself, without opening it for work: not a byte of
 * the file changes, but for a change of SQLite's mode that a killed process had begun, and the file
 * is not held afterwards.
 */
import { DatabaseSync } from "@photostructure/sqlite";
import { needsRollback, undoJournalModeSwitch } from "./begun-switch.ts";
import { refuseOthersWal } from "./stray-wal.ts";

/** A gateway that was killed holds its file for a moment more, while the kernel ends it. */
const waitMs = 1_000;

/**
 * Every value of table `meta` by its name; none if the file has no such table.
 * @throws AgentError GATEWAY_STORE_WAL, and errors of SQLite
 */
export function readMeta(path: string): ReadonlyMap<string, string> {
  refuseOthersWal(path);
  try {
    return readValues(path);
  } catch (error) {
    if (!needsRollback(error)) throw error;
    undoJournalModeSwitch(path, waitMs);
    return readValues(path);
  }
}

function readValues(path: string): ReadonlyMap<string, string> {
  const raw = new DatabaseSync(path, { readOnly: true, timeout: waitMs });
  const found = new Map<string, string>();
  try {
    // A prepared statement would hold the file until its garbage is collected.
    let isThere = false;
    raw.function("tellTable", () => {
      isThere = true;
      return null;
    });
    raw.function("tellValue", (name: unknown, value: unknown) => {
      found.set(String(name), String(value));
      return null;
    });
    raw.exec("SELECT tellTable() FROM sqlite_schema WHERE type = 'table' AND name = 'meta'");
    if (isThere) raw.exec("SELECT tellValue(name, value) FROM meta");
    return found;
  } finally {
    raw.close();
  }
}
