/**
 * Readers for each kind of value in config.json. A fault names the location in the file and, for a
 * mistyped key, the nearest right one. Pure. `path` is a value's location, such as
 * `policy.eth.maxFee`.
 */
import type { Code } from "../../base/codes.ts";
import { AgentError } from "../../base/fault.ts";
import type { JsonObject, JsonValue } from "../../base/json.ts";

/** An http or https URL of at most 2048 printable characters; null for any other text. */
export function parseUrl(text: string): URL | null {
  if (!/^https?:\/\/[!-~]+$/.test(text) || text.length > 2048) return null;
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** The member `key`. @throws AgentError CONFIG_MISSING_KEY */
export function requireField(object: JsonObject, key: string, path: string): JsonValue {
  const value = object[key];
  if (value === undefined)
    throw configFault("CONFIG_MISSING_KEY", `${path === "" ? "" : `${path}.`}${key} is missing`);
  return value;
}

/**
 * An object, all of whose keys are in `known` if that is given. @throws AgentError CONFIG_TYPE,
 * CONFIG_UNKNOWN_KEY
 */
export function asObject(value: JsonValue, path: string, known?: readonly string[]): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw typeFault(path, "an object, { … }", value);
  const object = value as JsonObject;
  for (const key of Object.keys(object)) {
    if (known !== undefined && !known.includes(key)) {
      throw configFault(
        "CONFIG_UNKNOWN_KEY",
        `${path === "the file" ? "" : `${path}.`}${shownKey(key)} is not a known key`,
        known,
        key,
      );
    }
  }
  return object;
}

/** @throws AgentError CONFIG_TYPE; CONFIG_VALUE for more than `itemsMax` */
export function asList(value: JsonValue, path: string, itemsMax: number): readonly JsonValue[] {
  if (!Array.isArray(value)) throw typeFault(path, "a list, [ … ]", value);
  if (value.length > itemsMax)
    throw configFault("CONFIG_VALUE", `${path} has more than ${itemsMax} entries`);
  return value as readonly JsonValue[];
}

/** @throws AgentError CONFIG_TYPE */
export function asText(value: JsonValue, path: string): string {
  if (typeof value !== "string") throw typeFault(path, 'text in quotes, "…"', value);
  return value;
}

/** An integer from `min` to `max`, both included. @throws AgentError CONFIG_TYPE, CONFIG_VALUE */
export function asInteger(value: JsonValue, path: string, min: number, max: number): number {
  if (typeof value !== "number") throw typeFault(path, "a whole number without quotes", value);
  if (value < min || value > max)
    throw configFault("CONFIG_VALUE", `${path} must be between ${min} and ${max}`);
  return value;
}

function typeFault(path: string, wanted: string, value: JsonValue): AgentError {
  const found =
    value === null
      ? "null"
      : Array.isArray(value)
        ? "a list"
        : typeof value === "object"
          ? "an object"
          : `a ${typeof value}`;
  return configFault(
    "CONFIG_TYPE",
    `${path} must be ${wanted}, not ${found.replace("a string", "text")}`,
  );
}

type ConfigCode = Extract<Code, `CONFIG_${string}`>;

/**
 * A fault whose hint is the name of `known` that is nearest to `given`, or the start of `given`;
 * else all of `known`.
 */
export function configFault(
  code: ConfigCode,
  message: string,
  known?: readonly string[],
  given?: string,
): AgentError {
  if (known === undefined || known.length === 0) return new AgentError(code, "none", message);
  const isNear = (name: string): boolean =>
    given !== undefined && distance(name.toLowerCase(), given.toLowerCase()) <= 2;
  const longestFirst = [...known].sort((a, b) => b.length - a.length);
  const near = known.find(isNear) ?? longestFirst.find((name) => given?.startsWith(name) === true);
  const hint = near === undefined ? `known here: ${known.join(", ")}` : `did you mean ${near}?`;
  return new AgentError(code, "none", message, { hint });
}

/**
 * A key may be a secret pasted at the wrong place, so only a key with the form of a name is shown.
 */
function shownKey(key: string): string {
  return /^[A-Za-z][A-Za-z0-9_-]{0,31}$/.test(key) ? key : "a key that is no name";
}

/** The text in quotes, cut at 64 characters. */
export function quoteText(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 61)}...` : text);
}

/** Levenshtein distance: single-letter changes from one name to the other. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
