/** A backup file read from its first byte to its last: every box, every hash, the ledger's whole chain. Changes nothing. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { CopyCheck } from "../../agent/signer/ledger/copy.ts";
import { AgentError, namingFile, reasonOf } from "../../protocol/fault.ts";
import { isSealed, type Part, type ReadAt, readBackup } from "./format.ts";
import type { Manifest } from "./manifest.ts";

/** Begins the name of each part that is a file of the ledger. */
export const ledgerPrefix = "ledger/";

/**
 * Opens a backup for reading. @throws AgentError BACKUP_DAMAGED when there is none to read
 */
export function withBackup<T>(file: string, use: (read: ReadAt) => T): T {
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!fstatSync(fd).isFile()) throw new Error("it is not a file");
  } catch (cause) {
    const reason = reasonOf(cause);
    const isGone = reason === "ENOENT";
    const what = isGone ? `there is no file ${file}` : `${file} cannot be read as a backup (${reason})`;
    const hint = isGone ? { hint: "name the file that backup wrote" } : reason === "EACCES" ? { hint: "run it as root" } : {};
    throw new AgentError("BACKUP_DAMAGED", "none", what, hint, { cause });
  }
  try {
    return namingFile(file, () => use((at, length) => readRange(fd, at, length)));
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

/**
 * Whether encKey is needed to open it. @throws AgentError BACKUP_DAMAGED, BACKUP_NEWER
 * @public
 */
export function isSealedFile(file: string): boolean {
  return withBackup(file, isSealed);
}

/**
 * Reads all of it; `take` gets each part, checked but for the manifest at the end.
 * @throws AgentError BACKUP_*, LEDGER_*
 */
export function checkBackup(file: string, encKey: Uint8Array | null, take: (part: Part) => void = () => {}): Manifest {
  return withBackup(file, (read) => {
    const ledger = new CopyCheck();
    const parts = readBackup(read, encKey);
    for (;;) {
      const step = parts.next();
      if (step.done === true) return held(step.value, ledger);
      const { name, bytes } = step.value;
      if (name.startsWith(ledgerPrefix)) ledger.take({ name: name.slice(ledgerPrefix.length), bytes });
      take(step.value);
      bytes.fill(0);
    }
  });
}

function held(manifest: Manifest, ledger: CopyCheck): Manifest {
  const { head, agent, wallet } = ledger.finish();
  const isItsOwn = head.hash === manifest.head.hash && agent === manifest.agent && wallet === manifest.wallet;
  if (isItsOwn) return manifest;
  throw new AgentError("BACKUP_DAMAGED", "none", "the backup is damaged: its ledger is not the one its manifest names");
}
