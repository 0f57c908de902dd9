/**
 * Knowledge of a database that was put back: since when, and from which blocks its chains are
 * to be read again. `vouched` are the cursors of the newest moment at which every paired agent had
 * said that this database lacks nothing.
 */
import type { Database } from "./store.ts";

/** @public */
export interface PutBack {
  readonly at: number; // when it was noticed, milliseconds
  readonly reason: string; // for people
}

/** The name of no run. */
const noRun = "none";

/**
 * Null unless the database was put back and has not caught up since.
 * @public
 */
export function putBackOf(database: Database): PutBack | null {
  const row = database.get<{ value: string }>("SELECT value FROM meta WHERE name = 'putBack'");
  return row === undefined ? null : (JSON.parse(row.value) as PutBack);
}

/**
 * From here no address leaves before every chain was read after `at`, and before the agents said
 * how far their ledgers hold addresses. Not asked again are those who were heard in the run of the
 * gateway that `heardIn` names: this database lacks nothing of theirs.
 * @public
 */
export function markPutBack(database: Database, putBack: PutBack, heardIn = noRun): void {
  database.run("INSERT OR REPLACE INTO meta (name, value) VALUES ('putBack', ?)", JSON.stringify(putBack));
  database.run("DELETE FROM meta WHERE name = 'copiedAt'");
  database.run("UPDATE agents SET awaitsCeiling = 1 WHERE releasedAt IS NULL AND heard <> ?", heardIn);
}

/**
 * From now on every chain is to be read once more: addresses are watched that were not before. Does
 * nothing where the database was not put back.
 * @public
 */
export function putBackSince(database: Database, atMs: number): void {
  const putBack = putBackOf(database);
  if (putBack === null) return;
  const sql = "INSERT OR REPLACE INTO meta (name, value) VALUES ('putBack', ?)";
  database.run(sql, JSON.stringify({ ...putBack, at: Math.max(putBack.at, atMs) }));
}

/** @public */
export function endPutBack(database: Database): void {
  database.run("DELETE FROM meta WHERE name = 'putBack'");
}

/**
 * Whether the database is a copy that `backup` made and no gateway has run on.
 * @public
 */
export function isCopy(database: Database): boolean {
  return database.get("SELECT 1 FROM meta WHERE name = 'copiedAt'") !== undefined;
}

/**
 * Whether a file of address marks was made for this database, so that one must be there.
 * @public
 */
export function hasMarksFile(database: Database): boolean {
  return database.get("SELECT 1 FROM meta WHERE name = 'addressMarks'") !== undefined;
}

/**
 * Twice is harmless.
 * @public
 */
export function keepHasMarksFile(database: Database): void {
  database.run("INSERT OR IGNORE INTO meta (name, value) VALUES ('addressMarks', '')");
}

/**
 * The chains as they are read now: nobody doubts what lies below. Twice is harmless.
 * @public
 */
export function vouchForCursors(database: Database): void {
  database.run("INSERT OR REPLACE INTO vouched (network, block, hash) SELECT network, block, hash FROM cursors");
}

/**
 * For chains of which nothing was vouched for yet.
 * @public
 */
export function beginVouched(database: Database): void {
  database.run("INSERT OR IGNORE INTO vouched (network, block, hash) SELECT network, block, hash FROM cursors");
}

/**
 * Has every chain read again from where it was vouched for. Twice is harmless.
 * @public
 */
export function rewindCursors(database: Database): void {
  database.run(
    `UPDATE cursors SET (block, hash) = (SELECT block, hash FROM vouched WHERE vouched.network = cursors.network)
     WHERE EXISTS (SELECT 1 FROM vouched WHERE vouched.network = cursors.network AND vouched.block < cursors.block)`,
  );
}
