/**
 * The service's operations for a shop's server: typed, bounded in time and size, errors as values.
 * Makes a new token for every attempt. Uses only the global fetch. Source: the interface;
 * docs/api.md.
 */

import type { Events } from "./events.ts";
import {
  type Failure,
  failureOf,
  type JsonAnswer,
  newFailure,
  newInvalidAnswerFailure,
  objectOf,
} from "./failures.ts";
import type {
  AcceptOrder,
  CancelRequestOrder,
  ChoiceOrder,
  CreateCallbackOrder,
  DepositOrder,
  EventsQuery,
  InvoiceOrder,
  InvoicesQuery,
  ManualOrder,
  TransactionsQuery,
  WithdrawalOrder,
} from "./orders.ts";
import type {
  AddressCheck,
  Balance,
  Balances,
  CancelRequestResult,
  CancelResult,
  Choice,
  Currency,
  DepositResult,
  Estimate,
  Invoice,
  Invoices,
  Report,
  Transaction,
  WithdrawalResult,
} from "./records.ts";
import { createTokenMaker, type TokenKey } from "./signature-token.ts";
import type {
  CallbackTarget,
  CallbackTargets,
  CreatedTarget,
  Redelivery,
  RemovedTarget,
  TestSent,
} from "./targets.ts";

export interface ClientOptions {
  readonly baseUrl: string; // {base_url} of the interface: the part before /api/v1
  readonly key: TokenKey;
  // default strict: binds every token to its request
  readonly profile?: "compatible" | "strict";
  readonly language?: "en" | "tr"; // of messages
  readonly timeoutMs?: number; // default 30 000; a withdrawal may wait 10 s for the agent
  readonly now?: () => number;
}

export type { Failure, RetryAdvice } from "./failures.ts";

export type Result<T> = { readonly ok: true; readonly value: T } | Failure;

export interface Page {
  readonly transactions: readonly Transaction[];
  readonly next: string | null; // give it to `nextPage`
}

/** One order of several with its own result. */
export interface OneResult {
  readonly orderId: string;
  readonly result: Result<WithdrawalResult>;
}

export interface Client {
  createTransactionRequest(order: DepositOrder): Promise<Result<DepositResult>>;
  /**
   * Takes an expired deposit as paid, late or with `short` incomplete. Needs a key with the scope
   * `deposit:accept`.
   */
  acceptDeposit(order: AcceptOrder): Promise<Result<Transaction>>;
  /** Asks for a sum of money that the payer pays in one of several currencies. */
  createInvoice(order: InvoiceOrder): Promise<Result<Invoice>>;
  /** Chooses a currency of an invoice for its payer; after a price's end, the price of now. */
  chooseCurrency(order: ChoiceOrder): Promise<Result<Choice>>;
  /** Ends an open invoice, or an open deposit, for which nothing was paid. */
  cancelRequest(order: CancelRequestOrder): Promise<Result<CancelRequestResult>>;
  invoice(invoice: string): Promise<Result<Invoice>>;
  /** A page of invoices; give its `next` as `cursor` to the next call, until it is empty. */
  invoices(query?: InvoicesQuery): Promise<Result<Invoices>>;
  autoWithdraw(order: WithdrawalOrder): Promise<Result<WithdrawalResult>>;
  /**
   * Sends 1 to 100 orders; the results have the same order. A Failure of the complete call says
   * nothing about any of them: send the same again.
   */
  autoWithdraws(orders: readonly WithdrawalOrder[]): Promise<Result<readonly OneResult[]>>;
  manualWithdraw(order: ManualOrder): Promise<Result<WithdrawalResult>>;
  /** Cancels a withdrawal that is not signed yet; with `cancelled` false it may still be paid. */
  cancelWithdraw(transactionId: string): Promise<Result<CancelResult>>;
  transaction(transactionId: string, transactionType: 1 | 2): Promise<Result<Transaction>>;
  transactions(filter?: TransactionsQuery): Promise<Result<Page>>;
  nextPage(next: string): Promise<Result<Page>>;
  supportedCurrency(): Promise<Result<readonly Currency[]>>;
  balance(currencyId: string): Promise<Result<Balance>>;
  balances(): Promise<Result<Balances>>;
  /** The merchant's month, such as 2026-11, for its bookkeeper: to the unit if it is `complete`. */
  report(month: string): Promise<Result<Report>>;
  /** The probable fee of a withdrawal in this currency. */
  estimate(currencyId: string): Promise<Result<Estimate>>;
  /** Whether a withdrawal of this currency to this address would be taken. */
  address(currencyId: string, address: string): Promise<Result<AddressCheck>>;
  /** The events after a cursor; keep `next` for the next call. The first call gives none. */
  events(query?: EventsQuery): Promise<Result<Events>>;
  /** The merchant's callback targets. These seven need a key with the scope `callbacks`. */
  callbacks(): Promise<Result<CallbackTargets>>;
  /** Adds a target. Keep `secret`: no other answer has it. */
  createCallback(target: CreateCallbackOrder): Promise<Result<CreatedTarget>>;
  pauseCallback(callbackId: string): Promise<Result<CallbackTarget>>;
  resumeCallback(callbackId: string): Promise<Result<CallbackTarget>>;
  removeCallback(callbackId: string): Promise<Result<RemovedTarget>>;
  testCallback(callbackId: string): Promise<Result<TestSent>>;
  /** Sends again what waits or was given up, of events since a time: ISO 8601 in UTC. */
  redeliverCallback(callbackId: string, since?: string): Promise<Result<Redelivery>>;
}

