/**
 * Reads a backup from its first byte to its last and checks every box, every hash and every link of
 * the ledger. Changes nothing.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { CopyCheck } from "../../agent/ledger/copy.ts";
import { AgentError, reasonOf, runNamingFile } from "../../base/fault.ts";
import { type BackupPart, type FileReader, isSealed, readBackup } from "./format.ts";
import type { Manifest } from "./manifest.ts";

/** Prefix of the names of the ledger's files. */
export const ledgerPrefix = "ledger/";

/**
 * Opens a backup for `use`, and closes it after. `use` must not keep `read`.
 * @throws AgentError BACKUP_DAMAGED for a file that cannot be read; the faults of `use`, with the
 * file's name
 */
export function withBackup<T>(file: string, use: (read: FileReader) => T): T {
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!fstatSync(fd).isFile()) throw new Error("it is not a file");
  } catch (cause) {
    const reason = reasonOf(cause);
    const isGone = reason === "ENOENT";
    const what = isGone
      ? `there is no file ${file}`
      : `${file} cannot be read as a backup (${reason})`;
    const hint = isGone
      ? { hint: "name the file that backup wrote" }
      : reason === "EACCES"
        ? { hint: "run it as root" }
        : {};
    throw new AgentError("BACKUP_DAMAGED", "none", what, hint, { cause });
  }
  try {
    return runNamingFile(file, () => use((at, length) => readRange(fd, at, length)));
  } finally {
    closeSync(fd);
  }
}

function readRange(fd: number, at: number, length: number): Uint8Array {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const got = readSync(fd, bytes, filled, length - filled, at + filled);
    if (got === 0) break;
    filled += got;
  }
  return bytes.subarray(0, filled);
}

/** True if opening the file needs encKey. @throws AgentError BACKUP_DAMAGED, BACKUP_NEWER */
export function isSealedFile(file: string): boolean {
  return withBackup(file, isSealed);
}

/**
 * Reads the complete file. `take` gets each part before the manifest has confirmed it. It must not
 * keep the part's bytes, because they are wiped.
 * @throws AgentError BACKUP_*, LEDGER_*
 */
export function checkBackup(
  file: string,
  encKey: Uint8Array | null,
  take: (part: BackupPart) => void = () => {},
): Manifest {
  return withBackup(file, (read) => {
    const ledger = new CopyCheck();
    const parts = readBackup(read, encKey);
    for (;;) {
      const next = parts.next();
      if (next.done === true) return confirmed(next.value, ledger);
      const { name, bytes } = next.value;
      if (name.startsWith(ledgerPrefix))
        ledger.take({ name: name.slice(ledgerPrefix.length), bytes });
      take(next.value);
      bytes.fill(0);
    }
  });
}

/**
 * Returns the manifest if the ledger ends with its head. @throws AgentError BACKUP_DAMAGED,
 * LEDGER_*
 */
function confirmed(manifest: Manifest, ledger: CopyCheck): Manifest {
  const { head, agent, wallet } = ledger.finish();
  const isItsOwn =
    head.hash === manifest.head.hash && agent === manifest.agent && wallet === manifest.wallet;
  if (isItsOwn) return manifest;
  throw new AgentError(
    "BACKUP_DAMAGED",
    "none",
    "the backup is damaged: its ledger is not the one its manifest names",
  );
}
