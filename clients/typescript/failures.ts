/**
 * Errors as values: the fields of an error and the right reaction to it. The service's codes come
 * from its description, and each has its advice here; the compiler refuses a code without one.
 */
import type { AnswerCode } from "./codes.ts";
import type { ErrorBody } from "./records.ts";

/**
 * The right reaction to a failure.
 * - `same-order`: the result is unknown, or the service asks for patience. Send the same order
 *   again with the same orderId, after `retryAfterMs` if it is there; it can never pay twice.
 * - `later`: this request created nothing. Its cause passes with time or by an act of a person, not
 *   by a change of the order: keep the order, and send it again when the cause is gone. A 401 or
 *   403 says nothing of an earlier try of the same order.
 * - `new-order`: the order failed permanently without a payment, and its cause passes by itself.
 *   Another order with another orderId is safe, and may succeed.
 * - `never`: the same request gets the same answer. The order, or the program, has to change.
 */
export type RetryAdvice = "never" | "later" | "same-order" | "new-order";

/**
 * Codes of this client.
 * - `network`: no connection, or it broke; `timeout`: no complete answer in time.
 * - `answer_invalid`: a 200 that is no answer of the interface.
 * - `answer_foreign`: another program's answer, such as a proxy's page; the service may have taken
 *   the request or not.
 * - `unknown`: an error of the service without a code.
 */
export type ClientCode = "network" | "timeout" | "answer_invalid" | "answer_foreign" | "unknown";

type ErrorFields = Omit<ErrorBody, "message" | "code">;

/**
 * An expected no, or no answer. `status` is 0 without an answer. The service may add codes, so
 * `code` may be another text. The other fields are those that the service gave with the code:
 * `reason` and `signed` of a withdrawal that failed, `field` of a malformed order, `needed` and
 * `available`, `minimum`, `renews` and `renewedBy`.
 */
export interface Failure extends Readonly<Partial<ErrorFields>> {
  readonly ok: false;
  readonly status: number;
  readonly code: AnswerCode | ClientCode | (string & {});
  readonly message: string;
  readonly retry: RetryAdvice;
  readonly retryAfterMs?: number;
}

/** The fields that pass from the answer to the failure, with their types. */
const passed: Readonly<Record<keyof ErrorFields, "string" | "boolean">> = {
  requestId: "string",
  transactionId: "string",
  invoice: "string",
  field: "string",
  reason: "string",
  signed: "boolean",
  retryable: "boolean",
  currency: "string",
  needed: "string",
  available: "string",
  minimum: "string",
  scope: "string",
  callbackId: "string",
  renews: "string",
  renewedBy: "string",
};

/** `by-answer`: 422 says by `retryable` whether another order is worth trying. */
const advice: Readonly<Record<AnswerCode, RetryAdvice | "by-answer">> = {
  address_contract: "never",
  address_invalid: "never",
  address_not_allowed: "later",
  address_own: "never",
  agent_clock_ahead: "later",
  agent_not_paired: "later",
  amount_below_minimum: "never",
  amount_format: "never",
  amount_precision: "never",
  amount_twice: "never",
  balance_insufficient: "later",
  body_too_large: "never",
  callback_events_invalid: "never",
  callback_exists: "never",
  callback_not_found: "never",
  callback_off: "later",
  callback_url_invalid: "never",
  callbacks_full: "later",
  clock_wrong: "same-order",
  content_encoding: "never",
  content_type: "never",
  currencies_invalid: "never",
  currency_disabled: "later",
  currency_not_found: "never",
  currency_not_payable: "later",
  currency_unknown: "never",
  currency_unpriced: "later",
  deposits_not_ready: "later",
  expectation_failed: "never",
  fiat_currency_unknown: "never",
  field_missing: "never",
  field_unknown: "never",
  headers_too_large: "never",
  internal: "same-order",
  invoice_ended: "never",
  invoice_not_found: "never",
  json_invalid: "never",
  key_expired: "later",
  key_revoked: "later",
  lifetime_invalid: "never",
  merchant_disabled: "later",
  metadata_invalid: "never",
  not_cancellable: "never",
  not_acceptable: "never",
  accept_invalid: "never",
  not_renewable: "never",
  order_id_invalid: "never",
  order_id_reused: "never",
  orders_count: "never",
  plaintext_refused: "later",
  price_stale: "later",
  query_invalid: "never",
  quote_minutes_invalid: "never",
  rate_limited: "same-order",
  refund_above_received: "never",
  refund_invalid: "never",
  renew_invalid: "never",
  request_invalid: "never",
  request_timeout: "same-order",
  return_url_invalid: "never",
  scope_missing: "later",
  since_invalid: "never",
  tag_not_supported: "never",
  tag_invalid: "never",
  token_invalid: "later",
  tolerance_invalid: "never",
  transaction_not_found: "never",
  transaction_type_invalid: "never",
  unavailable: "same-order",
  withdrawal_failed: "by-answer",
};

