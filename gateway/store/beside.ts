/**
 * Which write-ahead file lies beside a database that nobody has opened yet. SQLite plays one that
 * it finds into whatever file has the name, also into a copy that a person put in the place of a
 * database whose process was killed: both are lost then. Such a copy tells itself apart, since
 * VACUUM INTO makes a file that keeps a rollback journal, and a gateway marks its file for
 * write-ahead before the first write-ahead file is made. Sources: sqlite.org/fileformat2.html,
 * section 1.3.3; sqlite.org/wal.html, section 3.1.
 */
import { closeSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { AgentError } from "../../protocol/fault.ts";

const versionsAt = 18; // the write version, then the read version
const rollback = 1;

/**
 * Refuses to open a file beside which another database's write-ahead file lies. Changes nothing.
 * Called before this process has the file open: closing it here would end its own POSIX locks.
 * @throws AgentError GATEWAY_STORE_WAL
 */
export function refuseOthersWal(path: string): void {
  const real = realpathSync(path);
  // In this order: a gateway that starts meanwhile marks its file before it makes the other one.
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
