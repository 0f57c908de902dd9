/**
 * Sets the owner of files that root makes in a folder of another user. The units give signer and
 * courier a user each, but an operator pairs and recovers as root. Either the new files are handed
 * over, or root becomes that user first.
 */
import {
  chownSync,
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lchownSync,
  openSync,
  readdirSync,
  statSync,
} from "node:fs";

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * O_PATH: names a file without opening it, so a pipe or a device is not affected. Node has no name
 * for it. Source: open(2).
 */
const openPath = 0o10000000;

const isRoot = (): boolean => process.getuid?.() === 0;

/**
 * As root, gives everything inside a folder of another user to this user; otherwise does nothing.
 * May be repeated without harm: a second run completes one that was cut. Throws the disk's own
 * error.
 */
export function giveToOwner(folder: string): void {
  const owner = isRoot() ? ownerOf(folder) : null;
  if (owner !== null && owner.uid !== 0) giveInside(folder, owner);
}

/**
 * As root, becomes the owner of a folder of another user, for the rest of this process; otherwise
 * does nothing. Source: credentials(7). The groups go first, because a process that is no longer
 * root cannot drop them.
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
 * Looks names up below the open folder, so its owner cannot meanwhile put a link to another
 * location in the way.
 */
function giveInside(folder: string, owner: Owner): void {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const within = `/proc/self/fd/${fd}`;
    for (const entry of readdirSync(within, { withFileTypes: true }))
      give(`${within}/${entry.name}`, entry, owner);
    if (fstatSync(fd).uid !== owner.uid) lchownSync(`${within}/.`, owner.uid, owner.gid);
  } finally {
    closeSync(fd);
  }
}

/**
 * Gives away a file only if it has one name, because another name may be a user's own. Changes
 * exactly the entry that was examined, because the folder's owner may meanwhile put another one
 * under the name.
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
