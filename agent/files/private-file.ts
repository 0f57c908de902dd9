/**
 * Reads one file that only its owner may read, as bytes: config.json, and files that hold one
 * secret. Needs no package, so installing can use it before any package exists.
 */
import { resolve, sep } from "node:path";
import { AgentError } from "../../base/fault.ts";
import { readTrusted, type TrustedOwner } from "./trusted.ts";

export const privateFileBytesMax = 1_048_576;

export interface PrivateFileOptions {
  /** The accepted owner of the file; default root and this user. */
  readonly owner?: TrustedOwner;
  /** A folder of the service manager, only for this process. The folder makes its files private. */
  readonly privateFolder?: string | undefined;
  /** For a file that is not config.json. */
  readonly hint?: string;
}

/**
 * The bytes of a file that only its owner may read. The caller wipes them.
 * @throws AgentError CONFIG_MISSING, CONFIG_UNREADABLE, CONFIG_TOO_LARGE, FILE_LINK, FILE_KIND,
 * FILE_OWNER, FILE_EXPOSED
 */
export function readPrivateFile(path: string, options: PrivateFileOptions = {}): Uint8Array {
  const { owner = "own", privateFolder } = options;
  const isGuarded = privateFolder !== undefined && path.startsWith(resolve(privateFolder) + sep);
  const bytes = orFault(path, options, () =>
    readTrusted(path, privateFileBytesMax, { owner, isSecret: true, isGuarded }),
  );
  if (bytes === null)
    throw new AgentError("CONFIG_TOO_LARGE", "none", `${path} is larger than 1 MiB`);
  return bytes;
}

function orFault<T>(path: string, { hint }: PrivateFileOptions, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    const reason = (cause as NodeJS.ErrnoException).code ?? "";
    const context = hint === undefined ? {} : { hint };
    if (reason === "ENOENT" || reason === "ENOTDIR") {
      throw new AgentError("CONFIG_MISSING", "none", `there is no file ${path}`, context, {
        cause,
      });
    }
    throw new AgentError(
      "CONFIG_UNREADABLE",
      "none",
      `${path} cannot be read (${reason})`,
      context,
      { cause },
    );
  }
}
