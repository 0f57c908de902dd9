/**
 * `token`: makes one signatureToken for a shop that has no JWT library. Its key comes from a
 * private file or stdin.
 */
import { readFileSync } from "node:fs";
import { readPipe } from "../agent/files/inherited-pipe.ts";
import { readPrivateFile } from "../agent/files/private-file.ts";
import { exitCodes } from "../agent/launcher/exit-status.ts";
import { AgentError } from "../base/fault.ts";
import { createTokenMaker, type TokenPurpose } from "../clients/typescript/signature-token.ts";
import type { Terminal } from "./terminal.ts";

export interface TokenOptions {
  readonly apiKeyFile?: string | undefined;
  readonly profile: "compatible" | "strict";
  readonly alg: "HS256" | "EdDSA";
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  readonly body?: string | undefined;
  readonly bodyFile?: string | undefined;
  readonly audience?: string | undefined;
  readonly lifetime: number;
  readonly json?: boolean | undefined;
}

/** Above the longest key with what surrounds it in a file. */
const keyBytesMax = 4_096;

/**
 * @throws AgentError COMMAND_USAGE, PAIRING_API_KEY, CONFIG_* about the key's file
 */
export function printToken(options: TokenOptions, terminal: Terminal): number {
  const purpose: TokenPurpose = {
    ...(options.profile === "strict" ? { bound: boundTo(options) } : {}),
    ...(options.audience === undefined ? {} : { audience: options.audience }),
    lifetimeSeconds: options.lifetime,
  };
  if (
    options.profile === "compatible" &&
    (options.method ?? options.path ?? options.body ?? options.bodyFile) !== undefined
  ) {
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      "method, path and body belong to --profile strict",
    );
  }
  const nowMs = terminal.now();
  const token = makerOf(options, nowMs)(purpose);
  const expiresAt = new Date((Math.floor(nowMs / 1000) + options.lifetime) * 1000).toISOString();
  terminal.out(
    options.json === true
      ? `${JSON.stringify({ ok: true, signatureToken: token, expiresAt })}\n`
      : `${token}\n`,
  );
  return exitCodes.fine;
}

function makerOf(
  { apiKeyFile, alg }: TokenOptions,
  nowMs: number,
): (purpose: TokenPurpose) => string {
  const bytes =
    apiKeyFile === undefined
      ? readKeyFromStdin()
      : readPrivateFile(apiKeyFile, {
          hint: "name the file that holds the shop's key with --api-key-file, readable by this user",
        });
  // The maker's interface takes the key as text; this process ends after it has made the token.
  const apiKey = Buffer.from(bytes).toString("utf8").trim();
  bytes.fill(0);
  try {
    return createTokenMaker({ apiKey, alg }, () => nowMs);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new AgentError("PAIRING_API_KEY", "none", error.message, {
      hint: "give it whole, on stdin or in the file of --api-key-file",
    });
  }
}

/** Everything up to the end of stdin, also where the writer is late and stdin does not block. */
function readKeyFromStdin(): Buffer {
  const bytes = Buffer.alloc(keyBytesMax);
  let length = 0;
  readPipe(0, (piece) => {
    if (length + piece.length > keyBytesMax) {
      throw new AgentError(
        "PAIRING_API_KEY",
        "none",
        `stdin has more than ${keyBytesMax} bytes, and a key is shorter`,
        {
          hint: "give only the key on stdin, or its file by --api-key-file",
        },
      );
    }
    bytes.set(piece, length);
    length += piece.length;
    return null;
  });
  return bytes.subarray(0, length);
}

/** A strict token is good for one method, path and body only. */
function boundTo(options: TokenOptions): NonNullable<TokenPurpose["bound"]> {
  const { method, path, body, bodyFile } = options;
  if (method === undefined || path === undefined) {
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      "--profile strict needs --method and --path, and --body when there is one",
    );
  }
  if (!/^[A-Za-z]{3,10}$/.test(method) || !path.startsWith("/")) {
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      "--method is a word such as POST, --path begins with /api",
    );
  }
  if (body !== undefined && bodyFile !== undefined)
    throw new AgentError("COMMAND_USAGE", "none", "give --body or --body-file, not both");
  return {
    method: method.toUpperCase(),
    path,
    body: bodyFile === undefined ? (body ?? "") : bodyOf(bodyFile),
  };
}

function bodyOf(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? "";
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      `${path} cannot be read (${reason})`,
      {},
      { cause },
    );
  }
}
