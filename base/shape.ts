/**
 * Readers that turn a parsed JSON value into one known shape, or refuse it for an unknown field, a
 * missing field or a value out of range. A reader is built once and called often. Messages between
 * programs and settings have the same readers and words; the maker of readers says which code a
 * problem gets. A message names the path of the field, never its value, which may be a secret.
 */
import { AgentError } from "./fault.ts";
import type { JsonObject, JsonValue } from "./json.ts";

/**
 * Turns a value into a T. `path` names the location for the operator, e.g. `config.policy.eth`;
 * "" is the whole file.
 * @throws AgentError of the readers' maker
 */
export type Reader<T> = (value: JsonValue, path: string) => T;

/** A value that does not fit its reader. */
export interface ShapeProblem {
  readonly kind: "missing" | "unknown" | "type" | "value";
  readonly path: string;
  readonly message: string; // begins with the path
  readonly known: readonly string[]; // the known fields for an unknown one; else empty
  readonly given: string; // the name of an unknown field; else ""
}

type Shape = Readonly<Record<string, Reader<unknown>>>;
type ReaderOutput<R> = R extends Reader<infer T> ? T : never;
type Fields<S extends Shape> = { readonly [K in keyof S]: ReaderOutput<S[K]> };
type FlatFields<T> = { [K in keyof T]: T[K] };

/** The path of a member of the value at `path`. */
export const memberPath = (path: string, key: string): string =>
  path === "" ? key : `${path}.${key}`;

const nameOf = (path: string): string => (path === "" ? "the file" : path);

