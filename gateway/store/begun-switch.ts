/**
 * Takes back the beginning of a change between SQLite's two modes. A gateway turns write-ahead on
 * at its start and off at its end, and SQLite changes the file's header for that under a rollback
 * journal. A process that is killed in this moment leaves the journal, and a reader that may not
 * write cannot open the file then. Only a journal that holds nothing but the first page as it is
 * now, apart from its mode and its counters, is such a beginning. Any other journal may be another
 * database's, and SQLite would destroy this database with it. Source: sqlite.org/fileformat2.html,
 * sections 1.3 and 3.
 */
import { closeSync, fstatSync, openSync, readSync, realpathSync } from "node:fs";
import { DatabaseSync } from "@photostructure/sqlite";
import { AgentError } from "../../base/fault.ts";

const headerBytes = 28;
const magic = "d9d505f920a163d7";
/** Journals of a gateway are far shorter: one page, and what pads its head. */
const journalBytesMax = 1 << 17;

/**
 * Ranges of the first page that a change of mode writes: the two versions, the change counter, and
 * the counter and version behind it.
 */
const changing = [
  [18, 20],
  [24, 28],
  [92, 100],
] as const;

const readonlyRollback = 776;

/** True if a reader could not open a file because an interrupted write has to be taken back. */
export function needsRollback(error: unknown): boolean {
  return (error as { readonly errcode?: unknown } | null)?.errcode === readonlyRollback;
}

/**
 * Takes back a change of mode that had begun. Harmless to call twice. Must run while this process
 * does not have the file open, because closing the file here would end its POSIX locks.
 * @throws AgentError GATEWAY_STORE_WAL if the journal is not of such a change, and errors of SQLite
 * and of the file system
 */
export function undoJournalModeSwitch(path: string, waitMs: number): void {
  const real = realpathSync(path);
  if (!isOfSwitch(real)) {
    const message = `${real}-journal is of another database: move it away; nothing was changed`;
    throw new AgentError("GATEWAY_STORE_WAL", "none", message, { path: real });
  }
  const raw = new DatabaseSync(path, { timeout: waitMs });
  try {
    raw.exec("SELECT count(*) FROM sqlite_schema");
  } finally {
    raw.close();
  }
}

function isOfSwitch(path: string): boolean {
  const journal = readStart(`${path}-journal`, journalBytesMax);
  if (journal.length < headerBytes || journal.subarray(0, 8).toString("hex") !== magic)
    return false;
  const [sectorBytes, pageBytes] = [journal.readUInt32BE(20), journal.readUInt32BE(24)];
  const recordBytes = pageBytes + 8;
  if (sectorBytes < headerBytes || pageBytes < 512 || journal.length >= journalBytesMax)
    return false;
  const page = withoutChanging(readStart(path, pageBytes));
  for (let at = sectorBytes; at + recordBytes <= journal.length; at += recordBytes) {
    const kept = withoutChanging(journal.subarray(at + 4, at + 4 + pageBytes));
    if (journal.readUInt32BE(at) !== 1 || !kept.equals(page)) return false;
  }
  return true;
}

function withoutChanging(page: Buffer): Buffer {
  const copy = Buffer.from(page);
  for (const [from, to] of changing) copy.fill(0, from, to);
  return copy;
}

function readStart(path: string, most: number): Buffer {
  const fd = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(Math.min(most, fstatSync(fd).size));
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(fd);
  }
}
