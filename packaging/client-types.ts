/**
 * Makes the client's types (orders.ts, records.ts, targets.ts, events.ts and codes.ts of
 * clients/typescript/)
 * from the description that the gateway serves at /openapi.json, so that both have the same fields.
 * A keyword that this file does not know throws, because a type must not be wider than its schema
 * without a decision.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createDocument } from "../gateway/openapi/document.ts";
import { operations } from "../gateway/operations/operations.ts";

export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly (string | number)[];
  readonly properties?: Readonly<Record<string, Schema | false>>; // `false`: never there
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly additionalProperties?: boolean | Schema;
}

interface Parameter {
  readonly name?: string;
  readonly in?: string;
  readonly schema?: Schema;
  readonly required?: boolean;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]; // scopes by scheme
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
  };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
}

export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const columnsMax = 98;
/** Station and errors have no types of their own name: `Error` would hide the language's. */
const names: Readonly<Record<string, string>> = { Error: "ErrorBody" };

const lastOf = (reference: string): string => reference.slice(reference.lastIndexOf("/") + 1);
const typeNameOf = (reference: string): string => names[lastOf(reference)] ?? lastOf(reference);

/** A comment before a declaration or a field, wrapped. */
function comment(text: string, indent: string): string {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last === undefined || `${indent} * ${last} ${word}`.length > columnsMax) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  if (text === "") return "";
  if (lines.length === 1 && `${indent}/** ${lines[0]} */`.length <= columnsMax)
    return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join("")}${indent} */\n`;
}

const literals = (values: readonly (string | number)[]): string =>
  values.map((value) => JSON.stringify(value)).join(" | ");

const plainTypes: Readonly<Record<string, string>> = {
  string: "string",
  boolean: "boolean",
  integer: "number",
  number: "number",
};

/** The type of a schema as an expression. */
function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return typeNameOf(schema.$ref);
  const forms = schema.oneOf ?? schema.anyOf;
  if (forms !== undefined) return forms.map((form) => typeOf(form, indent)).join(" | ");
  if (schema.enum !== undefined) return literals(schema.enum);
  const plain = plainTypes[schema.type ?? ""];
  if (plain !== undefined) return plain;
  if (schema.type === "array" && schema.items !== undefined)
    return `readonly ${grouped(typeOf(schema.items, indent))}[]`;
  if (schema.properties !== undefined) return `{\n${fieldsOf(schema, `${indent}  `)}${indent}}`;
  if (typeof schema.additionalProperties === "object")
    return `Readonly<Record<string, ${typeOf(schema.additionalProperties, indent)}>>`;
  throw new TypeError(`no type for ${JSON.stringify(schema)}`);
}

const grouped = (type: string): string => (type.includes(" ") ? `(${type})` : type);

function fieldsOf({ properties = {}, required = [] }: Schema, indent: string): string {
  const fields = Object.entries(properties).map(([name, schema]) => {
    if (schema === false) return `${indent}readonly ${name}?: never;\n`;
    const field = `${indent}readonly ${name}${required.includes(name) ? "" : "?"}:`;
    const type = typeOf(schema, indent);
    const lines = (values: string, deeper: string): string =>
      `\n${indent}${deeper}| ${values.replaceAll(" | ", `\n${indent}${deeper}| `)}`;
    const isWide = field.length + type.length > columnsMax;
    const items = schema.items?.enum;
    const broken =
      isWide && schema.enum !== undefined
        ? lines(type, "  ")
        : isWide && items !== undefined
          ? ` readonly (${lines(literals(items), "  ")}\n${indent})[]`
          : ` ${type}`;
    return `${comment(schema.description ?? "", indent)}${field}${broken};\n`;
  });
  return fields.join("");
}

function declarationOf(name: string, schema: Schema): string {
  if (schema.oneOf !== undefined)
    return `${comment(schema.description ?? "", "")}export type ${name} = ${typeOf(schema, "")};\n`;
  return `${comment(schema.description ?? "", "")}export interface ${name} {\n${fieldsOf(schema, "  ")}}\n`;
}

/** The types of events whose body has this schema; none for a schema that is no event's. */
function eventsOf({ webhooks }: Description, name: string): readonly string[] {
  const found = Object.entries(webhooks).filter(([, { post }]) => {
    const [body] = Object.values(post.requestBody?.content ?? {});
    return lastOf(body?.schema.allOf?.[0]?.$ref ?? "") === name;
  });
  return found.map(([type]) => type);
}

/** All operations of the description that need a token. */
const operationsOf = ({ paths }: Description): readonly Operation[] =>
  Object.values(paths).flatMap((methods) => Object.values(methods));

function codesOf(description: Description): readonly string[] {
  const schemas = operationsOf(description).flatMap(({ responses }) =>
    Object.values(responses).flatMap(({ content = {} }) =>
      Object.values(content).map(({ schema }) => schema),
    ),
  );
  const codes = schemas.flatMap(({ allOf = [] }) =>
    allOf.flatMap(({ properties }) => (properties?.code || undefined)?.enum ?? []),
  );
  return [...new Set(codes.map(String))].sort();
}

/** The query of an operation that has optional parameters, named after it. */
function queriesOf(description: Description): string {
  const queries = operationsOf(description).map(({ operationId, summary, parameters = [] }) => {
    const query = parameters.filter((one) => one.in === "query");
    if (query.length === 0 || query.every(({ required }) => required === true)) return "";
    const properties = Object.fromEntries(
      query.map(({ name = "", schema = {} }) => [name, schema]),
    );
    const required = query.filter((one) => one.required === true).map(({ name = "" }) => name);
    const name = `${operationId.slice(0, 1).toUpperCase()}${operationId.slice(1)}Query`;
    return declarationOf(name, {
      type: "object",
      description: `Query of "${summary}".`,
      properties,
      required,
    });
  });
  return queries.filter((text) => text !== "").join("\n");
}

const unionOf = (values: readonly string[]): string =>
  values.map((value) => `\n  | ${JSON.stringify(value)}`).join("");

/** The declarations of schemas; an event's `type` is narrowed to the types that have its body. */
function declarationsOf(description: Description, isMeant: (name: string) => boolean): string {
  const { schemas } = description.components;
  const meant = Object.entries(schemas).filter(([name]) => isMeant(name));
  const texts = meant.map(([name, schema]) => {
    const events = eventsOf(description, name);
    const type: Schema = { ...schema.properties?.type, enum: events };
    const narrowed =
      events.length === 0 ? schema : { ...schema, properties: { ...schema.properties, type } };
    return declarationOf(names[name] ?? name, narrowed);
  });
  return texts.join("\n");
}

function headOf(subject: string): string {
  return `/**
 * ${subject}
 * \`npm run client -- --types\` makes this file from /openapi.json; change nothing here by hand.
 * The service may add fields at any time, so ignore an unknown field. Amounts are decimal strings;
 * times are ISO 8601 in UTC.
 */

