/**
 * Seals the keystore again under another encKey. The new file is written next to the old one,
 * synced, read back, opened and compared, and only then renamed. So at every moment one keystore
 * exists that opens with the old encKey or with the new one. Touches only the keystore's folder,
 * through KeystoreDisk. docs/keystore.md section 5.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  openSync,
  renameSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { AgentError, reasonOf, runNamingFile } from "../../base/fault.ts";
import { keystoreName } from "../files/keystore-name.ts";
import { assertEncKey } from "./enckey.ts";
import { readText, removeQuietly, syncFolder } from "./file.ts";
import { type KeystoreContents, openKeystore, sealKeystore, wipeKeystore } from "./keystore.ts";
import { pairedAccountsOf } from "./nodes.ts";

/**
 * A folder as rekeying needs it. Calls that change something throw the disk's error, and are
 * durable only after their sync.
 */
export interface KeystoreDisk {
  /** @throws AgentError KEYSTORE_MISSING, KEYSTORE_FORMAT, FILE_* */
  read(name: string): string;
  /** Creates a file that did not exist, with owner and mode of the file `like`. */
  create(name: string, text: string, like: string): void;
  sync(name: string): void;
  rename(from: string, to: string): void;
  syncFolder(): void;
  /** Removes a file if possible; if not, creating it again fails and reports why. */
  remove(name: string): void;
}

export interface RekeyResult {
  readonly wallet: string; // fingerprint
  readonly addresses: readonly string[]; // the hot wallets' addresses
  /** True if the keystore opened with the new encKey already: an earlier run had come that far. */
  readonly isFromBefore: boolean;
}

/** The temporary file next to the keystore; the next run removes one that a crash left. */
const unfinishedName = `${keystoreName}.tmp`;

export function keystoreDisk(folder: string): KeystoreDisk {
  const path = (name: string): string => join(folder, name);
  return {
    read: (name) => readText(path(name)),
    create: (name, text, like) => {
      const old = withFile(path(like), constants.O_RDONLY, (fd) => fstatSync(fd));
      withFile(path(name), constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, (fd) => {
        const made = fstatSync(fd);
        // Root may rekey the file of the signer's user, who must be able to read it afterwards.
        if (made.uid !== old.uid || made.gid !== old.gid) fchownSync(fd, old.uid, old.gid);
        fchmodSync(fd, old.mode & 0o777);
        const bytes = Buffer.from(text);
        for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
      });
    },
    sync: (name) => withFile(path(name), constants.O_RDONLY, (fd) => fsyncSync(fd)),
    rename: (from, to) => renameSync(path(from), path(to)),
    syncFolder: () => syncFolder(folder),
    remove: (name) => removeQuietly(path(name)),
  };
}

function withFile<T>(path: string, flags: number, use: (fd: number) => T): T {
  const fd = openSync(path, flags | constants.O_NOFOLLOW, 0o600);
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Seals the keystore under `newKey`. The caller holds the signer's lock and wipes both keys. A
 * repeat after a crash is harmless and finishes the work.
 * @throws AgentError ENCKEY_WEAK, ENCKEY_SAME, KEYSTORE_* with nothing changed;
 * KEYSTORE_UNCONFIRMED if the disk failed so late that either keystore may be in place after a
 * power failure
 */
export function rekeyKeystore(input: {
  readonly disk: KeystoreDisk;
  readonly path: string; // the folder's path, for messages
  readonly oldKey: Uint8Array;
  readonly newKey: Uint8Array;
  readonly random: (bytes: number) => Uint8Array;
}): RekeyResult {
  const { disk, oldKey, newKey, random } = input;
  const path = join(input.path, keystoreName);
  assertEncKey(newKey);
  if (Buffer.from(oldKey).equals(newKey))
    throw new AgentError("ENCKEY_SAME", "none", "the new encKey is the old one");
  const text = disk.read(keystoreName);
  const opened = runNamingFile(path, () => openWithEither(text, oldKey, newKey));
  const { contents } = opened;
  try {
    const done = {
      wallet: contents.wallet,
      addresses: addressesIn(contents),
      isFromBefore: opened.by === "new",
    };
    if (opened.by === "old")
      makeBeside(disk, path, sealKeystore({ contents, encKey: newKey, random }), contents, newKey);
    try {
      if (opened.by === "old") disk.rename(unfinishedName, keystoreName);
      // Also for an earlier run that was interrupted here: its rename may be only in the kernel's
      // memory.
      disk.sync(keystoreName);
      disk.syncFolder();
    } catch (cause) {
      throw unconfirmed(disk, path, input, cause);
    }
    if (opened.by === "new") disk.remove(unfinishedName);
    return done;
  } finally {
    wipeKeystore(contents);
  }
}

interface OpenedKeystore {
  readonly by: "old" | "new";
  readonly contents: KeystoreContents;
}

function openWithEither(text: string, oldKey: Uint8Array, newKey: Uint8Array): OpenedKeystore {
  try {
    return { by: "old", contents: openKeystore(text, oldKey) };
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== "KEYSTORE_ENCKEY") throw error;
    try {
      return { by: "new", contents: openKeystore(text, newKey) };
    } catch {
      throw error;
    }
  }
}

/** Writes the new keystore under the temporary name, durable and checked. */
function makeBeside(
  disk: KeystoreDisk,
  path: string,
  text: string,
  contents: KeystoreContents,
  newKey: Uint8Array,
): void {
  try {
    disk.remove(unfinishedName);
    disk.create(unfinishedName, text, keystoreName);
    disk.sync(unfinishedName);
    const back = openKeystore(disk.read(unfinishedName), newKey);
    const isSame = holdsSame(back, contents);
    wipeKeystore(back);
    if (!isSame) throw new Error("read back, it holds other keys");
  } catch (cause) {
    disk.remove(unfinishedName);
    const message = `${path} stays as it was and opens with the old encKey: the new one could not be written: ${reasonOf(cause)}`;
    throw new AgentError("KEYSTORE_WRITE", "none", message, {}, { cause });
  }
}

function addressesIn({ accounts }: KeystoreContents): readonly string[] {
  return pairedAccountsOf(accounts).flatMap(({ purpose, id }) => (purpose === "hot" ? [id] : []));
}

const noBytes = new Uint8Array(0);

function holdsSame(a: KeystoreContents, b: KeystoreContents): boolean {
  return (
    a.wallet === b.wallet &&
    JSON.stringify(a.networks) === JSON.stringify(b.networks) &&
    JSON.stringify(pairedAccountsOf(a.accounts)) === JSON.stringify(pairedAccountsOf(b.accounts)) &&
    a.accounts.every(
      ({ node }, at) => Buffer.compare(node.bytes, b.accounts[at]?.node.bytes ?? noBytes) === 0,
    ) &&
    Buffer.from(a.signerSeed.bytes).equals(b.signerSeed.bytes)
  );
}

/** Reports which of the two is in place now; after a power failure it may be the other. */
function unconfirmed(
  disk: KeystoreDisk,
  path: string,
  { oldKey, newKey }: { readonly oldKey: Uint8Array; readonly newKey: Uint8Array },
  cause: unknown,
): AgentError {
  let which = "cannot be read back";
  try {
    const now = openWithEither(disk.read(keystoreName), oldKey, newKey);
    wipeKeystore(now.contents);
    which = `opens with the ${now.by} encKey now`;
  } catch {
    // Reported as unreadable.
  }
  const message = `${path} ${which}, but the disk did not confirm that it stays so: ${reasonOf(cause)}`;
  return new AgentError("KEYSTORE_UNCONFIRMED", "unknown", message, {}, { cause });
}
