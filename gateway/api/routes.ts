/**
 * The seven operations of the interface, each with the scope it asks for. Content-Type is demanded on every one, as the interface
 * says; a GET may be excused by configuration.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Caller, createDoor } from "../auth/door.ts";
import type { Scope } from "../auth/keys.ts";
import { readBalance } from "../balance/balance.ts";
import { requestDeposit } from "../deposits/deposits.ts";
import { listCurrencies } from "../prices/currencies.ts";
import type { Service } from "../service.ts";
import { requestWithdrawal } from "../withdrawals/withdrawals.ts";
import { type Answer, isAnswer, say } from "./answer.ts";
import { languageOf } from "./language.ts";
import { reply } from "./server.ts";
import { listTransactions, readTransaction } from "./transactions.ts";

interface Call {
  readonly caller: Caller;
  readonly body: Uint8Array;
  readonly request: FastifyRequest;
}

interface Operation {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly scope: Scope;
  readonly answer: (service: Service, call: Call) => Answer | Promise<Answer>;
}

const empty = new Uint8Array(0);
const base = "/api/v1";
const jsonType = /^application\/json\s*(?:;|$)/i;

const parameter = (request: FastifyRequest, name: string): string => (request.params as Record<string, string>)[name] ?? "";
const queryOf = (request: FastifyRequest): Record<string, unknown> => request.query as Record<string, unknown>;

function withdraw(mode: "auto" | "manual"): Operation["answer"] {
  return (service, { caller, body, request }) =>
    requestWithdrawal(service, { merchant: caller.merchant.id, mode, body, language: request.language });
}

const operations: readonly Operation[] = [
  {
    method: "POST",
    path: "/createTransactionRequest",
    scope: "deposit",
    answer: (service, { caller, body }) => requestDeposit(service, { merchant: caller.merchant.id, body }),
  },
  { method: "POST", path: "/autoWithdraw", scope: "withdraw:auto", answer: withdraw("auto") },
  { method: "POST", path: "/manualWithdraw", scope: "withdraw:manual", answer: withdraw("manual") },
  {
    method: "GET",
    path: "/transaction/:transactionId",
    scope: "read",
    answer: (service, { caller, request }) =>
      readTransaction(service, caller.merchant.id, parameter(request, "transactionId"), queryOf(request)),
  },
  {
    method: "GET",
    path: "/transactions",
    scope: "read",
    answer: (service, { caller, request }) => listTransactions(service, caller.merchant.id, queryOf(request)),
  },
  { method: "GET", path: "/supportedCurrency", scope: "read", answer: ({ config }) => listCurrencies(config) },
  {
    method: "GET",
    path: "/balance/:currencyId",
    scope: "read",
    answer: (service, { caller, request }) => readBalance(service, caller.merchant.id, parameter(request, "currencyId")),
  },
];

function tokenOf(request: FastifyRequest): string | undefined {
  const header = request.headers.signaturetoken;
  return typeof header === "string" ? header : undefined;
}

/**
 * Puts the operations on the server.
 * @public
 */
export function addOperations(server: FastifyInstance, service: Service): void {
  const door = createDoor(service);

  async function early(request: FastifyRequest, response: FastifyReply): Promise<FastifyReply | undefined> {
    const away = door.turnAway(request.ip, tokenOf(request));
    if (away !== null) return reply(request, response, away);
    const excused = request.method !== "POST" && !service.config.contentTypeOnGet;
    if (excused || jsonType.test(request.headers["content-type"] ?? "")) return undefined;
    return reply(request, response, say("content_type"));
  }

  async function handle(operation: Operation, request: FastifyRequest, response: FastifyReply): Promise<FastifyReply> {
    const body = request.body instanceof Uint8Array ? request.body : empty;
    const writes = operation.method === "POST";
    const { caller, limits } = await door.admit({
      ip: request.ip,
      token: tokenOf(request),
      request: { method: request.method, path: request.url, body },
      scope: operation.scope,
      writes,
    });
    void response.headers(limits);
    if (isAnswer(caller)) return reply(request, response, caller);
    request.language = languageOf(request.headers["accept-language"], caller.merchant.language);
    return reply(request, response, await operation.answer(service, { caller, body, request }));
  }

  for (const operation of operations) {
    server.route({
      method: operation.method,
      url: `${base}${operation.path}`,
      onRequest: early,
      handler: (request, response) => handle(operation, request, response),
    });
  }
}
