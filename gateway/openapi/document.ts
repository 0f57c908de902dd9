/**
 * The OpenAPI document, made from the routes' table of operations, the codes' statuses and texts,
 * and the descriptions of this module. An operation without a description, or a description without
 * an operation, is a bug that appears at start. Source: OpenAPI 3.1.0; docs/api.md.
 */
import { invariant } from "../../base/fault.ts";
import { currencyPattern, orderIdPattern, transactionIdPattern } from "../../protocol/fields.ts";
import { type AnswerCode, answerCodes } from "../answer/messages.ts";
import { listSchema, schemas } from "./records.ts";
import { type Json, schemaReference, textSchema } from "./schema.ts";
import { webhookParameters, webhookSchemas, webhooks } from "./webhooks.ts";

/*
 * The request, the answer and the codes of each operation, by the last word of its path. The
 * routes' table lists the operations with their scopes. A test calls every operation, provokes
 * every code that is listed here, and finds no other code. Sources: the interface; docs/api.md.
 */

interface OperationDescription {
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly Json[];
  readonly order?: { readonly schema: Json; readonly example: Json };
  readonly answer: Json;
  // Further forms of the 200, by media type, with a description.
  readonly others?: Readonly<Record<string, string>>;
  readonly headers?: readonly string[]; // headers of the 200, by their names in `headers`
  readonly codes: readonly AnswerCode[]; // in addition to the common codes
}

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

const orderCodes: readonly AnswerCode[] = [
  ...([
    "json_invalid",
    "field_missing",
    "field_unknown",
    "currency_unknown",
    "currency_disabled",
    "currency_not_payable",
  ] as const),
  ...([
    "amount_format",
    "amount_precision",
    "amount_below_minimum",
    "order_id_invalid",
    "order_id_reused",
    "renew_invalid",
    "not_renewable",
    "metadata_invalid",
  ] as const),
  "body_too_large",
];
const ordersCodes: readonly AnswerCode[] = [
  "json_invalid",
  "field_missing",
  "field_unknown",
  "orders_count",
  "body_too_large",
];
const withdrawalCodes: readonly AnswerCode[] = [
  ...orderCodes,
  ...([
    "address_invalid",
    "address_own",
    "address_contract",
    "tag_not_supported",
    "tag_invalid",
    "balance_insufficient",
  ] as const),
  ...([
    "refund_invalid",
    "refund_above_received",
    "agent_not_paired",
    "agent_clock_ahead",
    "withdrawal_failed",
  ] as const),
];

const bodyCodes = ["json_invalid", "field_missing", "field_unknown", "body_too_large"] as const;
const targetCodes: readonly AnswerCode[] = [...bodyCodes, "callback_not_found"];
const targetOrder = {
  schema: schemaReference("CallbackOrder"),
  example: { callbackId: "cb_6f0c1d0c4f0b4f1e" },
};

const query = (name: string, schema: Json, more: Json = {}): Json => ({
  name,
  in: "query",
  schema,
  ...more,
});
const inPath = (name: string, schema: Json): Json => ({ name, in: "path", required: true, schema });
const type: Json = { type: "integer", enum: [1, 2], description: "1 deposits, 2 withdrawals." };
const when = (description: string): Json =>
  textSchema(description, { examples: ["2026-01-02", "2026-01-02T03:04:05.678Z"] });

/** The parameters of the list, by the names in its own rules. */
const listParameters: readonly Json[] = [
  query("transactionType", type),
  query("status", { type: "integer", enum: [0, 1, 2] }),
  query(
    "currency",
    textSchema("A currency's id.", { pattern: currencyPattern.source, examples: ["eth"] }),
  ),
  query(
    "orderId",
    textSchema("The caller's own reference.", {
      pattern: orderIdPattern.source,
      examples: ["out-77"],
    }),
  ),
  query(
    "refundOf",
    textSchema("Withdrawals that pay this deposit back.", {
      pattern: transactionIdPattern.source,
      examples: ["4be38f3ee1a16e4cd1f1a3a8b4a0d9c2"],
    }),
  ),
  query("from", when("Created then or later: ISO 8601 in UTC.")),
  query("to", when("Created before: ISO 8601 in UTC.")),
  query(
    "changedFrom",
    when(
      "Changed then or later: ISO 8601 in UTC. The list is then in the order of changes, earliest first.",
    ),
  ),
  query(
    "cursor",
    textSchema("The beginning of a page, as the Link header of the page before says."),
  ),
  query("limit", {
    type: "integer",
    minimum: 1,
    maximum: 500,
    description: "Most records of a page; without it all come.",
  }),
];

