/**
 * Finds why a database cannot be used, from the error of SQLite or the system. Each cause has its
 * own code, because a full disk damages nothing, and restoring a backup then would lose all newer
 * data. Also measures the free space on the disk. Sources: sqlite.org/rescode.html; errno(3).
 */
import { accessSync, constants, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { AgentError, reasonOf } from "../../base/fault.ts";

/**
 * Below this value a gateway reports too little free space. The agent's ledger has the same limit.
 */
export const freeDiskBytesMin = 64 * 1024 * 1024;
/**
 * A start writes the marks again, the lock, the shared memory of 32 KiB and the pages of its first
 * transaction. With less room than this it may not end well.
 */
const startBytesMin = 1024 * 1024;

/**
 * The write-ahead file is cut to this size when its content is in the database. A larger one means
 * that another process keeps an old state open, and grows until the disk is full.
 */
export const walBytesMax = 64 * 1024 * 1024;

const primaryCodeMask = 0xff;
const full = { sqlite: [13], system: ["ENOSPC", "EDQUOT"] } as const;
/**
 * SQLITE_IOERR_SHMSIZE: the file of shared memory next to the database cannot grow. Its number is
 * an input/output error, but its cause is a full disk.
 */
const noRoomBeside = 4874;
// Errors of a file that is not SQLite's, or whose pages contradict each other.
const damaged = { sqlite: [11, 26], system: [] } as const;
const unopened = { sqlite: [14], system: [] } as const;
const refused = { sqlite: [3, 14, 23], system: ["EACCES", "EPERM", "EMFILE", "ENFILE"] } as const;

interface Cause {
  readonly sqlite: readonly number[];
  readonly system: readonly string[];
}

function isOf(error: unknown, { sqlite, system }: Cause): boolean {
  const { errcode, code } = (error ?? {}) as {
    readonly errcode?: unknown;
    readonly code?: unknown;
  };
  if (typeof errcode === "number") return sqlite.includes(errcode & primaryCodeMask);
  return typeof code === "string" && system.includes(code);
}

/** True if the disk had no room for the operation. */
export function isDiskFull(error: unknown): boolean {
  const isBeside = (error as { readonly errcode?: unknown } | null)?.errcode === noRoomBeside;
  return isBeside || isOf(error, full);
}

/**
 * The fault of a database file, or of the file next to it, that could not be opened or read.
 * GATEWAY_DISK_FULL, GATEWAY_STORE_ACCESS, GATEWAY_STORE_INVALID (damaged: only here a backup
 * helps), else GATEWAY_DISK_FAILED.
 */
export function unusableStoreFault(path: string, cause: unknown): AgentError {
  const reason = cause instanceof Error ? cause.message : "";
  return new AgentError(
    codeOf(path, cause),
    "none",
    `${path} cannot be used as a database: ${reason}`,
    { path },
    { cause },
  );
}

function codeOf(path: string, cause: unknown) {
  if (isDiskFull(cause)) return "GATEWAY_DISK_FULL";
  if (isOf(cause, unopened)) {
    // SQLite says only that a file beside the database could not be made.
    if (isOnReadOnlyDisk(path)) return "GATEWAY_DISK_FAILED";
    if (hasNoRoom(path)) return "GATEWAY_DISK_FULL";
  }
  if (isOf(cause, refused)) return "GATEWAY_STORE_ACCESS";
  return isOf(cause, damaged) ? "GATEWAY_STORE_INVALID" : "GATEWAY_DISK_FAILED";
}

/** Free bytes that this user may fill on the disk of a file; null if the system cannot tell. */
export function freeBytesOf(path: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize;
  } catch {
    return null;
  }
}

/**
 * True if the disk of a file has not the room that a start needs, in bytes or in files. A file
 * system that counts no files says 0 of 0.
 */
export function hasNoRoom(path: string): boolean {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(dirname(path));
    return bavail * bsize < startBytesMin || (files > 0 && ffree === 0);
  } catch {
    return false;
  }
}

/** True if the file system of a file is mounted to be read alone. Writes nothing. */
export function isOnReadOnlyDisk(path: string): boolean {
  try {
    accessSync(dirname(path), constants.W_OK);
    return false;
  } catch (cause) {
    return reasonOf(cause) === "EROFS";
  }
}

/** The size of a file; 0 if there is none. */
export function fileBytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
