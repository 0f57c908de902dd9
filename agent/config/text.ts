/**
 * config.json as bytes. Finds its outermost members, so secrets leave as bytes before any of them
 * becomes a string, and scrubbing keeps every other byte of the file. Only finds positions; the
 * strict parser judges the grammar.
 */
import { isUtf8 } from "node:buffer";
import { countByteOrderMarkBytes } from "../../base/invisible.ts";
import { allocateFixedBytes, copyToFixedBytes } from "../files/fixed-bytes.ts";

/**
 * A member of the outermost object: key from `start`, quotes included; value from `valueStart` up
 * to but not including `end`.
 */
export interface JsonMemberSpan {
  readonly key: string; // as written, escapes unresolved
  readonly start: number;
  readonly valueStart: number;
  readonly end: number;
}

const quote = 0x22;
const backslash = 0x5c;
const space = 0x20;

/**
 * The members of the outermost object in order; none when the text is not an object. Anything
 * malformed ends the list early.
 */
export function findMembers(bytes: Uint8Array): readonly JsonMemberSpan[] {
  const members: JsonMemberSpan[] = [];
  let at = skipSpace(bytes, countByteOrderMarkBytes(bytes));
  if (bytes[at] !== 0x7b) return members;
  at = skipSpace(bytes, at + 1);
  while (bytes[at] === quote) {
    const start = at;
    const keyEnd = skipString(bytes, start);
    const colon = skipSpace(bytes, keyEnd);
    if (bytes[colon] !== 0x3a) return members;
    const valueStart = skipSpace(bytes, colon + 1);
    const end = skipValue(bytes, valueStart);
    if (end === valueStart) return members;
    const key = Buffer.from(bytes.subarray(start + 1, keyEnd - 1)).toString("latin1");
    members.push({ key, start, valueStart, end });
    const after = skipSpace(bytes, end);
    if (bytes[after] !== 0x2c) return members;
    at = skipSpace(bytes, after + 1);
  }
  return members;
}

/**
 * A copy with the inside of each named member's string value turned into spaces, and a byte order
 * mark in front as well: same length, same lines, same grammar.
 */
export function blankFields(bytes: Uint8Array, names: readonly string[]): Uint8Array {
  const copy = copyToFixedBytes(bytes).fill(space, 0, countByteOrderMarkBytes(bytes));
  for (const member of findMembers(bytes)) {
    if (names.includes(member.key) && bytes[member.valueStart] === quote)
      copy.fill(space, member.valueStart + 1, member.end - 1);
  }
  return copy;
}

/** The text without the named members. Every other byte, separators included, stays the same. */
export function withoutMembers(bytes: Uint8Array, names: readonly string[]): Uint8Array {
  const members = findMembers(bytes);
  const [first] = members;
  const last = members.at(-1);
  if (first === undefined || last === undefined) return copyToFixedBytes(bytes);
  const parts: Uint8Array[] = [bytes.subarray(0, first.start)];
  let kept = 0;
  members.forEach((member, index) => {
    if (names.includes(member.key)) return;
    const before = members[index - 1];
    if (kept > 0 && before !== undefined) parts.push(bytes.subarray(before.end, member.start));
    parts.push(bytes.subarray(member.start, member.end));
    kept += 1;
  });
  parts.push(bytes.subarray(last.end));
  return Buffer.concat(parts);
}

/**
 * The bytes of a JSON string, escapes resolved to UTF-8, without ever making a string of them.
 * `text` includes both quotes. Null for text that is no JSON string: an unknown escape, half a
 * surrogate pair, a control character, bytes outside UTF-8. The caller wipes the result.
 */
export function decodeJsonStringBytes(text: Uint8Array): Uint8Array | null {
  if (!isUtf8(text) || text.some((byte) => byte < space)) return null;
  const out = allocateFixedBytes(text.length);
  let length = 0;
  let at = 1;
  while (at < text.length - 1) {
    const byte = text[at] as number;
    if (byte !== backslash) {
      out[length++] = byte;
      at += 1;
      continue;
    }
    const escaped = readEscape(text, at);
    if (escaped === null) {
      out.fill(0);
      return null;
    }
    length = putCodePoint(out, length, escaped.codePoint);
    at += escaped.bytes;
  }
  const result = copyToFixedBytes(out.subarray(0, length));
  out.fill(0);
  return result;
}

const hexDigits = Buffer.from("0123456789abcdefABCDEF");
const plainEscapes = new Map([
  [0x22, 0x22],
  [0x5c, 0x5c],
  [0x2f, 0x2f],
  [0x62, 0x08],
  [0x66, 0x0c],
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
]);

function readEscape(
  text: Uint8Array,
  at: number,
): { readonly codePoint: number; readonly bytes: number } | null {
  const plain = plainEscapes.get(text[at + 1] ?? 0);
  if (plain !== undefined) return { codePoint: plain, bytes: 2 };
  const unit = readUnit(text, at);
  if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff)) return null;
  if (unit < 0xd800 || unit > 0xdbff) return { codePoint: unit, bytes: 6 };
  const low = readUnit(text, at + 6);
  if (low < 0xdc00 || low > 0xdfff) return null;
  return { codePoint: 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00), bytes: 12 };
}

/** The UTF-16 unit of a backslash-u escape at `at`, or -1. */
function readUnit(text: Uint8Array, at: number): number {
  if (text[at] !== backslash || text[at + 1] !== 0x75) return -1;
  let unit = 0;
  for (let index = at + 2; index < at + 6; index += 1) {
    const digit = hexDigits.indexOf(text[index] ?? 0);
    if (digit < 0) return -1;
    unit = unit * 16 + (digit > 15 ? digit - 6 : digit);
  }
  return unit;
}

function putCodePoint(out: Uint8Array, at: number, codePoint: number): number {
  if (codePoint < 0x80) {
    out[at] = codePoint;
    return at + 1;
  }
  const size = codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4;
  const lead = size === 2 ? 0xc0 : size === 3 ? 0xe0 : 0xf0;
  out[at] = lead | (codePoint >> (6 * (size - 1)));
  for (let index = 1; index < size; index += 1)
    out[at + index] = 0x80 | ((codePoint >> (6 * (size - 1 - index))) & 0x3f);
  return at + size;
}

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09)
    at += 1;
  return at;
}

/** The position after the closing quote, or the end of the text. */
function skipString(bytes: Uint8Array, from: number): number {
  let at = from + 1;
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
  return Math.min(at + 1, bytes.length);
}

function skipValue(bytes: Uint8Array, from: number): number {
  let depth = 0;
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === quote) {
      at = skipString(bytes, at);
      if (depth === 0) return at;
      continue;
    }
    const opens = byte === 0x7b || byte === 0x5b;
    const closes = byte === 0x7d || byte === 0x5d;
    if (
      depth === 0 &&
      (closes || byte === 0x2c || byte === 0x0a || byte === 0x0d || byte === 0x20 || byte === 0x09)
    )
      return at;
    if (opens) depth += 1;
    if (closes) depth -= 1;
    at += 1;
    if (closes && depth === 0) return at;
  }
  return at;
}
