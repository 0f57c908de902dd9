/**
 * The one strict JSON parser: every byte from a peer, a file or a socket goes through it. One pass,
 * bounded in bytes, depth, members and string length. Refuses JSON that other parsers read in
 * different ways (duplicate keys, fractions, lone surrogates). Messages name a position, never the
 * text, which may be a secret. Grammar: RFC 8259; limits: docs/protocol.md section 1.1.
 */
import { AgentError, invariant } from "./fault.ts";

/** A parsed value. Objects have no prototype. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export interface JsonLimits {
  readonly bytesMax: number; // size of the complete text as UTF-8
  readonly depthMax: number; // objects and lists around a value, 1 … 64
  readonly keysMax: number; // per object
  readonly itemsMax: number; // per list
  readonly stringBytesMax: number; // size of one string or key as UTF-8, escapes resolved
}

/** The limits of the protocol; a caller may widen single ones. */
export const jsonLimits: JsonLimits = {
  bytesMax: 65536,
  depthMax: 16,
  keysMax: 64,
  itemsMax: 1024,
  stringBytesMax: 4096,
};

const depthCeiling = 64;
const forbiddenKeys = new Set(["__proto__", "constructor", "prototype"]);
// With the u flag, a surrogate class matches only halves without their other half.
const loneSurrogate = /[\ud800-\udfff]/u;
// The rest of a number after its first digits. It refuses a number that breaks off or has a second
// point or exponent.
const fractionAndExponent = /(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9.eE+-])/y;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Parses one JSON text. Takes only whole numbers within ±(2^53-1), no byte order mark, and nothing
 * after the value.
 * @throws AgentError JSON_TOO_LARGE, JSON_UTF8, JSON_SYNTAX, JSON_NUMBER, JSON_STRING,
 * JSON_SURROGATE, JSON_DEPTH, JSON_ITEMS, JSON_DUPLICATE_KEY, JSON_FORBIDDEN_KEY; context `at` is
 * the position in UTF-16 units.
 */
export function parseJson(input: string | Uint8Array, limits?: Partial<JsonLimits>): JsonValue {
  const bounds = limits === undefined ? jsonLimits : { ...jsonLimits, ...limits };
  invariant(bounds.depthMax >= 1 && bounds.depthMax <= depthCeiling, "depthMax is within 1 … 64");
  const cursor = new Cursor(textOf(input, bounds.bytesMax), bounds);
  skipSpace(cursor);
  const value = readValue(cursor, 0);
  skipSpace(cursor);
  if (cursor.at !== cursor.text.length)
    throw fault("JSON_SYNTAX", "unexpected text after the value", cursor.at);
  return value;
}

function textOf(input: string | Uint8Array, bytesMax: number): string {
  const units = input.length;
  // A UTF-16 unit is one to three UTF-8 bytes, so only texts in between need counting.
  const tooLarge =
    units > bytesMax ||
    (typeof input === "string" && units * 3 > bytesMax && Buffer.byteLength(input) > bytesMax);
  if (tooLarge) throw fault("JSON_TOO_LARGE", `longer than ${bytesMax} bytes`, bytesMax);
  if (typeof input === "string") return input;
  try {
    return decoder.decode(input);
  } catch {
    throw fault("JSON_UTF8", "not well-formed UTF-8", 0);
  }
}

class Cursor {
  readonly text: string;
  readonly limits: JsonLimits;
  at = 0;

  constructor(text: string, limits: JsonLimits) {
    this.text = text;
    this.limits = limits;
  }
}

function readValue(cursor: Cursor, depth: number): JsonValue {
  switch (cursor.text.charCodeAt(cursor.at)) {
    case 0x22: // "
      return readString(cursor);
    case 0x7b: // {
      return readObject(cursor, depth + 1);
    case 0x5b: // [
      return readList(cursor, depth + 1);
    case 0x74: // t
      return readWord(cursor, "true", true);
    case 0x66: // f
      return readWord(cursor, "false", false);
    case 0x6e: // n
      return readWord(cursor, "null", null);
    default:
      return readNumber(cursor);
  }
}

function readObject(cursor: Cursor, depth: number): JsonObject {
  if (depth > cursor.limits.depthMax)
    throw fault("JSON_DEPTH", `nested deeper than ${cursor.limits.depthMax}`, cursor.at);
  const object: Record<string, JsonValue> = Object.create(null);
  let count = 0;
  cursor.at += 1;
  skipSpace(cursor);
  if (takes(cursor, 0x7d)) return object;
  for (;;) {
    const keyAt = cursor.at;
    if (cursor.text.charCodeAt(keyAt) !== 0x22)
      throw fault("JSON_SYNTAX", "expected a key in quotes", keyAt);
    const key = readString(cursor);
    count += 1;
    if (count > cursor.limits.keysMax)
      throw fault("JSON_ITEMS", `more than ${cursor.limits.keysMax} keys in one object`, keyAt);
    if (forbiddenKeys.has(key))
      throw fault(
        "JSON_FORBIDDEN_KEY",
        "a key that objects of this language treat specially",
        keyAt,
      );
    if (key in object) throw fault("JSON_DUPLICATE_KEY", "the same key twice", keyAt);
    skipSpace(cursor);
    if (!takes(cursor, 0x3a)) throw fault("JSON_SYNTAX", "expected a colon", cursor.at);
    skipSpace(cursor);
    object[key] = readValue(cursor, depth);
    skipSpace(cursor);
    if (takes(cursor, 0x7d)) return object;
    if (!takes(cursor, 0x2c))
      throw fault("JSON_SYNTAX", "expected a comma or the end of the object", cursor.at);
    skipSpace(cursor);
  }
}

