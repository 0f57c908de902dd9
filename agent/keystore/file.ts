/**
 * The keystore's file: keystore.json in the signer's folder, 0600. It is written next to the old
 * one, synced, read back, opened, and only then renamed. So a keystore that does not open never
 * replaces one that does. docs/keystore.md section 5.
 */
import {
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { AgentError, reasonOf, runNamingFile } from "../../base/fault.ts";
import { keystoreName } from "../files/keystore-name.ts";
import { readTrusted } from "../files/trusted.ts";
import {
  type KeystoreContents,
  openKeystore,
  readKeystoreHeader,
  wipeKeystore,
} from "./keystore.ts";

/** A keystore has about one KiB. */
const fileBytesMax = 65_536;

/**
 * Reads the keystore's text.
 * @throws AgentError KEYSTORE_MISSING, KEYSTORE_FORMAT if it cannot be a keystore, FILE_LINK,
 * FILE_KIND, FILE_OWNER, FILE_EXPOSED
 */
export function readKeystore(folder: string): string {
  return readText(join(folder, keystoreName));
}

/**
 * Reads and opens the keystore; as with `openKeystore`, the caller wipes the contents.
 * @throws AgentError as `readKeystore` and `openKeystore` do
 */
export function openKeystoreIn(folder: string, encKey: Uint8Array): KeystoreContents {
  const text = readKeystore(folder);
  return runNamingFile(join(folder, keystoreName), () => openKeystore(text, encKey));
}

/**
 * True if there is a keystore file, whatever its content. @throws AgentError KEYSTORE_FORMAT if the
 * folder cannot be read
 */
export function hasKeystore(folder: string): boolean {
  try {
    readKeystore(folder);
    return true;
  } catch (cause) {
    if (
      !(cause instanceof AgentError) ||
      (cause.code === "KEYSTORE_FORMAT" && cause.context.reason !== "size")
    )
      throw cause;
    if (cause.code.startsWith("FILE_")) throw cause;
    return cause.code !== "KEYSTORE_MISSING";
  }
}

/**
 * Writes a sealed keystore: temporary file, sync, read back, open with `encKey`, rename, sync of
 * the folder. The same wallet may be written again; nothing has changed if it throws.
 * @throws AgentError KEYSTORE_EXISTS if there is another wallet's keystore, KEYSTORE_WRITE
 */
export function writeKeystore(input: {
  readonly folder: string;
  readonly text: string;
  readonly encKey: Uint8Array;
}): void {
  const { folder, text, encKey } = input;
  const path = join(folder, keystoreName);
  const unfinished = `${path}.tmp`;
  assertSameWallet(folder, text);
  try {
    if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined)
      syncFolder(dirname(folder));
    writeText(unfinished, text);
    if (readText(unfinished) !== text) throw new Error("read back differently");
    wipeKeystore(openKeystore(text, encKey));
    renameSync(unfinished, path);
    syncFolder(folder);
  } catch (cause) {
    removeQuietly(unfinished);
    throw new AgentError(
      "KEYSTORE_WRITE",
      "none",
      `${path} could not be written: ${reasonOf(cause)}`,
      {},
      { cause },
    );
  }
}

function assertSameWallet(folder: string, text: string): void {
  if (!hasKeystore(folder)) return;
  const path = join(folder, keystoreName);
  const { wallet } = runNamingFile(path, () => readKeystoreHeader(readKeystore(folder)));
  if (wallet !== readKeystoreHeader(text).wallet) {
    throw new AgentError("KEYSTORE_EXISTS", "none", `${path} is the keystore of another wallet`, {
      wallet,
    });
  }
}

/** As `readKeystore`, for any file. */
export function readText(path: string): string {
  let bytes: Uint8Array | null;
  try {
    bytes = readTrusted(path, fileBytesMax, { owner: "folder", isSecret: true });
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    const reason = (cause as NodeJS.ErrnoException).code ?? "";
    if (reason === "ENOENT")
      throw new AgentError("KEYSTORE_MISSING", "none", `there is no keystore ${path}`);
    if (reason === "EACCES") throw notOurs(path, cause);
    throw new AgentError(
      "KEYSTORE_FORMAT",
      "none",
      `${path} cannot be read (${reason})`,
      { reason },
      { cause },
    );
  }
  if (bytes === null)
    throw new AgentError("KEYSTORE_FORMAT", "none", `${path} is too large for a keystore`, {
      reason: "size",
    });
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
}

/**
 * Returns the fault with a hint of its own: the keystore itself is sound, so the code's hint, a
 * backup, would be wrong.
 */
function notOurs(path: string, cause: unknown): AgentError {
  const folder = dirname(path);
  const user = outerUid();
  const message = `${path} cannot be read (EACCES): it and ${folder} must belong to the user that runs crypto (uid ${user})`;
  const hint = `as root: chown -R ${user} ${folder} && chmod -R u=rwX,go= ${folder}`;
  return new AgentError("KEYSTORE_FORMAT", "none", message, { reason: "EACCES", hint }, { cause });
}

/**
 * Returns this process's user as root sees it: `pair` seals in its own user namespace, in which
 * every user is root. user_namespaces(7).
 */
function outerUid(): number {
  const uid = process.geteuid?.() ?? 0;
  try {
    for (const row of readFileSync("/proc/self/uid_map", "utf8").trim().split("\n")) {
      const [inside = 0, outside = 0, count = 0] = row.trim().split(/\s+/).map(Number);
      if (uid >= inside && uid < inside + count) return outside + uid - inside;
    }
  } catch {
    // Without such namespaces, root sees the same number.
  }
  return uid;
}

function writeText(path: string, text: string): void {
  removeQuietly(path); // Created again, so that mode and owner are ours.
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const fd = openSync(path, flags, 0o600);
  try {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

export function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Missing, or not removable: in the second case creating it again fails and reports why.
  }
}

export function syncFolder(folder: string): void {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
