/**
 * Replaces a file in a single durable step: the way in which config.json, link.json and pairing's
 * progress are written. Touches the given path and its folder. Sources: open(2), rename(2).
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

/**
 * Replaces a file: temporary file next to it with exactly `mode`, fsync, rename, fsync of the
 * folder. After any crash the old content or the new one is there, never a mixture. An existing
 * temporary file is removed and never written through, because it may belong to another user or be
 * a link. Throws the disk's own error.
 */
export function replaceFile(path: string, bytes: Uint8Array, mode: number): void {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    fchmodSync(fd, mode); // For any umask.
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, path);
  syncFolder(dirname(path));
}

/** Makes the entries durable that were made, renamed or removed in a folder. */
export function syncFolder(path: string): void {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
