/**
 * The request, the answer and the codes of each operation, by the last word of its path. The
 * routes' table lists the operations with their scopes. A test calls every operation, provokes
 * every code that is listed here, and finds no other code. Sources: the interface; docs/api.md.
 */

import { currencyPattern, orderIdPattern, transactionIdPattern } from "../../protocol/fields.ts";
import type { AnswerCode } from "../answer/messages.ts";
import { listOf } from "./records.ts";
import { type Json, schemaReference, textSchema } from "./schema.ts";

export interface OperationDescription {
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
export const commonCodes: readonly AnswerCode[] = [
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

export const described: Readonly<Record<string, OperationDescription>> = {
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
    answer: listOf("Transaction"),
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
    answer: listOf("Currency"),
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
