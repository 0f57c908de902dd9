/**
 * The OpenAPI document, made from the routes' table of operations, the codes' statuses and texts,
 * and the descriptions of this module. An operation without a description, or a description without
 * an operation, is a bug that appears at start. Source: OpenAPI 3.1.0; docs/api.md.
 */

import { invariant } from "../../base/fault.ts";
import { type AnswerCode, answerCodes } from "../answer/messages.ts";
import { commonCodes, described, type OperationDescription } from "./operations.ts";
import { schemas } from "./records.ts";
import { type Json, schemaReference, textSchema } from "./schema.ts";
import { webhookParameters, webhookSchemas, webhooks } from "./webhooks.ts";

/** An operation as the routes have it: `path` relative to /api/v1, parameters with a colon. */
export interface Operation {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly scope: string;
}

const base = "/api/v1";
const jsonType = "application/json";

const whole = (description: string): Json => ({
  description,
  schema: { type: "integer", minimum: 0 },
});
const word = (description: string): Json => ({ description, schema: { type: "string" } });

const headers: Readonly<Record<string, Json>> = {
  "X-Request-Id": word("Names this request in the gateway's log."),
  "Content-Language": {
    description: "The language of `message`.",
    schema: { type: "string", enum: ["en", "tr"] },
  },
  "RateLimit-Limit": whole("Requests that the key may send in one burst."),
  "RateLimit-Remaining": whole("How many of them are left."),
  "RateLimit-Reset": whole("Seconds until one more may be sent; 0 while some are left."),
  "Retry-After": whole("Seconds to wait before the same request is sent again."),
  Link: word('Leads to the next page, as `<…>; rel="next"`; absent on the last one.'),
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
    content: { [jsonType]: { schema: { allOf: [schemaReference("Error"), narrowed] } } },
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

function operationOf({ method, scope }: Operation, id: string, about: OperationDescription): Json {
  const {
    summary,
    description,
    parameters = [],
    order,
    answer,
    others = {},
    headers: own = [],
  } = about;
  const further = Object.entries(others).map(([type, words]) => [
    type,
    { schema: { type: "string", description: words } },
  ]);
  const body = order && {
    required: true,
    content: { [jsonType]: { schema: order.schema, example: order.example } },
  };
  return {
    operationId: id,
    summary,
    description,
    tags: [scope === "callbacks" ? "Callbacks" : method === "POST" ? "Orders" : "Reading"],
    security: [{ signatureToken: [scope] }],
    parameters: [...parameters, { $ref: "#/components/parameters/Accept-Language" }],
    ...(body === undefined ? {} : { requestBody: body }),
    responses: {
      200: {
        description: summary,
        headers: headersOf([...always, ...limited, ...own]),
        content: { [jsonType]: { schema: answer }, ...Object.fromEntries(further) },
      },
      ...refusals([...about.codes, ...commonCodes]),
    },
  };
}

/** The first part of a path, which is no parameter. */
const idOf = (path: string): string => /^\/([A-Za-z]+)/.exec(path)?.[1] ?? "";

function operationPaths(operations: readonly Operation[]): Json {
  const left = new Set(Object.keys(described));
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const id = idOf(operation.path);
    const about = described[id];
    invariant(about !== undefined && left.delete(id), "each operation has its own description");
    const path = `${base}${operation.path.replace(/:([A-Za-z]+)/g, "{$1}")}`;
    paths[path] = { [operation.method.toLowerCase()]: operationOf(operation, id, about) };
  }
  invariant(left.size === 0, "each description has its operation");
  return paths;
}

/** A path for the operator of the gateway; needs no token. */
function stationPath(id: string, summary: string, answers: Readonly<Record<number, string>>): Json {
  const responses = Object.entries(answers).map(([status, name]) => [
    status,
    {
      description: status === "200" ? summary : "Not all of it is there.",
      content: { [jsonType]: { schema: schemaReference(name) } },
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

export function createDocument(of: {
  readonly publicUrl: string;
  readonly version: string;
  readonly operations: readonly Operation[];
}): Json {
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
    paths: {
      ...operationPaths(of.operations),
      "/health": stationPath("health", "Alive", { 200: "Health" }),
      "/ready": stationPath("ready", "Ready", { 200: "Readiness", 503: "Readiness" }),
    },
    webhooks,
    components: {
      schemas: { ...schemas, ...webhookSchemas },
      headers,
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