const withdrawal = {
  currency: "eth",
  amount: "0.5",
  address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  orderId: "out-77",
};

const described: Readonly<Record<string, OperationDescription>> = {
  createTransactionRequest: {
    summary: "Deposit request",
    description:
      "Gives a fresh address to pay to. The same order sent again gives the same address, so repeating it after a time-out is safe. " +
      "A sum of money becomes an amount at the price of now, for the life of the request.",
    order: {
      schema: schemaReference("DepositOrder"),
      example: { currency: "eth", amount: "0.5", orderId: "in-1042" },
    },
    answer: schemaReference("DepositResult"),
    codes: [
      ...orderCodes,
      "return_url_invalid",
      "deposits_not_ready",
      "amount_twice",
      "fiat_currency_unknown",
      "currency_unpriced",
      "price_stale",
      "lifetime_invalid",
      "tolerance_invalid",
    ],
  },
  autoWithdraw: {
    summary: "Withdraw (automatic)",
    description:
      "Stores the withdrawal for good, reserves its funds and hands it to the merchant's agent; waits at most ten seconds for the " +
      "agent's decision. The same order sent again never pays twice.",
    order: { schema: schemaReference("WithdrawalOrder"), example: withdrawal },
    answer: schemaReference("WithdrawalResult"),
    codes: withdrawalCodes,
  },
  autoWithdraws: {
    summary: "Withdraw many (automatic)",
    description:
      "Up to a hundred orders in one call. Each has its own answer, as if it had been sent alone, and none holds up another. The same " +
      "call sent again never pays twice, whatever became of the first.",
    order: {
      schema: schemaReference("ManyOrder"),
      example: { orders: [{ ...withdrawal, orderId: "out-80" }] },
    },
    answer: schemaReference("ManyResult"),
    codes: ordersCodes,
  },
  manualWithdraw: {
    summary: "Withdraw (manual)",
    description:
      "As above, and held until an operator approves it on the agent's machine. The address may be left to that operator.",
    order: {
      schema: schemaReference("ManualOrder"),
      example: { currency: "eth", amount: "0.25", orderId: "out-78" },
    },
    answer: schemaReference("WithdrawalResult"),
    codes: withdrawalCodes,
  },
  cancelWithdraw: {
    summary: "Cancel a withdrawal",
    description:
      "Asks the merchant's agent to refuse an open withdrawal, and waits at most ten seconds for its answer. With `cancelled` true " +
      "nothing is paid. With false the agent has not answered, and it refuses the withdrawal as soon as it can, or has signed it already: " +
      "the record and its callback say how it ended.",
    order: {
      schema: schemaReference("CancelOrder"),
      example: { transactionId: "1c2d8f0b6e5a49d3a7b1c0d9e8f7a6b5" },
    },
    answer: schemaReference("CancelResult"),
    codes: [
      "json_invalid",
      "field_missing",
      "field_unknown",
      "transaction_not_found",
      "not_cancellable",
      "body_too_large",
    ],
  },
  transaction: {
    summary: "Transaction",
    description: "One deposit or withdrawal of the caller's merchant.",
    parameters: [
      inPath(
        "transactionId",
        textSchema("Identifier of the transaction.", {
          examples: ["a7b92b8b4b5f7ad3c3d0f6c9b1f0f2e1"],
        }),
      ),
      query("transactionType", type, { required: true }),
    ],
    answer: schemaReference("Transaction"),
    codes: ["query_invalid", "transaction_type_invalid", "transaction_not_found"],
  },
  transactions: {
    summary: "All transactions",
    description:
      "Newest first, then by id; with `changedFrom` the earliest change first. Without parameters every record there is, sent while it is " +
      "read.",
    parameters: listParameters,
    answer: listSchema("Transaction"),
    others: {
      "text/csv":
        "With `Accept: text/csv`: one record a line, the columns named in the first. `text/csv;for=people` is a table for spreadsheets: with " +
        "a byte order mark, `separator=semicolon`, `comma` or `tab`, and texts that stay texts.",
    },
    headers: ["Link"],
    codes: ["query_invalid"],
  },
  supportedCurrency: {
    summary: "Supported currencies",
    description: "The currencies that are switched on, with prices for display.",
    answer: listSchema("Currency"),
    codes: ["query_invalid"],
  },
  events: {
    summary: "Events to ask for",
    description:
      "The events of callbacks, for a shop that takes none or missed some, in the order in which they were made. The first call begins the " +
      "keeping of events; they are kept for 60 days.",
    parameters: [
      query(
        "after",
        textSchema(
          "The `next` of the call before; without it the answer has no events, and its `next` stands behind the newest.",
          {
            examples: ["0"],
          },
        ),
      ),
      query("limit", {
        type: "integer",
        minimum: 1,
        maximum: 500,
        description: "Most events of an answer; 100 without it.",
      }),
    ],
    answer: schemaReference("Events"),
    codes: ["query_invalid"],
  },
  balances: {
    summary: "All wallet balances",
    description: "The balance of each currency that is switched on.",
    answer: schemaReference("Balances"),
    codes: ["query_invalid"],
  },
  estimate: {
    summary: "Fee of a withdrawal",
    description:
      "What withdrawals of this currency cost lately, and the most that the merchant's agent pays for one. It promises nothing.",
    parameters: [inPath("currencyId", textSchema("A currency's id.", { examples: ["eth"] }))],
    answer: schemaReference("Estimate"),
    codes: ["query_invalid", "currency_not_found", "currency_not_payable", "agent_not_paired"],
  },
  address: {
    summary: "Check of an address",
    description:
      "Whether a withdrawal of this currency to this address would be taken, by the same checks.",
    parameters: [
      inPath("currencyId", textSchema("A currency's id.", { examples: ["eth"] })),
      inPath(
        "address",
        textSchema("The address.", { examples: ["0x70997970C51812dc3A010C7d01b50e0d17dc79C8"] }),
      ),
    ],
    answer: schemaReference("AddressCheck"),
    codes: ["query_invalid", "currency_not_found"],
  },
  balance: {
    summary: "Wallet balance",
    description: "What can be withdrawn now, and what else is there.",
    parameters: [inPath("currencyId", textSchema("A currency's id.", { examples: ["eth"] }))],
    answer: schemaReference("Balance"),
    codes: ["query_invalid", "currency_not_found"],
  },
  callbacks: {
    summary: "Callback targets",
    description:
      "The merchant's targets with their state, what waits, and their newest success and failure. Never a secret.",
    answer: schemaReference("CallbackTargets"),
    codes: ["query_invalid"],
  },
  createCallback: {
    summary: "Add a callback target",
    description:
      "Adds a target; the answer alone has its secret. The same URL sent again is refused with the `callbackId` of its target: after a " +
      "time-out, remove that target and add it again.",
    order: {
      schema: schemaReference("CreateCallbackOrder"),
      example: {
        url: "https://shop.example.com/hook",
        events: ["deposit.completed", "withdrawal.completed"],
      },
    },
    answer: schemaReference("CreatedTarget"),
    codes: [
      ...bodyCodes,
      "callback_url_invalid",
      "callback_events_invalid",
      "callback_exists",
      "callbacks_full",
    ],
  },
  pauseCallback: {
    summary: "Pause a callback target",
    description: "Its events wait until it is resumed. Repeating it changes nothing.",
    order: targetOrder,
    answer: schemaReference("CallbackTarget"),
    codes: targetCodes,
  },
  resumeCallback: {
    summary: "Resume a callback target",
    description:
      "Sends what waits, and switches on a target that answered 410. Repeating it changes nothing.",
    order: targetOrder,
    answer: schemaReference("CallbackTarget"),
    codes: targetCodes,
  },
  removeCallback: {
    summary: "Remove a callback target",
    description: "Permanently; what waits for it is given up.",
    order: targetOrder,
    answer: schemaReference("RemovedTarget"),
    codes: targetCodes,
  },
  testCallback: {
    summary: "Test a callback target",
    description:
      "Sends one `webhook.test`, once. The list of targets shows its outcome some seconds later.",
    order: targetOrder,
    answer: schemaReference("TestSent"),
    codes: [...targetCodes, "callback_off"],
  },
  redeliverCallback: {
    summary: "Send again what did not arrive",
    description:
      "All deliveries of a target that wait or were given up, of events since a time, each with the same bytes and id. Events that " +
      "arrived are not sent again.",
    order: {
      schema: schemaReference("RedeliverOrder"),
      example: { callbackId: "cb_6f0c1d0c4f0b4f1e", since: "2026-01-02" },
    },
    answer: schemaReference("Redelivery"),
    codes: [...targetCodes, "callback_off", "since_invalid"],
  },
};

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
