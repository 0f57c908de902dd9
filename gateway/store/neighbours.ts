/**
 * Other processes that have the database open, by the kernel's own list of locks. SQLite holds a
 * lock on the file of shared memory as long as a connection is open. Reads /proc, and returns
 * nothing where it cannot. Sources: proc_locks(5); sqlite.org/walformat.html, section 2.2.
 */
import { readFileSync, statSync } from "node:fs";

export interface OtherDatabaseProcess {
  readonly pid: number;
  readonly name: string; // of the program; "" if it has ended
}

const namedMax = 8;

/** The inode of a line of /proc/locks, and the process; null for a line of another form. */
export function parseProcLock(
  line: string,
): { readonly pid: number; readonly inode: string } | null {
  const [, pid = "", inode = ""] =
    /^\d+: (?:-> )?\w+\s+\w+\s+\w+\s+(\d+)\s+[0-9a-f]+:[0-9a-f]+:(\d+)\s/.exec(line) ?? [];
  return pid === "" ? null : { pid: Number(pid), inode };
}

/** Other processes than this one that have the database at `path` open; at most eight. */
export function findOtherDatabaseProcesses(
  path: string,
  ownPid = process.pid,
): readonly OtherDatabaseProcess[] {
  try {
    const inodes = new Set(
      [path, `${path}-shm`].map((file) =>
        String(statSync(file, { throwIfNoEntry: false })?.ino ?? ""),
      ),
    );
    const locks = readFileSync("/proc/locks", "utf8").split("\n").map(parseProcLock);
    const pids = new Set(
      locks.flatMap((lock) => (lock !== null && inodes.has(lock.inode) ? [lock.pid] : [])),
    );
    pids.delete(ownPid);
    return [...pids].slice(0, namedMax).map((pid) => ({ pid, name: nameOf(pid) }));
  } catch {
    return []; // the system does not tell
  }
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return "";
  }
}

/** "sqlite3 (process 1234)", for an operator; "" without one. */
export const otherProgramsText = (neighbours: readonly OtherDatabaseProcess[]): string =>
  neighbours.map(({ pid, name }) => `${name || "a program"} (process ${pid})`).join(", ");