const answerBytesMax = 64 * 1024 * 1024;
const timeoutMsDefault = 30_000;

interface ClientRequest {
  readonly method: "GET" | "POST";
  readonly path: string; // from /api on
  readonly body?: object;
}

async function readBounded(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return "";
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    bytes += part.value.length;
    if (bytes > answerBytesMax) {
      await reader.cancel();
      throw new RangeError("the answer is too long");
    }
    parts.push(part.value);
  }
  return Buffer.concat(parts).toString("utf8");
}

const textOr = (value: unknown, otherwise: string): string =>
  typeof value === "string" ? value : otherwise;

function queryOf(filter: TransactionsQuery | EventsQuery): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(filter))
    if (value !== undefined) parameters.set(name, String(value));
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

/** The target of a Link header's next page, if it leads to the same list. */
function nextOf(headers: Headers): string | null {
  const [, target] = /<([^>]*)>\s*;\s*rel="?next"?/.exec(headers.get("link") ?? "") ?? [];
  const at = target?.indexOf("/api/v1/transactions") ?? -1;
  return target === undefined || at < 0 ? null : target.slice(at);
}

/** No answer: `begun` if its head had come. */
function describe(error: unknown, begun: boolean): Failure {
  const name = error instanceof Error ? error.name : "";
  if (name === "TimeoutError" || name === "AbortError")
    return newFailure(0, "timeout", "no answer in time", "same-order");
  if (error instanceof RangeError)
    return newFailure(0, "answer_invalid", error.message, "same-order");
  const cause =
    error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return newFailure(
    0,
    "network",
    `${begun ? "the answer broke off" : "the service was not reached"}${cause}`,
    "same-order",
  );
}

/**
 * Prepares a client. Every operation returns a value, never an exception, for any behaviour of the
 * network or the service. Only wrong options and orders that are no JSON throw (TypeError).
 * Operations with an orderId may be repeated without limit.
 */
