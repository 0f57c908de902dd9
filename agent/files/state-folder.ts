/**
 * Where things lie in the state folder, and how its folders are made: owner-only, durable. Which room writes what is in
 * docs/operations.md. Socket paths have a kernel limit of 108 bytes; past 100 they move to a short folder that `run/where` names.
 */
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import envPaths from "env-paths";
import { AgentError } from "../../protocol/fault.ts";
import { replaceFile, syncFolder } from "./replace-file.ts";

/**
 * Paths inside one state folder, all absolute.
 * @public
 */
export interface StateFolder {
  readonly root: string;
  readonly signer: string; // keystore.json, ledger/, lock
  readonly courier: string; // link.json, lock
  readonly run: string; // courier.sock, operator.sock
  readonly pairing: string; // the file that says how far pairing came
}

/** @public */
export interface SocketPaths {
  readonly courier: string;
  readonly operator: string;
}

const socketBytesMax = 100;

/**
 * The folder named by `--state`, else by AUTOWITHDRAW_STATE (as the installed command sets it), else the user's own data folder (XDG
 * base directories). Touches no disk.
 * @public
 */
export function stateFolder(named: string | undefined = process.env.AUTOWITHDRAW_STATE): StateFolder {
  const root = named === undefined || named === "" ? envPaths("autowithdraw", { suffix: "" }).data : resolve(named);
  return {
    root,
    signer: join(root, "signer"),
    courier: join(root, "courier"),
    run: join(root, "run"),
    pairing: join(root, "pairing.json"),
  };
}

/**
 * Makes a folder, and those above it, for its owner alone; what is there already stays as it is. Durable when it returns.
 * @throws AgentError STATE_FOLDER
 * @public
 */
export function makePrivateFolder(path: string): void {
  try {
    const first = mkdirSync(path, { recursive: true, mode: 0o700 });
    if (first !== undefined) syncFolder(dirname(first));
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? "";
    throw new AgentError("STATE_FOLDER", "none", `${path} cannot be made (${reason})`, {}, { cause });
  }
}

/**
 * Whether a file or folder is there. What this user may not look at is not missing: whoever took it for that would pair again, or
 * put a backup over it.
 * @throws AgentError STATE_FOLDER
 * @public
 */
export function isThere(path: string): boolean {
  return looked(path, () => statSync(path)) !== null;
}

/**
 * The names in a folder, none when it is not there.
 * @throws AgentError STATE_FOLDER
 * @public
 */
export function namesIn(folder: string): readonly string[] {
  return looked(folder, () => readdirSync(folder)) ?? [];
}

/** Null for what is not there. */
function looked<T>(path: string, look: () => T): T | null {
  try {
    return look();
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? "";
    if (reason === "ENOENT" || reason === "ENOTDIR") return null;
    const message = `this user cannot see whether ${path} is there (${reason})`;
    throw new AgentError("STATE_FOLDER", "none", message, { hint: "run it as the user that runs crypto" }, { cause });
  }
}

/**
 * The socket paths a client connects to; nothing is made.
 * @public
 */
export function socketPaths(state: StateFolder): SocketPaths {
  return pathsIn(recordedFolder(state) ?? state.run);
}

/**
 * The socket paths the daemon listens on; makes their folder for its owner alone.
 * @throws AgentError STATE_FOLDER
 * @public
 */
export function makeSocketPaths(state: StateFolder): SocketPaths {
  makePrivateFolder(state.run);
  if (Buffer.byteLength(join(state.run, "operator.sock")) <= socketBytesMax) return pathsIn(state.run);
  const recorded = recordedFolder(state);
  if (recorded !== null && isOwnPrivateFolder(recorded)) return pathsIn(recorded);
  const short = mkdtempSync(join(tmpdir(), "autowithdraw-"));
  replaceFile(join(state.run, "where"), Buffer.from(`${short}\n`), 0o600);
  return pathsIn(short);
}

function pathsIn(folder: string): SocketPaths {
  return { courier: join(folder, "courier.sock"), operator: join(folder, "operator.sock") };
}

function recordedFolder(state: StateFolder): string | null {
  const file = join(state.run, "where");
  return existsSync(file) ? readFileSync(file, "utf8").trim() : null;
}

/** Somebody else may have made a folder of that name in a shared temporary folder. */
function isOwnPrivateFolder(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && (stat.mode & 0o077) === 0 && stat.uid === process.getuid?.();
}
