/**
 * One check of kind, owner and mode for every file and folder that the product reads. It works on
 * the open descriptor, so no other user can replace the file between check and use. A link is never
 * followed in the last part of a path. Touches only the given path. Sources: open(2), inode(7),
 * symlink(7).
 */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { AgentError } from "../../base/fault.ts";
import { allocateFixedBytes } from "./fixed-bytes.ts";

/**
 * The accepted owner of a file. `own`: root and this user. `folder`: for root also the user who
 * owns the folder around it, because root looks after other users' agents. A folder may have any
 * owner if only root could have given it away. `any`: an operator named this very file, and is
 * responsible for it.
 */
export type TrustedOwner = "own" | "folder" | "any";

export interface TrustRequirement {
  readonly owner: TrustedOwner;
  /**
   * If true, group and world must have no right at all; otherwise they may read, and never write.
   */
  readonly isSecret: boolean;
  /**
   * A folder made only for this process lies around the file and protects it, so owner and mode are
   * not checked.
   */
  readonly isGuarded?: boolean;
  /** With `folder`: the folder whose owner counts, instead of the folder around. */
  readonly userOf?: string;
}

/**
 * O_PATH: names a file without opening it, so rights, pipes and devices do not matter. Node has no
 * name for it.
 */
const openPath = 0o10000000;
const root = 0;

/**
 * Opens a file that passes the check. `flags` as of open(2); a new file gets 0600. Throws the
 * system's own errors, such as ENOENT, unchanged.
 * @throws AgentError FILE_LINK, FILE_KIND, FILE_OWNER, FILE_EXPOSED
 */
export function openTrusted(path: string, flags: number, trust: TrustRequirement): number {
  const fd = openUnfollowed(path, flags);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw notA("file", path);
    assertTrusted(path, stat, trust);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * The bytes of a file that passes the check, null if there are more than `bytesMax`. They never
 * move in memory, so the caller can wipe them.
 * @throws AgentError as `openTrusted`
 */
export function readTrusted(
  path: string,
  bytesMax: number,
  trust: TrustRequirement,
): Uint8Array | null {
  const fd = openTrusted(path, constants.O_RDONLY, trust);
  try {
    const { size } = fstatSync(fd);
    if (size > bytesMax) return null;
    const bytes = allocateFixedBytes(size);
    let length = 0;
    while (length < size) {
      const got = readSync(fd, bytes, length, size - length, length);
      if (got === 0) break;
      length += got;
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}

/**
 * Checks that a folder may be trusted with files. A missing folder is no fault, but returns false.
 * @throws AgentError FILE_LINK, FILE_KIND, FILE_OWNER, FILE_EXPOSED
 */
export function isTrustedFolder(path: string, trust: TrustRequirement): boolean {
  const fd = openedOrMissing(path);
  if (fd === null) return false;
  try {
    const stat = fstatSync(fd);
    if (stat.isSymbolicLink()) throw linked(path);
    if (!stat.isDirectory()) throw notA("folder", path);
    assertTrusted(path, stat, trust);
    return true;
  } finally {
    closeSync(fd);
  }
}

function openedOrMissing(path: string): number | null {
  try {
    return openSync(path, openPath | constants.O_NOFOLLOW);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw error;
  }
}

/** Without O_NONBLOCK, opening a named pipe without a writer would wait without end. */
function openUnfollowed(path: string, flags: number): number {
  try {
    return openSync(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ELOOP") throw linked(path);
    if (code === "ENXIO" || code === "EISDIR") throw notA("file", path);
    throw error;
  }
}

function assertTrusted(path: string, stat: Stats, trust: TrustRequirement): void {
  const { isSecret, isGuarded } = trust;
  if (isGuarded === true) return;
  if (!isOwner(path, stat, trust)) {
    const hint = `look at it; where it is right: chown ${process.geteuid?.() ?? root} ${path}`;
    const message = `${path} belongs to user ${stat.uid}, who is neither root nor the user of this program`;
    throw new AgentError("FILE_OWNER", "none", message, { hint });
  }
  const open = stat.mode & (isSecret ? 0o077 : 0o022);
  if (open === 0) return;
  const mode = (stat.mode & 0o7777).toString(8).padStart(4, "0");
  const [verb, right] = isSecret ? ["reached", "go="] : ["changed", "go-w"];
  throw new AgentError(
    "FILE_EXPOSED",
    "none",
    `${path} can be ${verb} by others than its owner (mode ${mode})`,
    {
      hint: `chmod ${right} ${path}; if others could log in here, ${isSecret ? "treat the secrets in it as known to them" : "look whether they changed it"}`,
    },
  );
}

function isOwner(path: string, stat: Stats, { owner, userOf }: TrustRequirement): boolean {
  const self = process.geteuid?.() ?? root;
  if (owner === "any" || stat.uid === root || stat.uid === self) return true;
  if (owner !== "folder" || self !== root) return false;
  const around = statSync(userOf ?? dirname(path));
  const isRootsAlone = around.uid === root && (around.mode & 0o022) === 0;
  return around.uid === stat.uid || (userOf === undefined && stat.isDirectory() && isRootsAlone);
}

function linked(path: string): AgentError {
  return new AgentError(
    "FILE_LINK",
    "none",
    `${path} is a symbolic link, and anybody who made it decides what is read`,
  );
}

function notA(kind: "file" | "folder", path: string): AgentError {
  return new AgentError("FILE_KIND", "none", `${path} is not a ${kind}`);
}
