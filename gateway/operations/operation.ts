/**
 * An operation of the API as one object with its names, its words, its schemas, its codes and the
 * function that answers. The server's routes, the check of scopes, the readers of bodies and
 * queries, the description at /openapi.json and the page at /docs take all of it from there.
 * Source: docs/api.md.
 */
import type { JsonObject } from "../../base/json.ts";
import { type Answer, isAnswer, problemAnswer } from "../answer/answer.ts";
import { readObject } from "../answer/body.ts";
import type { InterfaceKind } from "../answer/interface-fields.ts";
import type { Language } from "../answer/language.ts";
import type { AnswerCode } from "../answer/messages.ts";
import type { Json, NamedSchema, ObjectSchema } from "../answer/schema.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { Scope } from "../auth/keys.ts";
import type { TokenWriter } from "../auth/replay-guard.ts";
import type { Service } from "../service.ts";

/** The path before that of each operation. */
export const apiPath = "/api/v1";

/** A request whose key may use the operation, without its path, query and body. */
export interface Call {
  readonly caller: Caller;
  readonly language: Language;
  readonly requestId: string;
  readonly headers: { readonly accept?: string | undefined };
  readonly isInterface: boolean; // the interface's fields alone
  /** Counts the further writes of this request, after its first. */
  readonly owe: (more: number) => void;
  /** Writes in one transaction with the request's token. */
  readonly write: TokenWriter;
  /** The answer that an error would have, for an operation that answers in parts. */
  readonly fault: (error: unknown) => Answer;
}

export type Query = Readonly<Record<string, unknown>>;

/** The same request as the server has it. */
export interface SentCall extends Call {
  readonly path: Readonly<Record<string, string>>; // the parameters of the path
  readonly query: Query;
  readonly body: Uint8Array;
}

/** The 200 of an operation. */
interface Result {
  readonly schema: Json;
  readonly example: object; // shown at /docs
  /** Further forms, by media type, with a description. */
  readonly others?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, Json>>; // its own, as OpenAPI writes them
}

/** The body of a POST: the reader takes its fields from the schema. */
export interface OrderBody<T> {
  readonly schema: NamedSchema;
  readonly example: Json;
  readonly bytesMax?: number; // default: the configuration's
  readonly read: (body: Uint8Array) => T | Answer;
}

/** A body that is one object with the fields of the schema; its operation checks the values. */
export const objectBody = (
  named: NamedSchema<ObjectSchema>,
  example: Json,
): OrderBody<JsonObject> => ({
  schema: named,
  example,
  read: (body) => readObject(body, named.schema),
});

export interface QueryParameter {
  readonly schema: Json;
  readonly isRequired?: true;
}

/** Most records or events of one answer that has a limit. */
const limitMax = 500;

/** The parameter `limit`, which `isLimit` reads. */
export const limitParameter = (description: string): QueryParameter => ({
  schema: { type: "integer", minimum: 1, maximum: limitMax, description },
});

export const isLimit = (text: unknown): text is string =>
  typeof text === "string" && /^[1-9]\d{0,2}$/.test(text) && Number(text) <= limitMax;

/** The parts that each operation says of itself. */
interface OperationParts {
  readonly id: string; // the first part of its path below /api/v1
  readonly scope: Scope;
  readonly kind?: InterfaceKind; // absent: the interface does not have it
  readonly name: Readonly<Record<Language, string>>;
  readonly description: string;
  readonly result: Result;
  /** Further codes than those that its method brings and that any operation may answer. */
  readonly codes?: readonly AnswerCode[];
}

/** An operation as the server and the description take it. */
export interface Operation extends OperationParts {
  readonly method: "GET" | "POST";
  readonly path: string; // relative to /api/v1, parameters with a colon
  readonly parameters: readonly Json[]; // as OpenAPI writes them
  readonly order: OrderBody<unknown> | null;
  readonly codes: readonly AnswerCode[];
  readonly answer: (service: Service, call: SentCall) => Answer | Promise<Answer>;
}

/** The answer that names a parameter of the query. */
export const badQuery = (name: string): Answer =>
  problemAnswer("query_invalid", { field: name.slice(0, 64).replace(/[^\x21-\x7e]/g, "?") });

/**
 * An operation that reads. Parameters stand in the path in their order. A query with any other
 * parameter than those of `query` is refused before `answer` is asked.
 */
export function defineGet<P extends string = never>({
  path,
  query = {},
  answer,
  ...parts
}: OperationParts & {
  readonly path?: Readonly<Record<P, Json>>;
  readonly query?: Readonly<Record<string, QueryParameter>>;
  readonly answer: (
    service: Service,
    call: Call & { readonly path: Readonly<Record<P, string>>; readonly query: Query },
  ) => Answer | Promise<Answer>;
}): Operation {
  const inPath: Readonly<Record<string, Json>> = path ?? {};
  return {
    ...parts,
    method: "GET",
    path: ["", parts.id, ...Object.keys(inPath).map((name) => `:${name}`)].join("/"),
    parameters: [
      ...Object.entries(inPath).map(([name, schema]) => ({
        name,
        in: "path",
        required: true,
        schema,
      })),
      ...Object.entries(query).map(([name, { schema, isRequired }]) => ({
        name,
        in: "query",
        schema,
        ...(isRequired === true ? { required: true } : {}),
      })),
    ],
    order: null,
    codes: ["query_invalid", ...(parts.codes ?? [])],
    answer: (service, call) => {
      const unknown = Object.keys(call.query).find((name) => !Object.hasOwn(query, name));
      return unknown === undefined ? answer(service, call) : badQuery(unknown);
    },
  };
}

/**
 * An operation that takes a body, which is read before `answer` is asked. Parameters of its query
 * count for nothing.
 */
export function definePost<T>({
  order,
  answer,
  ...parts
}: OperationParts & {
  readonly order: OrderBody<T>;
  readonly answer: (
    service: Service,
    call: Call & { readonly order: T },
  ) => Answer | Promise<Answer>;
}): Operation {
  return {
    ...parts,
    method: "POST",
    path: `/${parts.id}`,
    parameters: [],
    order,
    codes: [
      ...(["json_invalid", "field_missing", "field_unknown"] as const),
      ...(parts.codes ?? []),
      "body_too_large",
    ],
    answer: (service, call) => {
      const read = order.read(call.body);
      return isAnswer(read) ? read : answer(service, { ...call, order: read });
    },
  };
}
