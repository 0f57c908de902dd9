/**
 * Further headers of the questions to one server, out of a file of their own, such as a token that
 * another program renews. The file is read again while questions are asked, so a change needs no
 * restart. A file that cannot be used is a fault of this server alone. The headers are secrets:
 * they print as a mark. Touches only the clock and the reader that are passed in. Sources: RFC
 * 9110, sections 5.1 and 5.5 (names and values of fields).
 */
import { AgentError, reasonOf } from "../../base/fault.ts";

/** Reads a file that only its owner may read. The caller wipes the bytes. */
export type ReadSecretFile = (path: string) => Uint8Array;

/** A file is read again after this time, at the next question. */
const rereadMs = 1_000;
const bytesMax = 16_384;
const headersMax = 16;

const mark = "[headers]";
const nameForm = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
const valueForm = /^[\x21-\x7e](?:[\x20-\x7e]{0,8190}[\x21-\x7e])?$/;
/** Fields that the exchange itself sets. */
const ours: ReadonlySet<string> = new Set([
  ...([
    "host",
    "connection",
    "content-length",
    "content-type",
    "transfer-encoding",
    "accept-encoding",
  ] as const),
  ...(["expect", "upgrade", "keep-alive", "te", "trailer", "user-agent"] as const),
]);

export class FurtherHeaders {
  readonly #path: string;
  readonly #read: ReadSecretFile;
  readonly #clock: () => number;
  #known: { readonly lines: Readonly<Record<string, string>>; readonly atMs: number } | null = null;

  /** `clock` in milliseconds, never running back. Reads nothing yet. */
  constructor(path: string, read: ReadSecretFile, clock: () => number) {
    [this.#path, this.#read, this.#clock] = [path, read, clock];
  }

  /** The headers by name. @throws AgentError NODE_HEADERS */
  lines(): Readonly<Record<string, string>> {
    const nowMs = this.#clock();
    if (this.#known !== null && nowMs - this.#known.atMs < rereadMs) return this.#known.lines;
    this.#known = null;
    const lines = this.#readNow();
    this.#known = { lines, atMs: nowMs };
    return lines;
  }

  #readNow(): Readonly<Record<string, string>> {
    let bytes: Uint8Array;
    try {
      bytes = this.#read(this.#path);
    } catch (cause) {
      throw unusable(
        cause instanceof AgentError
          ? cause.message
          : `${this.#path} cannot be read: ${reasonOf(cause)}`,
      );
    }
    try {
      if (bytes.length > bytesMax) throw unusable(`${this.#path} is larger than 16 KiB`);
      return readHeaders(
        Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8"),
        this.#path,
      );
    } finally {
      bytes.fill(0);
    }
  }

  toString(): string {
    return mark;
  }

  toJSON(): string {
    return mark;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return mark;
  }
}

/** Lines `Name: value`; empty lines count for nothing. @throws AgentError NODE_HEADERS */
export function readHeaders(text: string, path: string): Readonly<Record<string, string>> {
  const headers = new Map<string, string>();
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === "") continue;
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(0, colon)).toLowerCase();
    const value = line.slice(colon + 1).trim();
    // A line is never shown, because a name may be a part of the secret.
    const wrong = (what: string): AgentError => unusable(`line ${at + 1} of ${path} ${what}`);
    if (!nameForm.test(name) || !valueForm.test(value))
      throw wrong("is not of the form NAME: VALUE");
    if (ours.has(name)) throw wrong("has a header that every request sets itself");
    if (headers.has(name)) throw wrong("names a header for the second time");
    headers.set(name, value);
  }
  if (headers.size === 0) throw unusable(`${path} has no header`);
  if (headers.size > headersMax) throw unusable(`${path} has more than ${headersMax} headers`);
  return Object.fromEntries(headers);
}

function unusable(message: string): AgentError {
  return new AgentError("NODE_HEADERS", "none", message);
}
