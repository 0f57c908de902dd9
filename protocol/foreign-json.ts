/**
 * JSON that strangers write: chain nodes and exchanges, whose integers may have more digits and
 * whose figures more places than a JavaScript number holds. One pass over the text puts such
 * numbers into quotes and counts the values, then JavaScript's own parser reads it. Time grows with
 * the length alone, whatever the text is; the count bounds the memory of what comes out. Pure.
 */
import { AgentError } from "./fault.ts";

/**
 * `long`: integers of sixteen digits and more come as text, other numbers as numbers. `all`: every
 * number comes as the text it was written in.
 * @public
 */
export type NumbersAsText = "long" | "all";

/** @public */
export interface ForeignLimits {
  readonly valuesMax: number; // commas and brackets outside of strings
}

const longDigitsMin = 16;
const number = /-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const valuesMaxDefault = 2_000_000;
const [quote, backslash, comma, openList, openObject] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b];
const [minus, zero, nine] = [0x2d, 0x30, 0x39];

/**
 * @throws SyntaxError for a text that is no JSON; AgentError JSON_ITEMS above `valuesMax` (default
 * two million)
 * @public
 */
export function parseForeign(text: string, asText: NumbersAsText, limits: Partial<ForeignLimits> = {}): unknown {
  return JSON.parse(quoteNumbers(text, asText, limits));
}

/**
 * The text with its numbers in quotes, read no further. Same faults but SyntaxError.
 * @public
 */
export function quoteNumbers(
  text: string,
  asText: NumbersAsText,
  { valuesMax = valuesMaxDefault }: Partial<ForeignLimits> = {},
): string {
  const parts: string[] = [];
  let copied = 0;
  let values = 0;
  for (let at = 0; at < text.length; ) {
    const unit = text.charCodeAt(at);
    if (unit === quote) {
      at = endOfString(text, at);
    } else if (unit === minus || (unit >= zero && unit <= nine)) {
      const end = endOfNumber(text, at);
      if (isQuoted(text.slice(at, end), asText)) {
        parts.push(text.slice(copied, at), `"${text.slice(at, end)}"`);
        copied = end;
      }
      at = end;
    } else {
      if (unit === comma || unit === openList || unit === openObject) values += 1;
      if (values > valuesMax) throw new AgentError("JSON_ITEMS", "none", `more than ${valuesMax} values`, { at });
      at += 1;
    }
  }
  return copied === 0 ? text : parts.join("") + text.slice(copied);
}

/** Behind the closing quote, or the end of the text for a string that never ends. */
function endOfString(text: string, from: number): number {
  for (let at = from + 1; ; ) {
    const end = text.indexOf('"', at);
    if (end === -1) return text.length;
    // Backslashes right before it; the quote before them, or before `at`, ends the count.
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1;
    if (slashes % 2 === 0) return end + 1;
    at = end + 1;
  }
}

function endOfNumber(text: string, from: number): number {
  number.lastIndex = from;
  return number.test(text) ? number.lastIndex : from + 1;
}

function isQuoted(token: string, asText: NumbersAsText): boolean {
  if (asText === "all") return token !== "-";
  const digits = token.startsWith("-") ? token.length - 1 : token.length;
  return digits >= longDigitsMin && !/[.eE]/.test(token);
}