function readList(cursor: Cursor, depth: number): readonly JsonValue[] {
  if (depth > cursor.limits.depthMax)
    throw fault("JSON_DEPTH", `nested deeper than ${cursor.limits.depthMax}`, cursor.at);
  const list: JsonValue[] = [];
  cursor.at += 1;
  skipSpace(cursor);
  if (takes(cursor, 0x5d)) return list;
  for (;;) {
    if (list.length === cursor.limits.itemsMax) {
      throw fault(
        "JSON_ITEMS",
        `more than ${cursor.limits.itemsMax} values in one list`,
        cursor.at,
      );
    }
    list.push(readValue(cursor, depth));
    skipSpace(cursor);
    if (takes(cursor, 0x5d)) return list;
    if (!takes(cursor, 0x2c))
      throw fault("JSON_SYNTAX", "expected a comma or the end of the list", cursor.at);
    skipSpace(cursor);
  }
}

/**
 * Reads a string whose opening quote stands at the cursor. Strings without escapes, nearly all, are
 * one slice.
 */
function readString(cursor: Cursor): string {
  const text = cursor.text;
  const start = cursor.at + 1;
  let at = start;
  let seen = 0; // all units or-ed: above 0x7f means that bytes and units differ
  let escaped = false;
  for (;;) {
    if (at >= text.length) throw fault("JSON_SYNTAX", "a string without its end", cursor.at);
    const unit = text.charCodeAt(at);
    if (unit === 0x22) break;
    if (unit < 0x20) throw fault("JSON_SYNTAX", "a control character inside a string", at);
    seen |= unit;
    if (unit === 0x5c) {
      escaped = true;
      at += 1; // The escaped unit may be a quote. A later check refuses an unknown escape.
    }
    at += 1;
  }
  const value = escaped ? resolveEscapes(text, start, at) : text.slice(start, at);
  checkString(value, escaped || seen > 0x7f, cursor);
  cursor.at = at + 1;
  return value;
}

function resolveEscapes(text: string, start: number, end: number): string {
  try {
    return JSON.parse(text.slice(start - 1, end + 1)) as string;
  } catch {
    throw fault("JSON_SYNTAX", "an escape that does not exist", start - 1);
  }
}

function checkString(value: string, wide: boolean, cursor: Cursor): void {
  const { stringBytesMax } = cursor.limits;
  const tooLong =
    value.length > stringBytesMax || (wide && Buffer.byteLength(value) > stringBytesMax);
  if (tooLong)
    throw fault("JSON_STRING", `a string longer than ${stringBytesMax} bytes`, cursor.at);
  if (wide && loneSurrogate.test(value))
    throw fault("JSON_SURROGATE", "half of a surrogate pair", cursor.at);
}

/**
 * Reads `0`, or an optional minus and digits without a leading zero. Fractions and exponents of the
 * grammar are refused as numbers.
 */
function readNumber(cursor: Cursor): number {
  const text = cursor.text;
  const start = cursor.at;
  const negative = text.charCodeAt(start) === 0x2d;
  let at = negative ? start + 1 : start;
  const first = at;
  let value = 0;
  for (; ; at += 1) {
    const digit = text.charCodeAt(at) - 0x30;
    if (!(digit >= 0 && digit <= 9)) break;
    value = value * 10 + digit;
  }
  if (at === first) throw fault("JSON_SYNTAX", "expected a value", start);
  if (at - first > 1 && text.charCodeAt(first) === 0x30)
    throw fault("JSON_SYNTAX", "a number with a leading zero", start);
  const next = text.charCodeAt(at);
  const fractional = next === 0x2e || next === 0x65 || next === 0x45;
  if (fractional && !endsAsNumber(text, at))
    throw fault("JSON_SYNTAX", "a number that breaks off", start);
  // A sum past 2^53 stays past it, so rounding cannot bring a longer number back into range.
  if (fractional || value > Number.MAX_SAFE_INTEGER || (negative && value === 0)) {
    throw fault("JSON_NUMBER", "not a whole number within ±(2^53-1)", start);
  }
  cursor.at = at;
  return negative ? -value : value;
}

function endsAsNumber(text: string, at: number): boolean {
  fractionAndExponent.lastIndex = at;
  return fractionAndExponent.test(text);
}

function readWord<T extends boolean | null>(cursor: Cursor, word: string, value: T): T {
  if (!cursor.text.startsWith(word, cursor.at))
    throw fault("JSON_SYNTAX", "expected a value", cursor.at);
  cursor.at += word.length;
  return value;
}

function takes(cursor: Cursor, unit: number): boolean {
  if (cursor.text.charCodeAt(cursor.at) !== unit) return false;
  cursor.at += 1;
  return true;
}

function skipSpace(cursor: Cursor): void {
  for (;;) {
    const unit = cursor.text.charCodeAt(cursor.at);
    if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return;
    cursor.at += 1;
  }
}

type JsonCode =
  | "JSON_TOO_LARGE"
  | "JSON_UTF8"
  | "JSON_SYNTAX"
  | "JSON_NUMBER"
  | "JSON_STRING"
  | "JSON_SURROGATE"
  | "JSON_DEPTH"
  | "JSON_ITEMS"
  | "JSON_DUPLICATE_KEY"
  | "JSON_FORBIDDEN_KEY";

function fault(code: JsonCode, message: string, at: number): AgentError {
  return new AgentError(code, "none", `JSON: ${message}, at position ${at}`, { at });
}
