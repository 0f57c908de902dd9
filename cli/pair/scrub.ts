/**
 * Takes secrets out of config.json. A new file without them takes the old one's name in one step,
 * and every other byte stays the same. The old file's blocks are overwritten as far as a program
 * can do this; the disk may keep more, and no program can prevent it.
 */
import {
  chownSync,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  writeSync,
} from "node:fs";
import { blankFields, withoutMembers } from "../../agent/config/text.ts";
import { readPrivateFile } from "../../agent/files/private-file.ts";
import { replaceFile } from "../../agent/files/replace-file.ts";
import { AgentError } from "../../base/fault.ts";
import { type JsonObject, parseJson } from "../../base/json.ts";

/**
 * Removes the named secrets. Calling again does no harm.
 * @throws AgentError PAIRING_SCRUB; CONFIG_*, FILE_* when the file is no longer readable as it was
 */
export function scrubFile(path: string, names: readonly string[]): void {
  const old = readPrivateFile(path, { owner: "any" });
  const scrubbed = withoutMembers(old, names);
  try {
    assertRestKept(path, old, scrubbed, names);
    const fd = openSync(path, constants.O_WRONLY | constants.O_NOFOLLOW);
    try {
      const { uid, gid, mode, nlink, size } = fstatSync(fd);
      replaceFile(path, scrubbed, mode & 0o700);
      if (uid !== process.getuid?.() || gid !== process.getgid?.()) chownSync(path, uid, gid);
      // Another name for the same file is a user's own copy.
      if (nlink === 1) overwrite(fd, size);
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    const reason = (cause as NodeJS.ErrnoException).code ?? "";
    throw new AgentError(
      "PAIRING_SCRUB",
      "none",
      `${path} cannot be rewritten (${reason})`,
      {},
      { cause },
    );
  } finally {
    old.fill(0);
    scrubbed.fill(0);
  }
}

/** The old file has no name any more, but its descriptor still reaches its blocks. */
function overwrite(fd: number, size: number): void {
  const zeros = new Uint8Array(size);
  for (let at = 0; at < size; ) at += writeSync(fd, zeros, 0, size - at, at);
  fsyncSync(fd);
}

function assertRestKept(
  path: string,
  old: Uint8Array,
  scrubbed: Uint8Array,
  names: readonly string[],
): void {
  const limits = { bytesMax: 1_048_576, keysMax: 1024, itemsMax: 4096 };
  const before = { ...(parseJson(blankFields(old, names), limits) as JsonObject) } as Record<
    string,
    unknown
  >;
  for (const name of names) delete before[name];
  const after = parseJson(blankFields(scrubbed, names), limits);
  if (JSON.stringify(before) !== JSON.stringify(after)) {
    throw new AgentError(
      "PAIRING_SCRUB",
      "none",
      `${path} without its secrets would not say the same`,
    );
  }
}
