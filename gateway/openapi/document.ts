/**
 * The OpenAPI document, made from the operations, the codes' statuses and texts, and the messages
 * to shops. Sources: OpenAPI 3.1.0; docs/api.md.
 */
import { invariant } from "../../base/fault.ts";
import { type AnswerCode, answerCodes } from "../answer/messages.ts";
import {
  flagSchema,
  type Json,
  type JsonPart,
  type NamedSchema,
  objectSchema,
  schemaReference,
  textSchema,
} from "../answer/schema.ts";
import { apiPath, type Operation } from "../operations/operation.ts";
import { errorBody } from "../operations/records.ts";
import { webhookParameters, webhooks } from "./webhooks.ts";

/** Codes that any operation may answer. */
const commonCodes: readonly AnswerCode[] = [
  ...([
    "request_invalid",
    "token_invalid",
    "scope_missing",
    "key_revoked",
    "key_expired",
    "merchant_disabled",
    "address_not_allowed",
    "plaintext_refused",
    "request_timeout",
  ] as const),
  ...([
    "content_type",
    "content_encoding",
    "expectation_failed",
    "rate_limited",
    "headers_too_large",
    "internal",
    "unavailable",
    "clock_wrong",
  ] as const),
];

const jsonType = "application/json";

const whole = (description: string): Json => ({
  description,
  schema: { type: "integer", minimum: 0 },
});

/** The headers that answers of every operation may have. */
const commonHeaders: Readonly<Record<string, Json>> = {
  "X-Request-Id": {
    description: "Names this request in the gateway's log.",
    schema: { type: "string" },
  },
  "Content-Language": {
    description: "The language of `message`.",
    schema: { type: "string", enum: ["en", "tr"] },
  },
  "RateLimit-Limit": whole("Requests that the key may send in one burst."),
  "RateLimit-Remaining": whole("How many of them are left."),
  "RateLimit-Reset": whole("Seconds until one more may be sent; 0 while some are left."),
  "Retry-After": whole("Seconds to wait before the same request is sent again."),
};

const headersOf = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const always = ["X-Request-Id", "Content-Language"];
const limited = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"];
const waits: readonly number[] = [429, 503];

/** The answers with one status: its codes, each with its text. */
function refusal(status: number, codes: readonly AnswerCode[]): Json {
  const rows = codes.map((code) => `- \`${code}\`: ${answerCodes[code].en}`);
  const narrowed = { type: "object", properties: { code: { enum: codes } } };
  return {
    description: rows.join("\n"),
    headers: headersOf([...always, ...(waits.includes(status) ? ["Retry-After"] : [])]),
    content: { [jsonType]: { schema: { allOf: [schemaReference(errorBody), narrowed] } } },
  };
}

