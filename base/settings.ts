/**
 * Readers of settings that a person writes, for the files of both programs. A fault names the
 * location in the file and, for a mistyped key, the nearest right one. Pure.
 */
import type { Code } from "./codes.ts";
import { AgentError } from "./fault.ts";
import { type JsonValue, parseJson } from "./json.ts";
import { isLoopback } from "./loopback.ts";
import { createReaders, type Reader, type ShapeProblem } from "./shape.ts";

type ConfigCode = Extract<Code, `CONFIG_${string}`>;

const codeByKind: Readonly<Record<ShapeProblem["kind"], ConfigCode>> = {
  missing: "CONFIG_MISSING_KEY",
  unknown: "CONFIG_UNKNOWN_KEY",
  type: "CONFIG_TYPE",
  value: "CONFIG_VALUE",
};

/** The readers of shape.ts. @throws AgentError CONFIG_MISSING_KEY, _UNKNOWN_KEY, _TYPE, _VALUE */
export const settings = createReaders(({ kind, message, known, given }) =>
  configFault(codeByKind[kind], message, known, given),
);

/**
 * A fault whose hint is the name of `known` that is nearest to `given`, or the start of `given`;
 * else all of `known`.
 */
export function configFault(
  code: ConfigCode,
  message: string,
  known: readonly string[] = [],
  given = "",
): AgentError {
  if (known.length === 0) return new AgentError(code, "none", message);
  const isNear = (name: string): boolean =>
    given !== "" && distance(name.toLowerCase(), given.toLowerCase()) <= 2;
  const longestFirst = [...known].sort((a, b) => b.length - a.length);
  const near = known.find(isNear) ?? longestFirst.find((name) => given.startsWith(name));
  const hint = near === undefined ? `known here: ${known.join(", ")}` : `did you mean ${near}?`;
  return new AgentError(code, "none", message, { hint });
}

/**
 * The value of a file's text. A fault names the line and the column, after the name of the file
 * where it is not "".
 * @throws AgentError CONFIG_JSON, CONFIG_DUPLICATE_KEY
 */
export function parseSettings(
  text: Uint8Array,
  file: string,
  limits: NonNullable<Parameters<typeof parseJson>[1]>,
): JsonValue {
  try {
    return parseJson(text, limits);
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const at = Number(error.context.at ?? 0);
    const before =
      error.code === "JSON_UTF8" ? "" : Buffer.from(text).toString("utf8").slice(0, at);
    const line = before.split("\n").length;
    const column = at - (before.lastIndexOf("\n") + 1) + 1;
    const hasPlace = error.code !== "JSON_UTF8" && error.code !== "JSON_TOO_LARGE";
    const place = [
      ...(file === "" ? [] : [file]),
      ...(hasPlace ? [`line ${line}, column ${column}`] : []),
    ].join(", ");
    const problem = error.message.replace(/^JSON: /, "").replace(/, at position \d+$/, "");
    const code = error.code === "JSON_DUPLICATE_KEY" ? "CONFIG_DUPLICATE_KEY" : "CONFIG_JSON";
    const hint =
      error.code === "JSON_NUMBER" ? { hint: 'put an amount in quotes, such as "0.2"' } : {};
    const message = place === "" ? problem : `${place}: ${problem}`;
    throw new AgentError(code, "none", message, { line, ...hint });
  }
}

/** The text in quotes, cut at 64 characters. */
export function quoteText(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 61)}...` : text);
}

/** The names of chains in both files. */
export const chainNamePattern = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** The longest time of a setting in minutes: a week. */
export const weekMinutes = 10_080;

const urlCharactersMax = 2048;

/** An http or https URL of at most 2048 printable characters; null for any other text. */
export function parseUrl(text: string): URL | null {
  if (!/^https?:\/\/[!-~]+$/.test(text) || text.length > urlCharactersMax) return null;
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** True if a URL is plain http and leads to another machine. */
export function leavesInPlainText({ protocol, hostname }: URL): boolean {
  return protocol !== "https:" && !isLoopback(hostname);
}

/** An http or https address, as it is written. */
export const readUrl: Reader<string> = (value, path) => {
  const text = settings.string()(value, path);
  if (parseUrl(text) === null) throw settings.valueFault(path, "is not an http or https address");
  return text;
};

/** The receiver of events or alerts: a program with its arguments, or an address. */
export type NoticeTarget =
  | { readonly kind: "command"; readonly command: readonly string[] }
  // https unless loopback; its path may be a secret
  | { readonly kind: "url"; readonly url: string };

const commandWordsMax = 32;
const commandCharactersMax = 4096;

/** No message shows the URL: its path may be a secret of the receiver. */
const readTargetUrl: Reader<string> = (value, path) => {
  const url = parseUrl(settings.string()(value, path));
  if (url === null || url.username !== "" || url.password !== "" || url.hash !== "")
    throw settings.valueFault(path, "must be an https address without user name or #");
  if (leavesInPlainText(url))
    throw settings.valueFault(path, `is http, and ${url.hostname} is not this machine`);
  return url.href;
};

const readCommandWord: Reader<string> = (value, path) => {
  const text = settings.string({ max: Number.MAX_SAFE_INTEGER })(value, path);
  if (text.length > commandCharactersMax || text.includes("\0"))
    throw settings.valueFault(path, "is too long");
  return text;
};

/** The two settings of a target, of which one is given. */
export const noticeTargetShape = {
  command: settings.list(readCommandWord, commandWordsMax),
  url: readTargetUrl,
};

/** @throws AgentError CONFIG_VALUE unless there is one of the two, and a program with its path */
export function noticeTargetOf(
  { command, url }: { readonly command?: readonly string[]; readonly url?: string },
  path: string,
): NoticeTarget {
  if (url !== undefined && command === undefined) return { kind: "url", url };
  if (command === undefined || url !== undefined)
    throw settings.valueFault(path, "needs command or url, and not both");
  if (command[0]?.startsWith("/") === true) return { kind: "command", command };
  throw settings.valueFault(
    `${path}.command`,
    "must begin with the whole path of a program, such as /usr/local/bin/tell",
  );
}

/** A port of this machine; null for any other text. */
export function parseLoopbackPort(
  text: string,
): { readonly host: string; readonly port: number } | null {
  const [, host = "", port = ""] =
    /^(127(?:\.\d{1,3}){3}|\[::1\]):([1-9]\d{0,4})$/.exec(text) ?? [];
  if (host === "" || Number(port) > 65_535) return null;
  return { host: host.replace(/[[\]]/g, ""), port: Number(port) };
}

/** Levenshtein distance: single-letter changes from one name to the other. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