/** Makes the readers. A problem is thrown as the fault that `faultOf` makes of it. */
export function createReaders(faultOf: (problem: ShapeProblem) => AgentError) {
  const plain = { known: [], given: "" };

  /** The fault of a value for a reader outside of this file. `problem` is a phrase: "must be …". */
  function valueFault(path: string, problem: string): AgentError {
    return faultOf({ kind: "value", path, message: `${nameOf(path)} ${problem}`, ...plain });
  }

  function typeFault(path: string, wanted: string, value: JsonValue): AgentError {
    const message = `${nameOf(path)} must be ${wanted}, not ${typeName(value)}`;
    return faultOf({ kind: "type", path, message, ...plain });
  }

  function missingFault(path: string, key: string): AgentError {
    const field = memberPath(path, key);
    return faultOf({ kind: "missing", path: field, message: `${field} is missing`, ...plain });
  }

  function unknownFault(path: string, given: string, known: readonly string[]): AgentError {
    const field = memberPath(path, shownKey(given));
    const message = `${field} is not a known key`;
    return faultOf({ kind: "unknown", path: field, message, known, given });
  }

  /** Reads an object with every field of `shape`, any of `optional`, and no other. */
  function object<S extends Shape, O extends Shape = Record<never, never>>(
    shape: S,
    optional?: O,
  ): Reader<FlatFields<Fields<S> & Partial<Fields<O>>>> {
    const required = Object.entries(shape);
    const readers = new Map([...required, ...Object.entries(optional ?? {})]);
    return (value, path) => {
      if (!isObject(value)) throw typeFault(path, "an object, { … }", value);
      const result: Record<string, unknown> = {};
      let found = 0;
      for (const key in value) {
        const reader = readers.get(key);
        if (reader === undefined) throw unknownFault(path, key, [...readers.keys()]);
        result[key] = reader(value[key] as JsonValue, memberPath(path, key));
        if (key in shape) found += 1;
      }
      if (found !== required.length) {
        const missing = required.find(([key]) => !(key in value));
        throw missingFault(path, missing?.[0] ?? "");
      }
      return result as FlatFields<Fields<S> & Partial<Fields<O>>>;
    };
  }

  /** A list of at most `itemsMax` values. */
  function list<T>(reader: Reader<T>, itemsMax: number): Reader<readonly T[]> {
    return (value, path) => {
      if (!Array.isArray(value)) throw typeFault(path, "a list, [ … ]", value);
      if (value.length > itemsMax) throw valueFault(path, `has more than ${itemsMax} entries`);
      return (value as readonly JsonValue[]).map((item, index) =>
        reader(item, `${path}[${index}]`),
      );
    };
  }

  /**
   * Reads a text of `min` to `max` UTF-16 units (default 0 to 4096) that matches `pattern`, if one
   * is given.
   */
  function string({
    min = 0,
    max = 4096,
    pattern,
  }: {
    min?: number;
    max?: number;
    pattern?: RegExp;
  } = {}): Reader<string> {
    return (value, path) => {
      if (typeof value !== "string") throw typeFault(path, 'text in quotes, "…"', value);
      if (value.length < min || value.length > max)
        throw valueFault(path, `must have ${min} to ${max} characters`);
      if (pattern !== undefined && !pattern.test(value))
        throw valueFault(path, `must match ${pattern.source}`);
      return value;
    };
  }

  /** Reads a whole number, by default 0 to 2^53-1. */
  function integer({
    min = 0,
    max = Number.MAX_SAFE_INTEGER,
  }: {
    min?: number;
    max?: number;
  } = {}): Reader<number> {
    return (value, path) => {
      if (typeof value !== "number" || !Number.isSafeInteger(value))
        throw typeFault(path, "a whole number without quotes", value);
      if (value < min || value > max) throw valueFault(path, `must be between ${min} and ${max}`);
      return value;
    };
  }

  /** Exactly `bytes` bytes as lower-case hex. */
  function hex(bytes: number): Reader<string> {
    const pattern = new RegExp(`^[0-9a-f]{${bytes * 2}}$`);
    return (value, path) => {
      if (typeof value !== "string" || !pattern.test(value))
        throw valueFault(path, `must be ${bytes} bytes as lower-case hex`);
      return value;
    };
  }

  /** One of the given literals. */
  function oneOf<const T extends readonly (string | number | true)[]>(
    ...literals: T
  ): Reader<T[number]> {
    return (value, path) => {
      for (const literal of literals) if (value === literal) return literal;
      const [last = "", ...rest] = literals.map((literal) => JSON.stringify(literal)).reverse();
      const words = rest.length === 0 ? last : `${rest.reverse().join(", ")} or ${last}`;
      throw valueFault(path, `must be ${words}`);
    };
  }

  function boolean(): Reader<boolean> {
    return (value, path) => {
      if (typeof value !== "boolean") throw valueFault(path, "must be true or false");
      return value;
    };
  }

  /** Reads null, or the value that `reader` reads. */
  function nullable<T>(reader: Reader<T>): Reader<T | null> {
    return (value, path) => (value === null ? null : reader(value, path));
  }

  /**
   * An object whose keys are data: at most `keysMax`, each matching `keyPattern`. The result has no
   * prototype.
   */
  function record<T>(
    reader: Reader<T>,
    { keysMax, keyPattern }: { keysMax: number; keyPattern: RegExp },
  ): Reader<Readonly<Record<string, T>>> {
    return (value, path) => {
      if (!isObject(value)) throw typeFault(path, "an object, { … }", value);
      const result: Record<string, T> = Object.create(null);
      let count = 0;
      for (const key in value) {
        count += 1;
        if (count > keysMax) throw valueFault(path, `has more than ${keysMax} entries`);
        if (!keyPattern.test(key))
          throw valueFault(
            memberPath(path, shownKey(key)),
            `must have a name matching ${keyPattern.source}`,
          );
        result[key] = reader(value[key] as JsonValue, memberPath(path, key));
      }
      return result;
    };
  }

  return { valueFault, object, list, string, integer, hex, oneOf, boolean, nullable, record };
}

/** The readers of messages and files that programs write. A problem is a fault JSON_SHAPE. */
const messages = createReaders(
  ({ path, message }) => new AgentError("JSON_SHAPE", "none", message, { path }),
);
export const { object, list, string, integer, hex, oneOf, boolean, nullable, record } = messages;
export const shapeFault = messages.valueFault;

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function typeName(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return typeof value === "string" ? "text" : `a ${typeof value}`;
}

/**
 * A key may be a secret pasted at the wrong place, so only a key with the form of a name is shown.
 */
function shownKey(key: string): string {
  return /^[A-Za-z][A-Za-z0-9_-]{0,31}$/.test(key) ? key : "a key that is no name";
}
