/**
 * Whose the files are that root makes in a folder of another user: the units give signer and
 * courier a user each, and a person pairs and recovers as root. Either what was made is handed
 * over, or root becomes that user first.
 */
import { chownSync, closeSync, constants, type Dirent, fstatSync, lchownSync, openSync, readdirSync, statSync } from "node:fs";

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * O_PATH: names a file without opening it, so that neither a pipe nor a device notices. Node has no
 * name for it. Source: open(2).
 */
const openPath = 0o10000000;

const isRoot = (): boolean => process.getuid?.() === 0;

/**
 * As root, gives what is inside a folder of another user to that user; otherwise does nothing.
 * Twice is harmless, and a second run mends what a cut one left. Throws what the disk said.
 * @public
 */
export function giveToOwner(folder: string): void {
  const owner = isRoot() ? ownerOf(folder) : null;
  if (owner !== null && owner.uid !== 0) giveInside(folder, owner);
}

/**
 * As root, becomes the owner of a folder that is another user's, for the rest of this process;
 * otherwise does nothing. Source: credentials(7); the groups go first, since whoever is not root
 * any more cannot drop them.
 * @public
 */
export function becomeOwner(folder: string): void {
  const owner = isRoot() ? ownerOf(folder) : null;
  if (owner === null || owner.uid === 0) return;
  process.setgroups?.([owner.gid]);
  process.setgid?.(owner.gid);
  process.setuid?.(owner.uid);
}

function ownerOf(folder: string): Owner | null {
  const stat = statSync(folder, { throwIfNoEntry: false });
  return stat?.isDirectory() === true ? { uid: stat.uid, gid: stat.gid } : null;
}

/**
 * Names are looked up below the open folder, so that its owner cannot put a link to elsewhere in
 * the way meanwhile.
 */
function giveInside(folder: string, owner: Owner): void {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const within = `/proc/self/fd/${fd}`;
    for (const entry of readdirSync(within, { withFileTypes: true })) give(`${within}/${entry.name}`, entry, owner);
    if (fstatSync(fd).uid !== owner.uid) lchownSync(`${within}/.`, owner.uid, owner.gid);
  } finally {
    closeSync(fd);
  }
}

/**
 * Another name of a file may be somebody's own, so only files with one name change hands. What was
 * looked at is what changes: the folder's owner may put something else under the name meanwhile.
 */
function give(path: string, entry: Dirent, owner: Owner): void {
  if (entry.isDirectory()) {
    giveInside(path, owner);
    return;
  }
  const fd = openSync(path, openPath | constants.O_NOFOLLOW);
  try {
    const stat = fstatSync(fd);
    if (stat.uid === owner.uid || stat.nlink !== 1) return;
    chownSync(`/proc/self/fd/${fd}`, owner.uid, owner.gid);
  } finally {
    closeSync(fd);
  }
}
