/**
 * The seven operations of the interface and the further ones of this service, each with its scope.
 * Every operation needs a Content-Type, as the interface says; a GET may leave it out.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Answer, isAnswer, problem } from "../answer/answer.ts";
import { ordersBytesMax } from "../answer/body.ts";
import { type InterfaceKind, narrowAnswer } from "../answer/interface-fields.ts";
import { languageOf } from "../answer/language.ts";
import { type Caller, createRequestGuard } from "../auth/authenticate.ts";
import type { Scope } from "../auth/keys.ts";
import type { TokenUse, WriteOnce } from "../auth/replay-guard.ts";
import { readBalance } from "../balance/balance.ts";
import { readBalances } from "../balance/balances.ts";
import { requestDeposit } from "../deposits/deposits.ts";
import { listCurrencies } from "../prices/currencies.ts";
import type { Service } from "../service.ts";
import { cancelWithdrawal } from "../withdrawals/cancel.ts";
import { checkDestination, estimateFee } from "../withdrawals/estimate.ts";
import { requestWithdrawal, requestWithdrawals } from "../withdrawals/withdrawals.ts";
import {
  createCallback,
  listCallbackTargets,
  pauseCallback,
  redeliverCallback,
  removeCallback,
  resumeCallback,
  testCallback,
} from "./callbacks.ts";
import { readEvents } from "./events.ts";
import { answerOfError, sendAnswer } from "./server.ts";
import { createTimeSlices } from "./time-slices.ts";
import { listTransactions, readTransaction, unknownParameter } from "./transactions.ts";

interface Call {
  readonly caller: Caller;
  readonly body: Uint8Array;
  readonly request: FastifyRequest;
  /** Counts the further writes of this request, after its first. */
  readonly owe: (more: number) => void;
  /** Writes in one transaction with the request's token. */
  readonly write: WriteOnce;
}

export interface Operation {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly scope: Scope;
  readonly kind: InterfaceKind | null; // null: the interface does not have it
  readonly bodyBytesMax?: number; // default: the configuration's
  readonly answer: (service: Service, call: Call) => Answer | Promise<Answer>;
}

const empty = new Uint8Array(0);
const base = "/api/v1";
const jsonType = /^application\/json\s*(?:;|$)/i;
/** A named charset must be the charset of JSON (RFC 8259, section 8.1). */
const otherCharset = /;\s*charset\s*=\s*(?!"?utf-?8"?\s*(?:;|$))/i;

const parameter = (request: FastifyRequest, name: string): string =>
  (request.params as Record<string, string>)[name] ?? "";
const queryOf = (request: FastifyRequest): Record<string, unknown> =>
  request.query as Record<string, unknown>;

function withdraw(mode: "auto" | "manual"): Operation["answer"] {
  return (service, { caller, body, request, write }) =>
    requestWithdrawal(service, {
      merchant: caller.merchant.id,
      mode,
      body,
      language: request.language,
      write,
    });
}

/**
 * All operations; `path` is relative to /api/v1. The description of the service is made from this
 * table.
 */
export const operations: readonly Operation[] = [
  {
    method: "POST",
    path: "/createTransactionRequest",
    scope: "deposit",
    kind: "deposit",
    answer: (service, { caller, body, write }) =>
      requestDeposit(service, { merchant: caller.merchant.id, body, write }),
  },
  {
    method: "POST",
    path: "/autoWithdraw",
    scope: "withdraw:auto",
    kind: "withdrawal",
    answer: withdraw("auto"),
  },
  {
    method: "POST",
    path: "/autoWithdraws",
    scope: "withdraw:auto",
    kind: null,
    bodyBytesMax: ordersBytesMax,
    answer: (service, { caller, body, request, owe, write }) =>
      requestWithdrawals(service, {
        merchant: caller.merchant.id,
        body,
        language: request.language,
        requestId: request.id,
        owe,
        write,
        fault: (error) => answerOfError(error, service, request.id),
      }),
  },
  {
    method: "POST",
    path: "/manualWithdraw",
    scope: "withdraw:manual",
    kind: "withdrawal",
    answer: withdraw("manual"),
  },
  {
    method: "POST",
    path: "/cancelWithdraw",
    scope: "withdraw:cancel",
    kind: null,
    answer: (service, { caller, body, request, write }) =>
      cancelWithdrawal(service, {
        merchant: caller.merchant.id,
        body,
        language: request.language,
        write,
      }),
  },
  {
    method: "GET",
    path: "/transaction/:transactionId",
    scope: "read",
    kind: "transaction",
    answer: (service, { caller, request }) =>
      readTransaction(
        service,
        caller.merchant.id,
        parameter(request, "transactionId"),
        queryOf(request),
      ),
  },
  {
    method: "GET",
    path: "/transactions",
    scope: "read",
    kind: "transaction",
    answer: (service, { caller, request }) =>
      listTransactions(service, caller.merchant.id, queryOf(request), request),
  },
  {
    method: "GET",
    path: "/supportedCurrency",
    scope: "read",
    kind: "currency",
    answer: ({ config, prices }, { request }) =>
      unknownParameter(queryOf(request), []) ?? listCurrencies(config, prices),
  },
  {
    method: "GET",
    path: "/events",
    scope: "read",
    kind: null,
    answer: (service, { caller, request }) =>
      readEvents(service, caller.merchant.id, queryOf(request)),
  },
  {
    method: "GET",
    path: "/balances",
    scope: "read",
    kind: null,
    answer: (service, { caller, request }) =>
      unknownParameter(queryOf(request), []) ?? readBalances(service, caller.merchant.id),
  },
  {
    method: "GET",
    path: "/estimate/:currencyId",
    scope: "read",
    kind: null,
    answer: (service, { caller, request }) =>
      unknownParameter(queryOf(request), []) ??
      estimateFee(service, caller.merchant.id, parameter(request, "currencyId")),
  },
  {
    method: "GET",
    path: "/address/:currencyId/:address",
    scope: "read",
    kind: null,
    answer: (service, { caller, request }) => {
      const asked = {
        currencyId: parameter(request, "currencyId"),
        address: parameter(request, "address"),
      };
      return (
        unknownParameter(queryOf(request), []) ??
        checkDestination(service, caller.merchant.id, asked)
      );
    },
  },
  {
    method: "GET",
    path: "/balance/:currencyId",
    scope: "read",
    kind: "balance",
    answer: (service, { caller, request }) =>
      unknownParameter(queryOf(request), []) ??
      readBalance(service, caller.merchant.id, parameter(request, "currencyId")),
  },
  {
    method: "GET",
    path: "/callbacks",
    scope: "callbacks",
    kind: null,
    answer: (service, { caller, request }) =>
      unknownParameter(queryOf(request), []) ?? listCallbackTargets(service, caller.merchant.id),
  },
  {
    method: "POST",
    path: "/createCallback",
    scope: "callbacks",
    kind: null,
    answer: createCallback,
  },
  {
    method: "POST",
    path: "/pauseCallback",
    scope: "callbacks",
    kind: null,
    answer: pauseCallback,
  },
  {
    method: "POST",
    path: "/resumeCallback",
    scope: "callbacks",
    kind: null,
    answer: resumeCallback,
  },
  {
    method: "POST",
    path: "/removeCallback",
    scope: "callbacks",
    kind: null,
    answer: removeCallback,
  },
  {
    method: "POST",
    path: "/testCallback",
    scope: "callbacks",
    kind: null,
    answer: testCallback,
  },
  {
    method: "POST",
    path: "/redeliverCallback",
    scope: "callbacks",
    kind: null,
    answer: redeliverCallback,
  },
];

