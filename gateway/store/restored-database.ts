/**
 * State of a database restored from a backup: the wait until every chain was read since, and the
 * blocks from which the chains are read again. Waits are counted, because a time by a clock that
 * was ahead would hold deposits back until the clock has come there. `vouched` are the cursors of
 * the newest time at which every paired agent had stated that this database lacks nothing.
 */
import { forgetLooks } from "./address-states.ts";
import type { Database } from "./store.ts";

export interface RestoreMark {
  readonly wait: number; // a pass of the watcher that begins under it, or a later one, ends it
  readonly reason: string; // for operators
}

/** Equal to the name of no run. */
const noRun = "none";

/** Null unless the database was restored from a backup and has not caught up since. */
export function readRestoreMark(database: Database): RestoreMark | null {
  const row = database.get<{ value: string }>("SELECT value FROM meta WHERE name = 'restored'");
  if (row === undefined) return null;
  const { reason } = JSON.parse(row.value) as Pick<RestoreMark, "reason">;
  return { wait: readChainWaitNumber(database), reason };
}

/** The waits for the chains that ever began here; each ends the ones before. */
export function readChainWaitNumber(database: Database): number {
  const sql = "SELECT value FROM meta WHERE name = 'chainWaits'";
  return Number(database.get<{ value: string }>(sql)?.value ?? "0");
}

const setMeta =
  "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value";

function beginChainWait(database: Database): void {
  database.run(setMeta, "chainWaits", `${readChainWaitNumber(database) + 1}`);
}

/**
 * Marks the database as restored. No address leaves until every chain was read from now on, and
 * until the agents have reported the ceilings in their ledgers. Agents that have caught up in the
 * gateway's run `caughtUpIn` are not asked again, because this database lacks nothing of theirs.
 */
export function markRestored(database: Database, reason: string, caughtUpIn = noRun): void {
  database.run(setMeta, "restored", JSON.stringify({ reason }));
  beginChainWait(database);
  database.run("DELETE FROM meta WHERE name = 'copiedAt'");
  forgetLooks(database);
  database.run(
    "UPDATE agents SET awaitsCeiling = 1 WHERE unpairedAt IS NULL AND caughtUp <> ?",
    caughtUpIn,
  );
}

/**
 * Requires that every chain is read once more, because new addresses are watched. Does nothing if
 * the database was not restored.
 */
export function requireChainReread(database: Database): void {
  if (readRestoreMark(database) !== null) beginChainWait(database);
}

export function endRestoreMark(database: Database): void {
  database.run("DELETE FROM meta WHERE name = 'restored'");
}

/** True if the database is a copy that `backup` made and no gateway has run on. */
export function isBackupCopy(database: Database): boolean {
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
    `INSERT INTO vouched (network, block, hash) SELECT network, block, hash FROM cursors WHERE TRUE
     ON CONFLICT (network) DO UPDATE SET block = excluded.block, hash = excluded.hash`,
  );
}

/** Vouches for chains that have no vouched block yet. */
export function vouchForNewCursors(database: Database): void {
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
