/**
 * Reads one file that only its owner may read, as bytes: config.json, and files that hold one secret. Needs no package, so that
 * installing can use it before there are any.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { resolve, sep } from "node:path";
import { AgentError } from "../../protocol/fault.ts";
import { fixedBytes } from "./fixed-bytes.ts";

/** @public */
export const privateFileBytesMax = 1_048_576;

/**
 * The bytes of a file that only its owner may read. The caller wipes them. `hint` is for a file that is not config.json.
 * @throws AgentError CONFIG_MISSING, CONFIG_UNREADABLE, CONFIG_NOT_FILE, CONFIG_EXPOSED, CONFIG_TOO_LARGE
 * @public
 */
export function readPrivateFile(path: string, privateFolder?: string, hint?: string): Uint8Array {
  // Without O_NONBLOCK, opening a named pipe that nobody writes to would wait for ever.
  const fd = openFile(path, hint);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw new AgentError("CONFIG_NOT_FILE", "none", `${path} is not a file`);
    const guarded = privateFolder !== undefined && path.startsWith(resolve(privateFolder) + sep);
    if ((stat.mode & 0o077) !== 0 && !guarded) {
      const mode = (stat.mode & 0o777).toString(8).padStart(4, "0");
      throw new AgentError("CONFIG_EXPOSED", "none", `${path} can be reached by others than its owner (mode ${mode})`, {
        hint: `chmod 600 ${path}; if others could log in here, treat the secrets in it as known to them`,
      });
    }
    if (stat.size > privateFileBytesMax) throw new AgentError("CONFIG_TOO_LARGE", "none", `${path} is larger than 1 MiB`);
    const bytes = fixedBytes(stat.size);
    let length = 0;
    while (length < bytes.length) {
      const read = readSync(fd, bytes, length, bytes.length - length, null);
      if (read === 0) break;
      length += read;
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}

function openFile(path: string, hint: string | undefined): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? "";
    const context = hint === undefined ? {} : { hint };
    if (reason === "ENOENT" || reason === "ENOTDIR") {
      throw new AgentError("CONFIG_MISSING", "none", `there is no file ${path}`, context, { cause });
    }
    if (reason === "ENXIO") throw new AgentError("CONFIG_NOT_FILE", "none", `${path} is not a file`, {}, { cause });
    throw new AgentError("CONFIG_UNREADABLE", "none", `${path} cannot be read (${reason})`, context, { cause });
  }
}
