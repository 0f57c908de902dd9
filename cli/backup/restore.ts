/**
 * Puts a backup into an empty state folder. Reads the complete file first, then writes file by
 * file, the ledger before the keys, so nothing starts after a restore that was cut short. Each file
 * gets the owner of its folder.
 */
import {
  chownSync,
  closeSync,
  constants,
  fchownSync,
  fsyncSync,
  openSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { keystoreName } from "../../agent/files/keystore-name.ts";
import { syncFolder } from "../../agent/files/replace-file.ts";
import {
  fileNamesIn,
  isThere,
  makePrivateFolder,
  type StateFolder,
} from "../../agent/files/state-folder.ts";
import { AgentError, reasonOf } from "../../base/fault.ts";
import { checkBackup, ledgerPrefix } from "./check.ts";
import type { Manifest } from "./manifest.ts";

/**
 * The restored config.json lies next to the state, because an operator decides which one comes into
 * force.
 */
const configName = "config.from-backup.json";

/**
 * Restores `file`. `config` of the result: the path of the restored config.json, "" for none. The
 * caller wipes `encKey`.
 * @throws AgentError STATE_NOT_EMPTY, BACKUP_*, LEDGER_*, STATE_FOLDER; after the last one a part
 * of the files may be there
 */
export function restoreBackup(
  file: string,
  state: StateFolder,
  encKey: Uint8Array | null,
): { readonly manifest: Manifest; readonly config: string } {
  assertEmpty(state);
  const { hasKeys } = checkBackup(file, encKey);
  if (!hasKeys)
    throw new AgentError("BACKUP_NO_KEYS", "none", `${file} was made with --without-keys`);
  const ledger = join(state.signer, "ledger");
  for (const folder of [state.root, state.signer, state.courier]) makePrivateFolder(folder);
  orFolderFault(ledger, () => makeOwnFolder(ledger));
  let config = "";
  const manifest = checkBackup(file, encKey, ({ name, bytes }) => {
    const path = placeOf(name, state);
    if (name === "config.json") config = path;
    orFolderFault(path, () => writeNew(path, bytes));
  });
  return { manifest, config };
}

function placeOf(name: string, state: StateFolder): string {
  if (name.startsWith(ledgerPrefix)) return join(state.signer, "ledger", basename(name));
  if (name === keystoreName) return join(state.signer, name);
  if (name === "link.json") return join(state.courier, name);
  if (name === "pairing.json") return state.pairing;
  if (name === "config.json") return join(state.root, configName);
  throw new AgentError("BACKUP_DAMAGED", "none", `the backup holds ${name}, which belongs nowhere`);
}

/**
 * Folders, locks and sockets do not count as state, because an installation or a failed start makes
 * them.
 */
function assertEmpty(state: StateFolder): void {
  const kept: readonly (readonly [string, readonly string[]])[] = [
    [state.root, ["signer", "courier", "run"]],
    [state.signer, ["lock"]],
    [state.courier, ["lock"]],
  ];
  for (const [folder, known] of kept) {
    if (!isThere(folder)) continue;
    const found = fileNamesIn(folder).find((name) => !known.includes(name));
    if (found !== undefined)
      throw new AgentError("STATE_NOT_EMPTY", "none", `${join(folder, found)} is there already`);
  }
}

function makeOwnFolder(path: string): void {
  makePrivateFolder(path);
  const { uid, gid } = statSync(dirname(path));
  if (process.geteuid?.() === 0) chownSync(path, uid, gid);
  syncFolder(dirname(path));
}

/** Writes a new file of mode 0600 with the owner of its folder; durable when it returns. */
function writeNew(path: string, bytes: Uint8Array): void {
  const { uid, gid } = statSync(dirname(path));
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    if (process.geteuid?.() === 0) fchownSync(fd, uid, gid);
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  syncFolder(dirname(path));
}

function orFolderFault(path: string, act: () => void): void {
  try {
    act();
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    throw new AgentError(
      "STATE_FOLDER",
      "unknown",
      `${path} cannot be written (${reasonOf(cause)})`,
      {},
      { cause },
    );
  }
}