export function createClient(options: ClientOptions): Client {
  const base = options.baseUrl.replace(/\/+$/, "");
  const origin = new URL(base);
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(origin.hostname);
  if (origin.protocol !== "https:" && !isLocal)
    throw new TypeError("baseUrl must be https off this machine");
  const makeToken = createTokenMaker(options.key, options.now ?? Date.now);
  const timeoutMs = options.timeoutMs ?? timeoutMsDefault;
  const strict = (options.profile ?? "strict") === "strict";

  function send(ask: ClientRequest, body: string): Promise<Response> {
    const token = makeToken(strict ? { bound: { method: ask.method, path: ask.path, body } } : {});
    return fetch(`${base}${ask.path}`, {
      method: ask.method,
      headers: {
        signatureToken: token,
        "Content-Type": "application/json",
        Accept: "application/json",
        ...(options.language === undefined ? {} : { "Accept-Language": options.language }),
      },
      ...(ask.method === "POST" ? { body } : {}),
      redirect: "manual", // a token must not go to another host
      signal: AbortSignal.timeout(timeoutMs),
    });
  }

  async function call<T>(
    ask: ClientRequest,
    shape: (answered: JsonAnswer) => T | null,
  ): Promise<Result<T>> {
    // Outside the try block, because a value without a JSON form is a mistake of the caller, not of
    // the network.
    const body = ask.body === undefined ? "" : JSON.stringify(ask.body);
    let response: Response | undefined;
    let answered: JsonAnswer;
    try {
      response = await send(ask, body);
      const text = await readBounded(response);
      answered = { status: response.status, headers: response.headers, text, body: parse(text) };
    } catch (error) {
      return describe(error, response !== undefined);
    }
    if (answered.status !== 200) return failureOf(answered);
    const value = shape(answered);
    return value === null ? newInvalidAnswerFailure() : { ok: true, value };
  }

  const post = <T>(path: string, body: object, fields: readonly string[]): Promise<Result<T>> =>
    call({ method: "POST", path, body }, ({ body: answer }) => objectWith<T>(answer, fields));
  const get = <T>(path: string, fields: readonly string[]): Promise<Result<T>> =>
    call({ method: "GET", path }, ({ body }) => objectWith<T>(body, fields));
  const withList = <T>(
    path: string,
    name: string,
    fields: readonly string[] = [],
  ): Promise<Result<T>> =>
    call({ method: "GET", path }, ({ body }) =>
      Array.isArray(objectOf(body)[name]) ? objectWith<T>(body, fields) : null,
    );
  const list = (path: string): Promise<Result<Page>> =>
    call({ method: "GET", path }, ({ body, headers }) =>
      Array.isArray(body)
        ? { transactions: body as readonly Transaction[], next: nextOf(headers) }
        : null,
    );

  return {
    createTransactionRequest: (order) =>
      post("/api/v1/createTransactionRequest", order, ["address", "transactionId"]),
    acceptDeposit: (order) => post("/api/v1/acceptDeposit", order, ["transactionId"]),
    createInvoice: (order) => post("/api/v1/createInvoice", order, ["invoice", "paymentUrl"]),
    chooseCurrency: (order) =>
      post("/api/v1/chooseCurrency", order, ["address", "amount", "transactionId"]),
    cancelRequest: async (order) => {
      const done = await post<CancelRequestResult>("/api/v1/cancelRequest", order, []);
      return !done.ok || done.value.cancelled === true ? done : newInvalidAnswerFailure();
    },
    invoice: (id) => get(`/api/v1/invoice/${encodeURIComponent(id)}`, ["invoice", "stage"]),
    invoices: (query = {}) => withList(`/api/v1/invoices${queryOf(query)}`, "invoices", ["next"]),
    autoWithdraw: (order) => post("/api/v1/autoWithdraw", order, ["message", "transactionId"]),
    autoWithdraws: (orders) =>
      call({ method: "POST", path: "/api/v1/autoWithdraws", body: { orders } }, ({ body }) =>
        resultsOf(body, orders.length),
      ),
    manualWithdraw: (order) => post("/api/v1/manualWithdraw", order, ["message", "transactionId"]),
    cancelWithdraw: async (transactionId) => {
      const done = await post<CancelResult>("/api/v1/cancelWithdraw", { transactionId }, [
        "message",
        "transactionId",
      ]);
      return !done.ok || typeof done.value.cancelled === "boolean"
        ? done
        : newInvalidAnswerFailure();
    },
    transaction: (id, type) =>
      get(`/api/v1/transaction/${encodeURIComponent(id)}?transactionType=${type}`, [
        "transactionId",
      ]),
    transactions: (filter = {}) => list(`/api/v1/transactions${queryOf(filter)}`),
    nextPage: (next) => list(next),
    supportedCurrency: () =>
      call({ method: "GET", path: "/api/v1/supportedCurrency" }, ({ body }) =>
        Array.isArray(body) ? (body as readonly Currency[]) : null,
      ),
    balance: async (currencyId) => {
      const read = await get<Balance>(`/api/v1/balance/${encodeURIComponent(currencyId)}`, []);
      if (!read.ok || typeof read.value.balance === "number") return read;
      return newInvalidAnswerFailure();
    },
    balances: () => withList("/api/v1/balances", "balances"),
    report: (month) => withList(`/api/v1/report?month=${encodeURIComponent(month)}`, "lines"),
    estimate: (currencyId) =>
      get(`/api/v1/estimate/${encodeURIComponent(currencyId)}`, ["feeUsual", "feeMost"]),
    address: async (currencyId, address) => {
      const path = `/api/v1/address/${encodeURIComponent(currencyId)}/${encodeURIComponent(address)}`;
      const read = await get<AddressCheck>(path, ["code"]);
      return !read.ok || typeof read.value.valid === "boolean" ? read : newInvalidAnswerFailure();
    },
    events: (query = {}) => withList(`/api/v1/events${queryOf(query)}`, "events", ["next"]),
    ...targetCalls(post, withList),
  };
}

