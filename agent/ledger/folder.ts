/**
 * The ledger's small interface to its folder, and the faults of a folder that accepts no writes.
 * Touches no disk: disk.ts implements the interface over node:fs, tests and the simulation do so in
 * memory. docs/ledger.md section 4.
 */
import { AgentError, invariant, reasonOf } from "../../base/fault.ts";

/** A file open for appending. */
export interface LedgerFile {
  /**
   * Appends the bytes and syncs; `done` is called once, when they are durable or have failed. One
   * call at a time.
   */
  append(bytes: Uint8Array, done: (error: Error | null) => void): void;
  close(): void;
}

/**
 * A folder as the ledger needs it. Calls that change something are durable when they return, and
 * throw the disk's error. Calls that read throw AgentError LEDGER_UNREADABLE. A file or folder that
 * other users could have changed is FILE_*.
 */
export interface LedgerDisk {
  /** Names of finished files in the folder; none without a folder. */
  list(): readonly string[];
  size(name: string): number;
  /** Returns the bytes from `start` up to `end`, or fewer if the file ends before. */
  read(name: string, start: number, end: number): Uint8Array;
  /** Creates a complete file under its name at once; replaces an earlier file of that name. */
  create(name: string, bytes: Uint8Array): void;
  /**
   * Cuts a file to its first `size` bytes. These and the file's name are durable then, whichever
   * process wrote them.
   */
  truncate(name: string, size: number): void;
  remove(name: string): void;
  open(name: string): LedgerFile;
  freeBytes(): number;
}

/**
 * Runs a change of the folder. A disk error becomes a fault that ends the process, because a later
 * sync may succeed falsely.
 */
export function writeOrFault(act: () => void): void {
  try {
    act();
  } catch (cause) {
    throw poisonedFault(cause);
  }
}

/**
 * Returns the fault of a failed write or sync. A file system that became read-only has its own
 * code.
 */
export function poisonedFault(cause: unknown): AgentError {
  if (reasonOf(cause) === "EROFS")
    return new AgentError(
      "LEDGER_READ_ONLY",
      "none",
      "the disk is read-only and takes no writes",
      {},
      { cause },
    );
  return new AgentError(
    "LEDGER_POISONED",
    "unknown",
    "the disk failed while writing the ledger",
    {},
    { cause },
  );
}

/**
 * Runs the changes of a start. Returns null if the disk accepted them, or the fault of a read-only
 * disk.
 * @throws AgentError LEDGER_POISONED
 */
export function writeUnlessReadOnly(act: () => void): AgentError | null {
  try {
    writeOrFault(act);
    return null;
  } catch (fault) {
    if (fault instanceof AgentError && fault.code === "LEDGER_READ_ONLY") return fault;
    throw fault;
  }
}

/** A placeholder for the file of a read-only ledger; it is never called. */
export const readOnlyLedgerFile: LedgerFile = {
  append: () => invariant(false, "a read-only ledger writes nothing"),
  close: () => {},
};
