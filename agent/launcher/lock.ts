/**
 * Allows one daemon per state folder: a kernel lock (flock(2)) on an inherited descriptor. The lock
 * ends with its last process, so it is never stale. util-linux's `flock` takes it, because Node has
 * no call for it; the descriptor stays ours.
 */
import { spawnSync } from "node:child_process";
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AgentError, reasonOf } from "../../base/fault.ts";
import { systemEnvironment } from "../../base/system-path.ts";
import { makePrivateFolder } from "../files/state-folder.ts";
import { isTrustedFolder } from "../files/trusted.ts";

/** A held lock. A child that gets `fd` shares it: the lock lasts as long as either. */
export interface FolderLock {
  readonly fd: number;
  release(): void;
}

/** Long enough for a daemon that was asked to end. */
export const lockWaitMs = 5_000;
const retryMs = 100;

/**
 * Takes the lock of a process's folder, and makes a missing folder. Tries again until `waitMs` have
 * passed.
 * @throws AgentError STATE_IN_USE when another process keeps it, STATE_LOCK when it cannot be taken
 * at all, STATE_FOLDER, FILE_* when others could change the folder
 */
export async function takeLock(folder: string, waitMs: number): Promise<FolderLock> {
  makePrivateFolder(folder);
  isTrustedFolder(folder, { owner: "folder", isSecret: false });
  const path = join(folder, "lock");
  for (let waitedMs = 0; ; waitedMs += retryMs) {
    const fd = tryLock(path);
    if (fd !== null) return { fd, release: () => closeSync(fd) };
    if (waitedMs >= waitMs) {
      const holder = readHolder(path);
      const who = holder === "" ? "another crypto" : `another crypto (process ${holder})`;
      throw new AgentError("STATE_IN_USE", "none", `${who} runs on ${dirname(folder)}`);
    }
    await sleep(retryMs);
  }
}

/** The descriptor, locked, or null when another process holds the lock. */
function tryLock(path: string): number | null {
  const fd = openLock(path);
  let kept = false;
  try {
    const done = spawnSync("flock", ["--exclusive", "--nonblock", "3"], {
      stdio: ["ignore", "ignore", "ignore", fd],
      env: systemEnvironment,
    });
    if (done.error !== undefined) {
      throw new AgentError(
        "STATE_LOCK",
        "none",
        `flock cannot be started: ${done.error.message}`,
        {},
        { cause: done.error },
      );
    }
    if (done.status === 1) return null;
    if (done.status !== 0)
      throw new AgentError(
        "STATE_LOCK",
        "none",
        `${path} cannot be locked (flock ended with ${done.status})`,
      );
    // A lock on a file that was replaced meanwhile would exclude no other process.
    if (statSync(path, { throwIfNoEntry: false })?.ino !== fstatSync(fd).ino) return null;
    noteHolder(fd);
    kept = true;
    return fd;
  } finally {
    if (!kept) closeSync(fd);
  }
}

/**
 * Writes this process's id for other processes. A read-only disk keeps an older id, a full one
 * none.
 */
function noteHolder(fd: number): void {
  try {
    ftruncateSync(fd);
    writeSync(fd, `${process.pid}\n`, 0);
  } catch (cause) {
    if (!isReadOnlyDisk(cause) && !isFullDisk(cause)) throw cause;
  }
}

/** A file opened for reading answers a write with EBADF, a truncation with EINVAL: ftruncate(2). */
const isReadOnlyDisk = (cause: unknown): boolean =>
  ["EROFS", "EBADF", "EINVAL"].includes(reasonOf(cause));

const isFullDisk = (cause: unknown): boolean => ["ENOSPC", "EDQUOT"].includes(reasonOf(cause));

/** A lock needs no write. On a read-only disk the file is opened for reading. */
function openLock(path: string): number {
  try {
    return openWith(path, constants.O_RDWR | constants.O_CREAT);
  } catch (cause) {
    if (reasonOf(cause) === "EROFS" && statSync(path, { throwIfNoEntry: false }) !== undefined)
      return openWith(path, constants.O_RDONLY);
    const reason = (cause as NodeJS.ErrnoException).code ?? "";
    if (isFullDisk(cause))
      throw new AgentError(
        "LEDGER_DISK_FULL",
        "none",
        `${path} cannot be made (${reason})`,
        {},
        { cause },
      );
    const context =
      reason === "EACCES"
        ? { hint: `check that the user who runs this owns ${dirname(path)} and all in it` }
        : {};
    throw new AgentError("STATE_LOCK", "none", `${path} cannot be opened (${reason})`, context, {
      cause,
    });
  }
}

const openWith = (path: string, flags: number): number =>
  openSync(path, flags | constants.O_NOFOLLOW, 0o600);

/** The holder's process id, "" if it is unknown. */
function readHolder(path: string): string {
  try {
    return /^\d{1,10}/.exec(readFileSync(path, "utf8"))?.[0] ?? "";
  } catch {
    return "";
  }
}
