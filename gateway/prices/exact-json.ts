/**
 * Reads JSON of exchanges, whose numbers have fractions: every number becomes the text that it was
 * written in, so that no digit of a price is rounded. Pure.
 */
import { AgentError } from "../../base/fault.ts";
import { quoteNumbers } from "../../base/foreign-json.ts";
import { type JsonValue, parseJson } from "../../base/json.ts";

/** Largest answer, in bytes. */
export const answerBytesMax = 1_048_576;

/**
 * The value with its numbers as strings. Null if the text is no JSON or exceeds the limits of an
 * exchange's answer.
 */
export function parseExact(text: string): JsonValue | null {
  try {
    const quoted = quoteNumbers(text, "all");
    return parseJson(quoted, {
      bytesMax: answerBytesMax * 2,
      keysMax: 4_096,
      itemsMax: 4_096,
      stringBytesMax: 16_384,
    });
  } catch (error) {
    if (error instanceof AgentError) return null;
    throw error;
  }
}

/** The value at the end of a path of keys; undefined if the path does not exist. */
export function valueAt(
  value: JsonValue | undefined,
  ...path: readonly string[]
): JsonValue | undefined {
  let here = value;
  for (const key of path) {
    if (typeof here !== "object" || here === null) return undefined;
    here = Object.hasOwn(here, key)
      ? (here as Readonly<Record<string, JsonValue>>)[key]
      : undefined;
  }
  return here;
}

/** Like `valueAt`, for a text; "" if there is none. */
export function textAt(value: JsonValue | undefined, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : "";
}
