/**
 * Makes foreign text safe to print. Text of a courier or a node, or the name of a file, may hold
 * characters that move a cursor, clear a screen, begin a line or turn the direction of the text.
 * Pure.
 */
import type { JsonValue } from "./json.ts";

const unseen = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** The same text with U+FFFD instead of every control, format and line-breaking character. */
export function visibleText(text: string): string {
  return text.replace(unseen, "\ufffd");
}

/** As `visible`, for a text of several lines. The line ends stay. */
export function visibleLines(text: string): string {
  return text.replace(unseen, (found) => (found === "\n" ? found : "\ufffd"));
}

/**
 * JSON for a program, safe on a terminal too: characters that `visible` would replace are escaped,
 * so a reader gets the value unchanged. Source: RFC 8259 section 7.
 */
export function formatTerminalSafeJson(value: object): string {
  return JSON.stringify(value).replace(unseen, (found) =>
    [...Array(found.length).keys()]
      .map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** The same JSON value with every text in it made visible, members' names too. */
export function visibleAll<T>(answer: T): T {
  return cleaned(answer as JsonValue) as T;
}

function cleaned(value: JsonValue): JsonValue {
  if (typeof value === "string") return visibleText(value);
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(cleaned);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [visibleText(name), cleaned(inner)]),
  );
}

/**
 * Formats a path as one argument of a shell command, for a hint that an operator copies. Null for a
 * path with characters that do not show.
 */
export function shellWord(path: string): string | null {
  if (/^[\w@%+=:,./-]+$/.test(path)) return path;
  return visibleText(path) === path ? `'${path.replaceAll("'", "'\\''")}'` : null;
}
