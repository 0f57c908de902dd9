/**
 * Detects a write-ahead file that belongs to another database, before this process opens the
 * database. SQLite applies a write-ahead file to any database of the same name. If an operator puts
 * a copy in the place of a database whose process was killed, SQLite would apply the old file to
 * the copy, and both would be lost. A copy can be recognized: VACUUM INTO makes a file with a
 * rollback journal, and a gateway marks its file for write-ahead before it makes the first
 * write-ahead file. Sources: sqlite.org/fileformat2.html, section 1.3.3; sqlite.org/wal.html,
 * section 3.1.
 */
import { closeSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { AgentError } from "../../base/fault.ts";

const versionsAt = 18; // write version, then read version
const rollback = 1;

/**
 * Refuses to open a file if another database's write-ahead file lies next to it. Changes nothing.
 * Must run before this process has the file open, because closing the file here would end the
 * process's own POSIX locks.
 * @throws AgentError GATEWAY_STORE_WAL
 */
export function refuseOthersWal(path: string): void {
  const real = realpathSync(path);
  // The order matters, because a gateway that starts meanwhile marks the database file before
  // making the write-ahead file.
  if ((statSync(`${real}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  if (!keepsRollbackJournal(real)) return;
  const message = `${real}-wal is of another database: move it and ${real}-shm away; nothing was changed`;
  throw new AgentError("GATEWAY_STORE_WAL", "none", message, { path: real });
}

function keepsRollbackJournal(path: string): boolean {
  const versions = new Uint8Array(2);
  const fd = openSync(path, "r");
  try {
    readSync(fd, versions, 0, versions.length, versionsAt);
  } finally {
    closeSync(fd);
  }
  return versions.every((version) => version === rollback);
}
