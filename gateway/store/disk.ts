/**
 * Why a database cannot be used, by what SQLite or the system says of it, each cause with a code of
 * its own: a full disk damages nothing, and a backup put back then loses what came since. And the
 * room on its disk. Sources: sqlite.org/rescode.html; errno(3).
 */
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { AgentError } from "../../protocol/fault.ts";

/**
 * Below this a gateway says that its disk has too little room; the agent's ledger has the same.
 * @public
 */
export const roomBytesMin = 64 * 1024 * 1024;
/**
 * People are told below this many times as much, while there is time to make room.
 * @public
 */
export const roomWarningFactor = 4;

const primaryCodeMask = 0xff;
const full = { sqlite: [13], system: ["ENOSPC", "EDQUOT"] } as const;
/**
 * SQLITE_IOERR_SHMSIZE: the file of shared memory beside the database cannot grow, which is an
 * error of input and output by its number and a full disk by its cause.
 */
const noRoomBeside = 4874;
// Results of a file that is none of SQLite's, or whose pages contradict each other.
const damaged = { sqlite: [11, 26], system: [] } as const;
const refused = { sqlite: [3, 14, 23], system: ["EACCES", "EPERM", "EMFILE", "ENFILE"] } as const;

interface Cause {
  readonly sqlite: readonly number[];
  readonly system: readonly string[];
}

function isOf(error: unknown, { sqlite, system }: Cause): boolean {
  const { errcode, code } = (error ?? {}) as { readonly errcode?: unknown; readonly code?: unknown };
  if (typeof errcode === "number") return sqlite.includes(errcode & primaryCodeMask);
  return typeof code === "string" && system.includes(code);
}

/**
 * Whether the disk has no room for what was asked.
 * @public
 */
export function isDiskFull(error: unknown): boolean {
  const isBeside = (error as { readonly errcode?: unknown } | null)?.errcode === noRoomBeside;
  return isBeside || isOf(error, full);
}

/**
 * The fault of a database file, or of the file beside it, that could not be opened or read.
 * GATEWAY_DISK_FULL, GATEWAY_STORE_ACCESS, GATEWAY_STORE_INVALID (damaged: here alone a backup
 * helps), else GATEWAY_DISK_FAILED.
 */
export function unusableStore(path: string, cause: unknown): AgentError {
  const reason = cause instanceof Error ? cause.message : "";
  return new AgentError(codeOf(cause), "none", `${path} cannot be used as a database: ${reason}`, { path }, { cause });
}

function codeOf(cause: unknown) {
  if (isDiskFull(cause)) return "GATEWAY_DISK_FULL";
  if (isOf(cause, refused)) return "GATEWAY_STORE_ACCESS";
  return isOf(cause, damaged) ? "GATEWAY_STORE_INVALID" : "GATEWAY_DISK_FAILED";
}

/**
 * Free bytes on the disk of a file, as its user may fill them; null where that cannot be told.
 * @public
 */
export function freeBytesOf(path: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize;
  } catch {
    return null;
  }
}
