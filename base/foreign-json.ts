/**
 * Reads JSON from chain nodes and exchanges, whose numbers may have more digits than a JavaScript
 * number holds. One pass over the text puts such numbers into quotes and counts the values; then
 * JavaScript's own parser reads the text. The time grows only with the length, for any text, and
 * the count bounds the memory of the result. Pure.
 */
import { AgentError } from "./fault.ts";

/**
 * `long`: integers of sixteen digits and more become text, other numbers stay numbers. `all`: every
 * number becomes the text in which it was written.
 */
export type NumbersAsText = "long" | "all";

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
 */
export function parseForeign(
  text: string,
  asText: NumbersAsText,
  limits: Partial<ForeignLimits> = {},
): unknown {
  return JSON.parse(quoteNumbers(text, asText, limits));
}

/** The text with its numbers in quotes, not parsed. Throws the same faults except SyntaxError. */
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
      if (values > valuesMax)
        throw new AgentError("JSON_ITEMS", "none", `more than ${valuesMax} values`, { at });
      at += 1;
    }
  }
  return copied === 0 ? text : parts.join("") + text.slice(copied);
}

/** Position behind the closing quote, or the end of the text if a string never ends. */
function endOfString(text: string, from: number): number {
  for (let at = from + 1; ; ) {
    const end = text.indexOf('"', at);
    if (end === -1) return text.length;
    // Counts the backslashes right before `end`. A quote before them, or before `at`, ends the
    // count.
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