/** An answer with its body as JSON; `body` is null for a text that is no JSON. */
export interface JsonAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: unknown;
}

export const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

export const newFailure = (
  status: number,
  code: Failure["code"],
  message: string,
  retry: RetryAdvice,
): Failure => ({
  ok: false,
  status,
  code,
  message,
  retry,
});

/** A 200 that does not fit: the order may be stored all the same. */
export const newInvalidAnswerFailure = (status = 200): Failure =>
  newFailure(status, "answer_invalid", "the answer is not what the interface says", "same-order");

/** Advice without a known code. After 408, 429 and 5xx an order may or may not be stored. */
function retryOfStatus(status: number): RetryAdvice {
  if (status === 408 || status === 429 || status >= 500) return "same-order";
  return status === 401 || status === 403 ? "later" : "never";
}

function retryOf(status: number, code: unknown, isRetryable: boolean): RetryAdvice {
  const known =
    typeof code === "string" && Object.hasOwn(advice, code)
      ? advice[code as AnswerCode]
      : undefined;
  if (known === "by-answer" || status === 422) return isRetryable ? "new-order" : "never";
  return known ?? retryOfStatus(status);
}

/**
 * True for an error of the service: it has a code, or at least a message and the service's own
 * header field. A proxy's page has neither, in HTML or JSON.
 */
function isOfService(fields: Readonly<Record<string, unknown>>, headers: Headers): boolean {
  if (typeof fields.message !== "string") return false;
  return (
    typeof fields.code === "string" || /^[0-9a-f]{16}$/.test(headers.get("x-request-id") ?? "")
  );
}

/** So much of a foreign page is read for the message, and so much of its words is shown. */
const pageCharactersMax = 20_000;
const wordsMax = 120;

function foreign({ status, headers, text }: JsonAnswer): Failure {
  const type = (headers.get("content-type") ?? "no type").split(";")[0];
  const words = text
    .slice(0, pageCharactersMax)
    .replace(/<(style|script)\b[\s\S]*?<\/\1>|<[^>]*>/gi, " ")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, wordsMax);
  const message = `the answer with status ${status} (${type}) is not the service's: ${words === "" ? "it is empty" : words}`;
  return newFailure(status, "answer_foreign", message, "same-order");
}

/** The failure that an answer other than 200 stands for. */
export function failureOf(answered: JsonAnswer): Failure {
  const { status, headers, body } = answered;
  const fields = objectOf(body);
  if (!isOfService(fields, headers)) return foreign(answered);
  const { code, message, retryable } = fields;
  const given = Object.entries(passed).filter(([name, type]) => typeof fields[name] === type);
  const seconds = Number(headers.get("retry-after"));
  return {
    ...newFailure(
      status,
      typeof code === "string" ? code : "unknown",
      String(message),
      retryOf(status, code, retryable === true),
    ),
    ...(Number.isFinite(seconds) && seconds > 0 ? { retryAfterMs: seconds * 1000 } : {}),
    ...Object.fromEntries(given.map(([name]) => [name, fields[name]])),
  };
}
