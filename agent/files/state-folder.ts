/**
 * The layout of the state folder, and the making of its folders: owner-only, durable.
 * docs/operations.md names the module that writes each file. Socket paths have a kernel limit of
 * 108 bytes; past 100 they move to a short folder that `run/where` names.
 */
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { AgentError } from "../../base/fault.ts";
import { replaceFile, syncFolder } from "./replace-file.ts";
import { isTrustedFolder, readTrusted } from "./trusted.ts";

/** Paths inside one state folder, all absolute. */
export interface StateFolder {
  readonly root: string;
  readonly signer: string; // keystore.json, ledger/, lock
  readonly courier: string; // link.json, lock
  readonly run: string; // courier.sock, operator.sock
  readonly pairing: string; // the file with the progress of pairing
}

export interface SocketPaths {
  readonly courier: string;
  readonly operator: string;
}

const socketBytesMax = 100;
const whereBytesMax = 4_096;

/**
 * The folder named by `--state`, else by AUTOWITHDRAW_STATE (which the installed command sets),
 * else the user's own data folder (XDG base directories). Touches no disk.
 */
export function stateFolder(
  named: string | undefined = process.env.AUTOWITHDRAW_STATE,
): StateFolder {
  const root =
    named === undefined || named === "" ? join(userData(), "autowithdraw") : resolve(named);
  return {
    root,
    signer: join(root, "signer"),
    courier: join(root, "courier"),
    run: join(root, "run"),
    pairing: join(root, "pairing.json"),
  };
}

/** Source: XDG Base Directory Specification, $XDG_DATA_HOME. */
function userData(): string {
  const named = process.env.XDG_DATA_HOME ?? "";
  return named === "" ? join(homedir(), ".local", "share") : named;
}

/**
 * Makes a folder, and those above it, only for its owner. Existing folders stay unchanged. Durable
 * when it returns.
 * @throws AgentError STATE_FOLDER, LEDGER_DISK_FULL
 */
export function makePrivateFolder(path: string): void {
  making(path, () => {
    const first = mkdirSync(path, { recursive: true, mode: 0o700 });
    if (first !== undefined) syncFolder(dirname(first));
  });
}

function making<T>(path: string, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? "";
    const code = reason === "ENOSPC" || reason === "EDQUOT" ? "LEDGER_DISK_FULL" : "STATE_FOLDER";
    throw new AgentError(code, "none", `${path} cannot be made (${reason})`, {}, { cause });
  }
}

/**
 * True if a file or folder exists. Throws if this user may not look, because an error that counted
 * as "missing" could cause a second pairing, or a restore over the data.
 * @throws AgentError STATE_FOLDER
 */
export function isThere(path: string): boolean {
  return looked(path, () => statSync(path)) !== null;
}

/**
 * The names in a folder; none if the folder is missing.
 * @throws AgentError STATE_FOLDER
 */
export function fileNamesIn(folder: string): readonly string[] {
  return looked(folder, () => readdirSync(folder)) ?? [];
}

/** Null for a missing file or folder. */
function looked<T>(path: string, look: () => T): T | null {
  try {
    return look();
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? "";
    if (reason === "ENOENT" || reason === "ENOTDIR") return null;
    const message = `this user cannot see whether ${path} is there (${reason})`;
    throw new AgentError(
      "STATE_FOLDER",
      "none",
      message,
      { hint: "run it as the user that runs crypto" },
      { cause },
    );
  }
}

/**
 * The socket paths for a client; makes nothing. A missing folder has no sockets, and connecting
 * reports this.
 * @throws AgentError FILE_* if another user could have put the sockets or `run/where` there, or
 * made the folder that it names
 */
export function socketPaths(state: StateFolder): SocketPaths {
  const recorded = recordedFolder(state);
  if (recorded !== null)
    isTrustedFolder(recorded, { owner: "folder", isSecret: true, userOf: state.run });
  return pathsIn(recorded ?? state.run);
}

/**
 * The socket paths on which the daemon listens. Makes their folder, only for its owner.
 * @throws AgentError STATE_FOLDER, LEDGER_DISK_FULL, FILE_* about `run/` and `run/where`
 */
export function makeSocketPaths(state: StateFolder): SocketPaths {
  makePrivateFolder(state.run);
  const recorded = recordedFolder(state);
  if (fits(state.run)) return pathsIn(state.run);
  if (recorded !== null && isOwnPrivateFolder(recorded)) return pathsIn(recorded);
  const place = shortFolder();
  const short = making(place, () => mkdtempSync(join(place, "autowithdraw-")));
  const where = join(state.run, "where");
  making(where, () => replaceFile(where, Buffer.from(`${short}\n`), 0o600));
  return pathsIn(short);
}

function pathsIn(folder: string): SocketPaths {
  return { courier: join(folder, "courier.sock"), operator: join(folder, "operator.sock") };
}

function fits(folder: string): boolean {
  return Buffer.byteLength(join(folder, "operator.sock")) <= socketBytesMax;
}

/**
 * The user's own folder for sockets (XDG base directories) if only this user has rights to it, else
 * the shared temporary folder.
 */
function shortFolder(): string {
  const { XDG_RUNTIME_DIR: own = "" } = process.env;
  if (isAbsolute(own) && fits(join(own, "autowithdraw-XXXXXX")) && isOwnPrivateFolder(own))
    return own;
  return fits(join(tmpdir(), "autowithdraw-XXXXXX")) ? tmpdir() : "/tmp";
}

/** Null if `run/` itself serves. For any other error here, connecting fails too and reports it. */
function recordedFolder(state: StateFolder): string | null {
  const trust = { owner: "folder", isSecret: false } as const;
  try {
    if (!isTrustedFolder(state.run, trust) || fits(state.run)) return null;
    const bytes = readTrusted(join(state.run, "where"), whereBytesMax, trust);
    const folder = bytes === null ? "" : Buffer.from(bytes).toString("utf8").trim();
    return isAbsolute(folder) ? folder : null;
  } catch (error) {
    if (error instanceof AgentError) throw error;
    return null;
  }
}

/** Another user may have made a folder of that name in a shared temporary folder. */
function isOwnPrivateFolder(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return (
    stat?.isDirectory() === true && (stat.mode & 0o077) === 0 && stat.uid === process.getuid?.()
  );
}
