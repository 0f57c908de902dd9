/**
 * One file put in the place of another in a single durable step: how config.json, link.json and
 * pairing's progress are written. Touches the path it is given and its folder. Sources: open(2),
 * rename(2).
 */
import { closeSync, constants, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Replaces a file: temporary file beside it with exactly `mode`, fsync, rename, fsync of the
 * folder. The old content or the new one is there after any crash, never a mixture. Whatever lay in
 * the temporary file's place is removed and never written through: it may be another's, or lead
 * elsewhere. Throws what the disk said.
 * @public
 */
export function replaceFile(path: string, bytes: Uint8Array, mode: number): void {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    fchmodSync(fd, mode); // Whatever the umask.
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, path);
  syncFolder(dirname(path));
}

/**
 * Makes what was made, renamed or removed in a folder durable.
 * @public
 */
export function syncFolder(path: string): void {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
