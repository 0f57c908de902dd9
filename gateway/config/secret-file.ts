/**
 * Reads a file with a secret beside gateway.config.json: a regular file that belongs to root or to
 * this process's user, and that nobody else can read. Touches only this file. Sources: open(2),
 * inode(7).
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { AgentError } from "../../base/fault.ts";

const othersBits = 0o077;
const bytesMax = 1_048_576;

/**
 * Owner, mode and bytes are of one open file, so that no other file can replace it in between. The
 * caller wipes the bytes. Throws the system's own errors unchanged.
 * @throws AgentError NODE_HEADERS
 */
export function readSecretFile(path: string): Uint8Array {
  const wrong = (what: string): AgentError =>
    new AgentError("NODE_HEADERS", "none", `${path} ${what}`);
  // Without O_NONBLOCK, a named pipe without a writer would wait without end.
  const descriptor = openSync(
    path,
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  );
  try {
    const { mode, uid, size } = fstatSync(descriptor);
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw wrong("is not a file");
    if (uid !== 0 && uid !== process.geteuid?.())
      throw wrong(`belongs to user ${uid}, not to the one of this program`);
    if ((mode & othersBits) !== 0) throw wrong("can be reached by others than its owner");
    if (size > bytesMax) throw wrong("is larger than 1 MiB");
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
