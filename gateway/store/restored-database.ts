/**
 * State of a database restored from a backup: the time when the restore was noticed, and the blocks
 * from which the chains are read again. `vouched` are the cursors of the newest time at which every
 * paired agent had stated that this database lacks nothing.
 */
import { forgetLooks } from "./address-states.ts";
import type { Database } from "./store.ts";

export interface RestoreMark {
  readonly at: number; // when it was noticed, milliseconds
  readonly reason: string; // for operators
}

/** Equal to the name of no run. */
const noRun = "none";

/** Null unless the database was restored from a backup and has not caught up since. */
export function restoredOf(database: Database): RestoreMark | null {
  const row = database.get<{ value: string }>("SELECT value FROM meta WHERE name = 'restored'");
  return row === undefined ? null : (JSON.parse(row.value) as RestoreMark);
}

/**
 * Marks the database as restored. No address leaves until every chain was read after `at`, and
 * until the agents have reported the ceilings in their ledgers. Agents that have caught up in the
 * gateway's run `caughtUpIn` are not asked again, because this database lacks nothing of theirs.
 */
export function markRestored(database: Database, restored: RestoreMark, caughtUpIn = noRun): void {
  database.run(
    "INSERT OR REPLACE INTO meta (name, value) VALUES ('restored', ?)",
    JSON.stringify(restored),
  );
  database.run("DELETE FROM meta WHERE name = 'copiedAt'");
  forgetLooks(database);
  database.run(
    "UPDATE agents SET awaitsCeiling = 1 WHERE unpairedAt IS NULL AND caughtUp <> ?",
    caughtUpIn,
  );
}

/**
 * Requires that every chain is read again after `atMs`, because new addresses are watched. Does
 * nothing if the database was not restored.
 */
export function restoredSince(database: Database, atMs: number): void {
  const restored = restoredOf(database);
  if (restored === null) return;
  const sql = "INSERT OR REPLACE INTO meta (name, value) VALUES ('restored', ?)";
  database.run(sql, JSON.stringify({ ...restored, at: Math.max(restored.at, atMs) }));
}

export function endRestored(database: Database): void {
  database.run("DELETE FROM meta WHERE name = 'restored'");
}

/** True if the database is a copy that `backup` made and no gateway has run on. */
export function isCopy(database: Database): boolean {
  return database.get("SELECT 1 FROM meta WHERE name = 'copiedAt'") !== undefined;
}

/** True if a file of address marks was made for this database, so that the file must exist. */
export function hasMarksFile(database: Database): boolean {
  return database.get("SELECT 1 FROM meta WHERE name = 'addressMarks'") !== undefined;
}

/** Harmless to call twice. */
export function keepHasMarksFile(database: Database): void {
  database.run("INSERT OR IGNORE INTO meta (name, value) VALUES ('addressMarks', '')");
}

/**
 * Vouches for the chains as read up to now: no earlier block is in doubt. Harmless to call twice.
 */
export function vouchForCursors(database: Database): void {
  database.run(
    "INSERT OR REPLACE INTO vouched (network, block, hash) SELECT network, block, hash FROM cursors",
  );
}

/** Vouches for chains that have no vouched block yet. */
export function beginVouched(database: Database): void {
  database.run(
    "INSERT OR IGNORE INTO vouched (network, block, hash) SELECT network, block, hash FROM cursors",
  );
}

/**
 * Moves every chain's cursor back to its vouched block, so that the blocks after it are read again.
 * Harmless to call twice.
 */
export function rewindCursors(database: Database): void {
  database.run(
    `UPDATE cursors SET (block, hash) = (SELECT block, hash FROM vouched WHERE vouched.network = cursors.network)
     WHERE EXISTS (SELECT 1 FROM vouched WHERE vouched.network = cursors.network AND vouched.block < cursors.block)`,
  );
}
