/**
 * Characters that do not show. Editors, chat programs and web pages put them into keys, words and
 * addresses that an operator copies. Works on bytes, because the text may be a secret. Pure.
 * Source: the Unicode Standard, general categories Cc, Cf, Zs, Zl and Zp.
 */
import { isUtf8 } from "node:buffer";
import { AgentError } from "./fault.ts";

/**
 * A character that does not show. `at` is the position of its first byte in the text, `character`
 * its position counted in characters from 1.
 */
export interface InvisibleCharacter {
  readonly name: string; // "a no-break space (U+00A0)"
  readonly at: number;
  readonly character: number;
}

const named: ReadonlyMap<number, string> = new Map([
  [0x00a0, "no-break space"],
  [0x00ad, "soft hyphen"],
  [0x200b, "zero-width space"],
  [0x200c, "zero-width non-joiner"],
  [0x200d, "zero-width joiner"],
  [0x2007, "figure space"],
  [0x2028, "line separator"],
  [0x2029, "paragraph separator"],
  [0x202f, "narrow no-break space"],
  [0x2060, "word joiner"],
  [0x3000, "ideographic space"],
  [0xfeff, "byte order mark"],
]);

/** First and last code point of each kind; space, tab and line ends are not among them. */
const kinds: readonly (readonly [first: number, last: number, name: string])[] = [
  [0x00, 0x08, "control character"],
  [0x0b, 0x0c, "control character"],
  [0x0e, 0x1f, "control character"],
  [0x7f, 0x9f, "control character"],
  [0x061c, 0x061c, "direction mark"],
  [0x115f, 0x1160, "filler"],
  [0x1680, 0x1680, "space"],
  [0x180e, 0x180e, "vowel separator"],
  [0x2000, 0x200a, "space"],
  [0x200e, 0x200f, "direction mark"],
  [0x202a, 0x202e, "direction mark"],
  [0x205f, 0x205f, "space"],
  [0x2061, 0x2064, "invisible operator"],
  [0x2066, 0x206f, "direction mark"],
  [0x3164, 0x3164, "filler"],
  [0xfe00, 0xfe0f, "variation selector"],
  [0xfff9, 0xfffb, "annotation mark"],
  [0xe0000, 0xe0fff, "tag character"],
];

/**
 * The first invisible character of a UTF-8 text, null without one. The space, the tab and the line
 * ends count as visible. Linear in the length.
 */
export function findInvisible(bytes: Uint8Array): InvisibleCharacter | null {
  let character = 0;
  for (let at = 0; at < bytes.length; ) {
    const { codePoint, length } = codePointAt(bytes, at);
    character += 1;
    const name = nameOf(codePoint);
    if (name !== "") return { name: withNumber(name, codePoint), at, character };
    at += length;
  }
  return null;
}

/**
 * Returns if every character of a configuration shows, because an invisible character would change
 * an address or a name. `label` stands in front of the position, such as "config.json, ". Bytes
 * outside UTF-8 are left to the parser.
 * @throws AgentError CONFIG_INVISIBLE with line and column
 */
export function assertVisible(text: Uint8Array, label: string): void {
  const unseen = isUtf8(text) ? findInvisible(text) : null;
  if (unseen === null) return;
  const before = Buffer.from(text.subarray(0, unseen.at)).toString("utf8");
  const line = before.split("\n").length;
  const column = before.length - before.lastIndexOf("\n");
  throw new AgentError(
    "CONFIG_INVISIBLE",
    "none",
    `${label}line ${line}, column ${column}: ${unseen.name}`,
    { line },
  );
}

/**
 * The number of bytes of a byte order mark in front of a text: 3 or 0. Windows editors write this
 * mark; RFC 8259 section 8.1 lets a reader pass over it.
 */
export function countByteOrderMarkBytes(bytes: Uint8Array): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

/**
 * Describes the first space, line end or invisible character of a text that must have only visible
 * ones, with its position, such as "a space at the end". "" if there is none.
 */
export function describeOddCharacter(bytes: Uint8Array): string {
  const blank = bytes.findIndex((byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d));
  const unseen = findInvisible(bytes);
  if (blank < 0 && unseen === null) return "";
  if (unseen !== null && (blank < 0 || unseen.at <= blank))
    return `${unseen.name} ${placeOf(bytes, unseen.at)}`;
  const name = bytes[blank] === 0x20 ? "a space" : bytes[blank] === 0x09 ? "a tab" : "a line break";
  return `${name} ${placeOf(bytes, blank)}`;
}

/** If only blanks follow, the position is the end, so trailing blanks are not counted. */
function placeOf(bytes: Uint8Array, at: number): string {
  if (at === 0) return "at the beginning";
  const rest = bytes.subarray(at);
  const isEnd = rest.every(
    (byte) => byte === 0x20 || byte >= 0x80 || (byte >= 0x09 && byte <= 0x0d),
  );
  return isEnd ? "at the end" : `after character ${charactersIn(bytes.subarray(0, at))}`;
}

const charactersIn = (bytes: Uint8Array): number =>
  bytes.reduce((count, byte) => count + ((byte & 0xc0) === 0x80 ? 0 : 1), 0);

function nameOf(codePoint: number): string {
  if (codePoint > 0x1f && codePoint < 0x7f) return "";
  return (
    named.get(codePoint) ??
    kinds.find(([first, last]) => codePoint >= first && codePoint <= last)?.[2] ??
    ""
  );
}

function withNumber(name: string, codePoint: number): string {
  const article = /^[aeiou]/.test(name) ? "an" : "a";
  return `${article} ${name} (U+${codePoint.toString(16).toUpperCase().padStart(4, "0")})`;
}

/** RFC 3629 section 3. A malformed byte counts as one character of its own. */
function codePointAt(
  bytes: Uint8Array,
  at: number,
): { readonly codePoint: number; readonly length: number } {
  const lead = bytes[at] as number;
  const length = lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 1;
  if (length === 1) return { codePoint: lead < 0x80 ? lead : 0xfffd, length };
  let codePoint = lead & (0xff >> (length + 1));
  for (let index = 1; index < length; index += 1) {
    const byte = bytes[at + index];
    if (byte === undefined || (byte & 0xc0) !== 0x80) return { codePoint: 0xfffd, length: 1 };
    codePoint = (codePoint << 6) | (byte & 0x3f);
  }
  return { codePoint, length };
}
