/**
 * JSON as Tron's nodes write it: 64-bit integers as bare digits, which JavaScript's own reader
 * rounds above 2^53. Here they come as their digits.
 */

/** A text, which stays, or an integer of so many digits that a number may not hold it. */
const tokens = /"(?:[^"\\]|\\.)*"|(?<![\d.eE+])-?\d{16,}(?![\d.eE])/g;

/** Integers of sixteen digits and more as text. @throws SyntaxError */
export function parseJson(text: string): unknown {
  return JSON.parse(text.replace(tokens, (token) => (token.startsWith('"') ? token : `"${token}"`)));
}
