/**
 * The ledger's folder on a real disk, over node:fs. Files are 0600 in a folder of 0700, opened
 * without following links. A name appears only after its bytes are durable, and is itself durable
 * when the call returns. Sources: fsync(2), rename(2); docs/ledger.md section 4.
 */
import {
  accessSync,
  close,
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { AgentError, reasonOf } from "../../base/fault.ts";
import { isTrustedFolder, openTrusted, type TrustRequirement } from "../files/trusted.ts";
import type { LedgerDisk, LedgerFile } from "./folder.ts";

/**
 * True if the file system of `path` is mounted read-only. Also false if this user may not look.
 * Writes nothing. Source: access(2), EROFS.
 */
export function isReadOnly(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch (cause) {
    return reasonOf(cause) === "EROFS";
  }
}

/**
 * The suffix of an unfinished file. A crash may leave one; the next write of the same file replaces
 * it.
 */
const unfinishedSuffix = ".tmp";
/** The lines are no secret, but a user with write access decides what counts as paid. */
const trust: TrustRequirement = { owner: "folder", isSecret: false };

/** Returns the ledger's folder on a real disk; the first file creates it. */
export function ledgerDisk(folder: string): LedgerDisk {
  const path = (name: string): string => join(folder, name);
  return {
    list: () => listing(folder),
    size: (name) =>
      reading(folder, name, () =>
        withFile(path(name), constants.O_RDONLY, (fd) => fstatSync(fd).size),
      ),
    read: (name, start, end) =>
      reading(folder, name, () =>
        withFile(path(name), constants.O_RDONLY, (fd) => readRange(fd, start, end)),
      ),
    create: (name, bytes) => {
      makeFolder(folder);
      const unfinished = path(name + unfinishedSuffix);
      rmSync(unfinished, { force: true }); // Created again, so that mode and owner are ours.
      withFile(unfinished, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, (fd) => {
        writeAll(fd, bytes);
        fsyncSync(fd);
      });
      renameSync(unfinished, path(name));
      syncFolder(folder);
    },
    truncate: (name, size) => {
      withFile(path(name), constants.O_WRONLY, (fd) => {
        ftruncateSync(fd, size);
        fsyncSync(fd);
      });
      syncFolder(folder);
    },
    remove: (name) => {
      unlinkSync(path(name));
      syncFolder(folder);
    },
    open: (name) =>
      createAppendFile(openTrusted(path(name), constants.O_WRONLY | constants.O_APPEND, trust)),
    freeBytes: () => {
      const { bavail, bsize } = statfsSync(folder);
      return bavail * bsize;
    },
  };
}

/** Returns a file that appends to an open descriptor, and takes ownership of it. */
export function createAppendFile(fd: number): LedgerFile {
  return {
    // Writing only fills the kernel's cache and returns at once; the wait for the disk leaves time
    // for other work.
    append: (bytes, done) => {
      try {
        writeAll(fd, bytes);
      } catch (cause) {
        process.nextTick(done, cause as Error);
        return;
      }
      fdatasync(fd, done);
    },
    // Every append was synced or has failed already, so nothing can be lost.
    close: () => close(fd, () => {}),
  };
}

function listing(folder: string): readonly string[] {
  return reading(folder, ".", () => {
    try {
      if (!isTrustedFolder(folder, trust)) return [];
      return readdirSync(folder).filter((name) => !name.endsWith(unfinishedSuffix));
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw cause;
    }
  });
}

function reading<T>(folder: string, file: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    const reason = (cause as NodeJS.ErrnoException).code ?? "";
    throw new AgentError(
      "LEDGER_UNREADABLE",
      "none",
      `${join(folder, file)} cannot be read (${reason})`,
      { file, reason },
      { cause },
    );
  }
}

function makeFolder(folder: string): void {
  if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined)
    syncFolder(dirname(folder));
}

function syncFolder(folder: string): void {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function withFile<T>(path: string, flags: number, use: (fd: number) => T): T {
  const fd = openTrusted(path, flags, trust);
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at);
}

function readRange(fd: number, start: number, end: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(end, fstatSync(fd).size) - start));
  let at = 0;
  while (at < bytes.length) {
    const got = readSync(fd, bytes, at, bytes.length - at, start + at);
    if (got === 0) break;
    at += got;
  }
  return bytes.subarray(0, at);
}
