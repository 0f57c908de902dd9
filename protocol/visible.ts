/**
 * Words of somebody else made safe to print: a courier, a node, a file's name may hold what moves a cursor, clears a screen, begins a
 * line of its own or turns the direction of what follows. Pure.
 */
import type { JsonValue } from "./json.ts";

const unseen = /[\p{C}\p{Zl}\p{Zp}]/gu;

/**
 * The same text with U+FFFD for every character that is not itself to be seen.
 * @public
 */
export function visible(text: string): string {
  return text.replace(unseen, "\ufffd");
}

/**
 * An answer with each text in it made visible, names of members as well; numbers and shape stay.
 * @public
 */
export function visibleAll<T>(answer: T): T {
  return cleaned(answer as JsonValue) as T;
}

function cleaned(value: JsonValue): JsonValue {
  if (typeof value === "string") return visible(value);
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(cleaned);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [visible(name), cleaned(inner)]));
}

/**
 * A path as one word of a shell's line, for a hint that a person copies; null for a name that cannot be typed as it is shown.
 * @public
 */
export function shellWord(path: string): string | null {
  if (/^[\w@%+=:,./-]+$/.test(path)) return path;
  return visible(path) === path ? `'${path.replaceAll("'", "'\\''")}'` : null;
}
