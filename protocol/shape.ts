/**
 * Readers that turn a parsed JSON value into one known shape, or refuse it for an unknown field, a
 * missing field or a value out of range. A reader is built once and called often. The message names
 * the path of the field, never its value, which may be a secret.
 */
import { AgentError } from "../base/fault.ts";
import type { JsonValue } from "../base/json.ts";

/**
 * Turns a value into a T. `path` names the location for the operator, e.g. `config.policy.eth`.
 * @throws AgentError JSON_SHAPE.
 */
export type Reader<T> = (value: JsonValue, path: string) => T;

type Shape = Readonly<Record<string, Reader<unknown>>>;
type ReaderOutput<R> = R extends Reader<infer T> ? T : never;
type Fields<S extends Shape> = { readonly [K in keyof S]: ReaderOutput<S[K]> };
type FlatFields<T> = { [K in keyof T]: T[K] };

/**
 * The fault of every reader, also for readers of other files. `problem` is a phrase such as "must
 * be a string".
 */
export function shapeFault(path: string, problem: string): AgentError {
  return new AgentError("JSON_SHAPE", "none", `${path} ${problem}`, { path });
}

/** Reads an object with every field of `shape`, any of `optional`, and no other. */
export function object<S extends Shape, O extends Shape = Record<never, never>>(
  shape: S,
  optional?: O,
): Reader<FlatFields<Fields<S> & Partial<Fields<O>>>> {
  const required = Object.entries(shape);
  const readers = new Map([...required, ...Object.entries(optional ?? {})]);
  return (value, path) => {
    if (!isObject(value)) throw shapeFault(path, "must be an object");
    const result: Record<string, unknown> = {};
    let found = 0;
    for (const key in value) {
      const reader = readers.get(key);
      if (reader === undefined) throw shapeFault(`${path}.${printable(key)}`, "is not known here");
      result[key] = reader(value[key] as JsonValue, `${path}.${key}`);
      if (key in shape) found += 1;
    }
    if (found !== required.length) {
      const missing = required.find(([key]) => !(key in value));
      throw shapeFault(`${path}.${missing?.[0]}`, "is missing");
    }
    return result as FlatFields<Fields<S> & Partial<Fields<O>>>;
  };
}

/** A list of at most `itemsMax` values. */
export function list<T>(reader: Reader<T>, itemsMax: number): Reader<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) throw shapeFault(path, "must be a list");
    if (value.length > itemsMax) throw shapeFault(path, `must have at most ${itemsMax} items`);
    return (value as readonly JsonValue[]).map((item, index) => reader(item, `${path}[${index}]`));
  };
}

/**
 * Reads a text of `min` to `max` UTF-16 units (default 0 to 4096) that matches `pattern`, if one is
 * given.
 */
export function string({
  min = 0,
  max = 4096,
  pattern,
}: {
  min?: number;
  max?: number;
  pattern?: RegExp;
} = {}): Reader<string> {
  return (value, path) => {
    if (typeof value !== "string") throw shapeFault(path, "must be a string");
    if (value.length < min || value.length > max)
      throw shapeFault(path, `must have ${min} to ${max} characters`);
    if (pattern !== undefined && !pattern.test(value))
      throw shapeFault(path, `must match ${pattern.source}`);
    return value;
  };
}

/** Reads a whole number, by default 0 to 2^53-1. */
export function integer({
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
}: {
  min?: number;
  max?: number;
} = {}): Reader<number> {
  return (value, path) => {
    if (typeof value !== "number" || !Number.isSafeInteger(value))
      throw shapeFault(path, "must be a whole number");
    if (value < min || value > max) throw shapeFault(path, `must be ${min} to ${max}`);
    return value;
  };
}

/** Exactly `bytes` bytes as lower-case hex. */
export function hex(bytes: number): Reader<string> {
  const pattern = new RegExp(`^[0-9a-f]{${bytes * 2}}$`);
  return (value, path) => {
    if (typeof value !== "string" || !pattern.test(value))
      throw shapeFault(path, `must be ${bytes} bytes as lower-case hex`);
    return value;
  };
}

/** One of the given literals. */
export function oneOf<const T extends readonly (string | number | true)[]>(
  ...literals: T
): Reader<T[number]> {
  return (value, path) => {
    for (const literal of literals) if (value === literal) return literal;
    throw shapeFault(
      path,
      `must be ${literals.map((literal) => JSON.stringify(literal)).join(" or ")}`,
    );
  };
}

export function boolean(): Reader<boolean> {
  return (value, path) => {
    if (typeof value !== "boolean") throw shapeFault(path, "must be true or false");
    return value;
  };
}

/** Reads null, or the value that `reader` reads. */
export function nullable<T>(reader: Reader<T>): Reader<T | null> {
  return (value, path) => (value === null ? null : reader(value, path));
}

/**
 * An object whose keys are data: at most `keysMax`, each matching `keyPattern`. The result has no
 * prototype.
 */
export function record<T>(
  reader: Reader<T>,
  { keysMax, keyPattern }: { keysMax: number; keyPattern: RegExp },
): Reader<Readonly<Record<string, T>>> {
  return (value, path) => {
    if (!isObject(value)) throw shapeFault(path, "must be an object");
    const result: Record<string, T> = Object.create(null);
    let count = 0;
    for (const key in value) {
      count += 1;
      if (count > keysMax) throw shapeFault(path, `must have at most ${keysMax} keys`);
      if (!keyPattern.test(key))
        throw shapeFault(
          `${path}.${printable(key)}`,
          `must have a name matching ${keyPattern.source}`,
        );
      result[key] = reader(value[key] as JsonValue, `${path}.${key}`);
    }
    return result;
  };
}

function isObject(value: JsonValue): value is { readonly [key: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A foreign key for a message: short, and without characters that a terminal acts on. */
function printable(key: string): string {
  return key.slice(0, 40).replace(/[^\x21-\x7e]/g, "?");
}
