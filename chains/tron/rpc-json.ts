/**
 * JSON as Tron's nodes write it: 64-bit integers as bare digits, which JavaScript's own reader
 * rounds above 2^53. This reader keeps them as digits.
 */
import { parseForeign } from "../../base/foreign-json.ts";

/**
 * Integers of sixteen digits and more as text. @throws SyntaxError, or AgentError JSON_ITEMS for an
 * answer of more values than a full block has
 */
export function parseJson(text: string): unknown {
  return parseForeign(text, "long");
}
