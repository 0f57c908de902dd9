/**
 * The few JSON Schema keywords that the description of the service uses. The readers of orders take
 * their fields from the same schemas. Source: JSON Schema 2020-12, as used by OpenAPI 3.1.
 */

/** A schema, or another part of the document: plain JSON. */
export interface Json {
  readonly [name: string]: JsonPart;
}
export type JsonPart = string | number | boolean | null | Json | readonly JsonPart[];

/** A string with its meaning. `more` adds keywords. */
export function textSchema(description: string, more: Json = {}): Json {
  return { type: "string", description, ...more };
}

/** A decimal number in the interface's form: a string. */
export function decimalSchema(description: string, example: string): Json {
  return textSchema(description, {
    pattern: "^(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?$",
    examples: [example],
  });
}

/** A decimal number, or "" if it may be unknown. */
export function decimalOrEmptySchema(description: string, example: string): Json {
  return textSchema(description, {
    pattern: "^(?:(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?)?$",
    examples: [example],
  });
}

export function timeSchema(description: string): Json {
  return textSchema(`${description} ISO 8601, UTC, milliseconds.`, {
    format: "date-time",
    pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$",
    examples: ["2026-01-02T03:04:05.678Z"],
  });
}

export function flagSchema(description: string): Json {
  return { type: "boolean", description };
}

/** An integer out of `values`. */
export function oneOfNumbersSchema(description: string, values: readonly number[]): Json {
  return { type: "integer", description, enum: values };
}

/**
 * A schema with a name of its own. The description has it once under that name, and a reference at
 * each of its uses.
 */
export type NamedSchema<S extends Json = Json> = { readonly name: string; readonly schema: S };

/** A use of a named schema. The description writes the name of `$ref` as a pointer. */
export function schemaReference(named: NamedSchema): Json {
  return { $ref: named };
}

export function listSchema(named: NamedSchema): Json {
  return { type: "array", items: schemaReference(named) };
}

export interface ObjectSchema extends Json {
  readonly type: "object";
  readonly description: string;
  readonly properties: Readonly<Record<string, Json | false>>;
  readonly required: readonly string[];
}

/**
 * An object with these properties. All are required except those in `optional`; `false` is one that
 * it never has. Answers may get further properties, orders never.
 */
export function objectSchema(
  description: string,
  properties: Readonly<Record<string, Json | false>>,
  {
    optional = [],
    isClosed = false,
  }: { readonly optional?: readonly string[]; readonly isClosed?: boolean } = {},
): ObjectSchema {
  return {
    type: "object",
    description,
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
    ...(isClosed ? { additionalProperties: false } : {}),
  };
}