function tokenOf(request: FastifyRequest): string | undefined {
  const header = request.headers.signaturetoken;
  return typeof header === "string" ? header : undefined;
}

/**
 * The answer to a media type or a content coding that no operation reads; null without one. A
 * request without a body needs no Content-Type, because generated clients send none; a wrong one is
 * refused. A coding is refused even where the bytes happen to be plain, so that a proxy that
 * decodes and this server never read two bodies. Source: RFC 9110 sections 8.3, 8.4 and 15.5.16.
 */
function mediaProblem({ method, headers }: FastifyRequest): Answer | null {
  const coding = headers["content-encoding"];
  if (coding !== undefined && coding.trim().toLowerCase() !== "identity")
    return problem("content_encoding", {}, { "Accept-Encoding": "identity" });
  const type = headers["content-type"];
  if (type === undefined && method !== "POST") return null;
  return jsonType.test(type ?? "") && !otherCharset.test(type ?? "")
    ? null
    : problem("content_type");
}

/**
 * Runs the work that the token was used for. No answer leaves before the token is kept, even if the
 * work fails.
 */
async function kept<T>(use: TokenUse | null, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } finally {
    await use?.end();
  }
}

/** Adds the operations to the server. */
export function addOperations(server: FastifyInstance, service: Service): void {
  const requestGuard = createRequestGuard(service);
  const timeSlices = createTimeSlices(() => performance.now());

  async function early(
    request: FastifyRequest,
    response: FastifyReply,
  ): Promise<FastifyReply | undefined> {
    const away = requestGuard.turnAway({
      requestId: request.id,
      client: request.client,
      token: tokenOf(request),
    });
    if (away !== null) return sendAnswer(request, response, away);
    const problem = mediaProblem(request);
    if (problem === null) return undefined;
    await requestGuard.keep(tokenOf(request));
    return sendAnswer(request, response, problem);
  }

  async function handle(
    operation: Operation,
    request: FastifyRequest,
    response: FastifyReply,
  ): Promise<FastifyReply> {
    const body = request.body instanceof Uint8Array ? request.body : empty;
    const writes = operation.method === "POST";
    const { caller, limits, use } = await requestGuard.admit({
      requestId: request.id,
      client: request.client,
      token: tokenOf(request),
      request: { method: request.method, path: request.url, body },
      scope: operation.scope,
      writes,
    });
    void response.headers(limits);
    if (isAnswer(caller)) return sendAnswer(request, response, caller);
    request.language = languageOf(request.headers["accept-language"], caller.merchant.language);
    request.isInterface = caller.key.profile === "interface";
    const owe = (more: number): void =>
      void response.headers(requestGuard.owe(caller.key.id, more));
    const write: WriteOnce = use === null ? service.store.writeTogether : use.write;
    const whole = await kept(use, () =>
      timeSlices.run(() => operation.answer(service, { caller, body, request, owe, write })),
    );
    const answer =
      request.isInterface && operation.kind !== null ? narrowAnswer(whole, operation.kind) : whole;
    return sendAnswer(
      request,
      response,
      answer.kind === "list" ? { ...answer, parts: timeSlices.parts(answer.parts) } : answer,
    );
  }

  for (const operation of operations) {
    server.route({
      method: operation.method,
      url: `${base}${operation.path}`,
      ...(operation.bodyBytesMax === undefined ? {} : { bodyLimit: operation.bodyBytesMax }),
      onRequest: early,
      handler: (request, response) => handle(operation, request, response),
    });
  }
}