type PostRequest = <T>(path: string, body: object, fields: readonly string[]) => Promise<Result<T>>;
type WithList = <T>(path: string, name: string) => Promise<Result<T>>;
type TargetCalls = Pick<
  Client,
  | "callbacks"
  | "createCallback"
  | "pauseCallback"
  | "resumeCallback"
  | "removeCallback"
  | "testCallback"
  | "redeliverCallback"
>;

/** The operations of the scope `callbacks`. */
function targetCalls(post: PostRequest, withList: WithList): TargetCalls {
  return {
    callbacks: () => withList("/api/v1/callbacks", "callbacks"),
    createCallback: (target) => post("/api/v1/createCallback", target, ["callbackId", "secret"]),
    pauseCallback: (callbackId) =>
      post("/api/v1/pauseCallback", { callbackId }, ["callbackId", "state"]),
    resumeCallback: (callbackId) =>
      post("/api/v1/resumeCallback", { callbackId }, ["callbackId", "state"]),
    removeCallback: (callbackId) => post("/api/v1/removeCallback", { callbackId }, ["callbackId"]),
    testCallback: (callbackId) =>
      post("/api/v1/testCallback", { callbackId }, ["callbackId", "messageId"]),
    redeliverCallback: (callbackId, since) =>
      post("/api/v1/redeliverCallback", { callbackId, ...(since === undefined ? {} : { since }) }, [
        "callbackId",
        "since",
      ]),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Each order's own result; null if the answer does not fit the interface. */
function resultsOf(body: unknown, count: number): readonly OneResult[] | null {
  const answers = objectOf(body).answers;
  if (!Array.isArray(answers) || answers.length !== count) return null;
  return answers.map((one: unknown) => {
    const { orderId, httpStatus, answer } = objectOf(one);
    return {
      orderId: textOr(orderId, ""),
      result: resultOf(typeof httpStatus === "number" ? httpStatus : 0, answer),
    };
  });
}

function resultOf(status: number, answer: unknown): Result<WithdrawalResult> {
  if (status !== 200 && typeof objectOf(answer).code === "string")
    return failureOf({ status, headers: new Headers(), text: "", body: answer });
  const value =
    status === 200 ? objectWith<WithdrawalResult>(answer, ["message", "transactionId"]) : null;
  return value === null ? newInvalidAnswerFailure(status) : { ok: true, value };
}

/** The answer as T if it is an object with these fields as strings. */
function objectWith<T>(body: unknown, fields: readonly string[]): T | null {
  const values = objectOf(body);
  return fields.every((field) => typeof values[field] === "string") ? (body as T) : null;
}
