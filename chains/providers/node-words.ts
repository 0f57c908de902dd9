/**
 * Makes a node's text safe to show: cut, cleaned, and without text that may be a key. Linear in the
 * length of the text. Pure.
 */

/** Most characters of a text that is shown. */
const shownMax = 300;
/** Most characters of a foreign text that are searched; an answer in JSON may be longer. */
const readMax = 2_048;
const jsonMax = 65_536;

/**
 * A text of a node as one line of printable characters. Keeps only the host of web addresses, and
 * removes long runs of characters that do not begin like a chain's hex, because providers repeat
 * keys.
 */
export function cleanNodeText(text: unknown): string {
  if (typeof text !== "string") return "";
  return text
    .slice(0, readMax)
    .replace(/[^\x20-\x7e]+/g, " ")
    .replace(/\bhttps?:\/\/(?:[^\s/@]{1,256}@)?([^\s/?#"']{1,256})[^\s"']*/gi, "$1")
    .replace(/[A-Za-z0-9_-]{24,}/g, (run) =>
      /^0x[0-9a-f]+$/i.test(run) || !/[0-9]/.test(run) ? run : "...",
    )
    .replace(/ {2,}/g, " ")
    .trim()
    .slice(0, shownMax);
}

/**
 * The text in the body of an answer of any form: of a JSON error, of a page, or the body itself; ""
 * for none.
 */
export function wordsInBody(body: string): string {
  if (body.length <= jsonMax && /^\s*[[{"]/.test(body.slice(0, 64))) {
    const said = saidIn(parsed(body));
    if (said !== null) return cleanNodeText(said);
  }
  const text = body.slice(0, readMax);
  const isPage = /^\s*</.test(text);
  return cleanNodeText(
    isPage
      ? (/<title>([^<]{0,200})/i.exec(text)?.[1] ?? text.replace(/<[^>]{0,500}>?/g, " "))
      : text,
  );
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

const statusNames: Readonly<Record<number, string>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not found",
  413: "too large",
  429: "too many requests",
  500: "internal error",
  502: "bad gateway",
  503: "unavailable",
  504: "gateway timeout",
};

/** Describes an HTTP status for the operator, with the node's own text if there is one. */
export function statusWords(status: number, body: string): string {
  const name = statusNames[status];
  const words = wordsInBody(body);
  const isSame =
    words === "" || words.toLowerCase() === name || words.toLowerCase() === `${status} ${name}`;
  return `HTTP status ${status}${name === undefined ? "" : ` (${name})`}${isSame ? "" : `: ${words}`}`;
}

/** A part of a path that names one thing, and no kind of question: a hash, an address, a number. */
const namingPart = /^(?:[0-9]+|[A-Za-z0-9:]{20,})$/;

/** The kind of question that a path asks, without what it is about. */
export function maskQuestionPath(path: string): string {
  return path
    .split("/")
    .map((part) => (namingPart.test(part) ? "..." : part))
    .join("/");
}

/**
 * Names the path that a server lacks, with the server's own text if there is one. `path` as
 * `statusFailure` has it.
 */
export function describeMissingPath(path: string | null, body: string): string {
  const lacks =
    path === null
      ? "the server has nothing at the path of its address"
      : `the server has no ${maskQuestionPath(path)}`;
  const words = wordsInBody(body);
  return words === "" || /^(?:404 ?)?(?:not found|error)?$/i.test(words)
    ? lacks
    : `${lacks}: ${words}`;
}

/** Null if the value has no text. */
function saidIn(value: unknown): string | null {
  const first = Array.isArray(value) ? value[0] : value;
  if (typeof first === "string") return first;
  if (typeof first !== "object" || first === null) return null;
  const { error, Error: words, message, detail } = first as Readonly<Record<string, unknown>>;
  if (typeof error === "object" && error !== null) return saidIn(error);
  return [error, words, message, detail].find((one) => typeof one === "string") ?? null;
}