`;
}

/** Answers about callback targets, in a file of their own. */
const isTarget = (name: string): boolean => /Targets?$|^TestSent$|^Redelivery$/.test(name);
const isOrder = (name: string): boolean => name.endsWith("Order");
const isEvent = (name: string): boolean => /Callback$|^UnattributedRecord$|^Events?$/.test(name);
/** Answers to the operator's own station, which no shop reads. */
const isStation = (name: string): boolean => name === "Readiness" || name === "Health";

/** The files of clients/typescript/ that are made, with their texts. */
export function clientTypes(description: Description): Readonly<Record<string, string>> {
  const answers = declarationsOf(
    description,
    (name) => ![isOrder, isTarget, isEvent, isStation].some((one) => one(name)),
  );
  const events = declarationsOf(description, isEvent);
  const used = Object.keys(description.components.schemas).filter(
    (name) => !isEvent(name) && new RegExp(`: ${name}[;\\[]`).test(events),
  );
  const codes =
    "/** Every code of an error, as docs/api.md lists them. The service may add codes. */\n";
  return {
    "orders.ts": `${headOf("Orders and queries of the service.")}${declarationsOf(description, isOrder)}\n${queriesOf(description)}`,
    "records.ts": `${headOf("Answers of the service.")}${answers}`,
    "targets.ts": `${headOf("Answers of the service about callback targets.")}${declarationsOf(description, isTarget)}`,
    "events.ts": `${headOf("Bodies of the service's callbacks.")}import type { ${[...used].sort().join(", ")} } from "./records.ts";\n\n${events}`,
    "codes.ts": `${headOf("Codes of the service's errors.")}${codes}export type AnswerCode =${unionOf(codesOf(description))};\n`,
  };
}

/** The description as every gateway serves it; `servers` differs and has no types. */
export function description(): Description {
  const document: unknown = createDocument({
    publicUrl: "https://pay.example.com",
    version: "0",
    operations,
  });
  return document as Description;
}

/** Writes the types into the tree at `root`; gives the folder's path. */
export function writeClientTypes(root: string): string {
  const folder = join(root, "clients", "typescript");
  for (const [name, text] of Object.entries(clientTypes(description())))
    writeFileSync(join(folder, name), text);
  return folder;
}