function refusals(codes: readonly AnswerCode[]): Json {
  const byStatus = new Map<number, AnswerCode[]>();
  for (const code of codes) {
    const { status } = answerCodes[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries([...byStatus].map(([status, some]) => [status, refusal(status, some)]));
}

function operationOf(operation: Operation): Json {
  const { id, method, scope, description, parameters, order, result } = operation;
  const { en: summary } = operation.name;
  const further = Object.entries(result.others ?? {}).map(([type, words]) => [
    type,
    { schema: { type: "string", description: words } },
  ]);
  const body = order && {
    required: true,
    content: { [jsonType]: { schema: schemaReference(order.schema), example: order.example } },
  };
  return {
    operationId: id,
    summary,
    description,
    tags: [scope === "callbacks" ? "Callbacks" : method === "POST" ? "Orders" : "Reading"],
    security: [{ signatureToken: [scope] }],
    parameters: [...parameters, { $ref: "#/components/parameters/Accept-Language" }],
    ...(body === null ? {} : { requestBody: body }),
    responses: {
      200: {
        description: summary,
        headers: headersOf([...always, ...limited, ...Object.keys(result.headers ?? {})]),
        content: { [jsonType]: { schema: result.schema }, ...Object.fromEntries(further) },
      },
      ...refusals([...operation.codes, ...commonCodes]),
    },
  };
}

const operationPaths = (operations: readonly Operation[]): Json =>
  Object.fromEntries(
    operations.map((operation) => [
      `${apiPath}${operation.path.replace(/:([A-Za-z]+)/g, "{$1}")}`,
      { [operation.method.toLowerCase()]: operationOf(operation) },
    ]),
  );

const readiness: NamedSchema = {
  name: "Readiness",
  schema: objectSchema("What the gateway needs, and whether it is there.", {
    status: textSchema("In one word.", { enum: ["ready", "not ready"] }),
    checks: {
      type: "array",
      items: objectSchema("One need.", {
        name: textSchema("What is needed.", { examples: ["chain ethereum"] }),
        ok: flagSchema("Whether it is there."),
        detail: textSchema("Why not, or what is missing of it; empty when it is all there."),
      }),
    },
  }),
};
const health: NamedSchema = {
  name: "Health",
  schema: objectSchema("The process answers.", {
    status: textSchema("Always the same.", { enum: ["ok"] }),
  }),
};

/** A path for the operator of the gateway; needs no token. */
function stationPath(
  id: string,
  summary: string,
  answers: Readonly<Record<number, NamedSchema>>,
): Json {
  const responses = Object.entries(answers).map(([status, body]) => [
    status,
    {
      description: status === "200" ? summary : "Not all of it is there.",
      content: { [jsonType]: { schema: schemaReference(body) } },
    },
  ]);
  return {
    get: {
      operationId: id,
      summary,
      tags: ["Station"],
      security: [],
      responses: Object.fromEntries(responses),
    },
  };
}

const tokenWords =
  "A JWT made from the shop's API key, fresh for each request: docs/api.md, section on the token. HS256 over the secret's text, or " +
  "EdDSA; `exp` at most 300 seconds after `iat`; one use on POST. The role is the scope that the key needs.";

/** The schemas by name that were used so far. */
type UsedSchemas = Map<string, Json>;

/** The pointer to a named schema, which is kept with those that it uses. */
function pointerTo({ name, schema }: NamedSchema, used: UsedSchemas): string {
  const known = used.get(name);
  invariant(known === undefined || known === schema, "each named schema has its own name");
  if (known === undefined) {
    used.set(name, schema);
    withPointers(schema, used);
  }
  return `#/components/schemas/${name}`;
}

/** The part with a pointer in the place of each use of a named schema. */
function withPointers(part: JsonPart, used: UsedSchemas): JsonPart {
  if (typeof part !== "object" || part === null) return part;
  if (Array.isArray(part)) return part.map((one: JsonPart) => withPointers(one, used));
  const entries = Object.entries(part as Json).map(([key, value]) => [
    key,
    key === "$ref" && typeof value === "object"
      ? pointerTo(value as NamedSchema, used)
      : withPointers(value, used),
  ]);
  return Object.fromEntries(entries);
}

/** The used schemas as the description has them, in the order of their first use. */
const componentsOf = (used: UsedSchemas): Json =>
  Object.fromEntries(
    [...used].map(([name, schema]) => [name, withPointers(schema, used)] as const),
  );

export function createDocument(of: {
  readonly publicUrl: string;
  readonly version: string;
  readonly operations: readonly Operation[];
}): Json {
  const paths = {
    ...operationPaths(of.operations),
    "/health": stationPath("health", "Alive", { 200: health }),
    "/ready": stationPath("ready", "Ready", { 200: readiness, 503: readiness }),
  };
  const used: UsedSchemas = new Map();
  const shown = withPointers({ paths, webhooks }, used) as Json;
  return {
    openapi: "3.1.0",
    info: {
      title: "Crypto wallet payment service",
      version: of.version,
      license: { name: "MIT", identifier: "MIT" },
      description:
        "Every request carries `signatureToken`, and a POST `Content-Type: application/json`. Amounts are decimal strings. Fields and " +
        "codes may be added at any time: ignore those you do not know.",
    },
    servers: [{ url: of.publicUrl }],
    tags: [
      {
        name: "Orders",
        description:
          "What moves money. Each order has an `orderId` and may be sent again permanently.",
      },
      { name: "Reading", description: "What is there. Nothing changes." },
      {
        name: "Callbacks",
        description:
          "What the service sends to a shop's server, at least once and in any order, and its targets.",
      },
      { name: "Station", description: "For anybody who runs the gateway; no token." },
    ],
    ...shown,
    components: {
      schemas: componentsOf(used),
      headers: Object.assign({}, commonHeaders, ...of.operations.map((one) => one.result.headers)),
      parameters: {
        "Accept-Language": {
          name: "Accept-Language",
          in: "header",
          description:
            "The language of messages: `en` or `tr`, with weights. The merchant's own without it.",
          schema: textSchema("Language ranges.", { examples: ["tr, en;q=0.5"] }),
        },
        ...webhookParameters,
      },
      securitySchemes: {
        signatureToken: {
          type: "apiKey",
          in: "header",
          name: "signatureToken",
          description: tokenWords,
        },
      },
    },
  };
}
