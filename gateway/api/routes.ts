/**
 * The seven operations of the interface and the further ones of this service, each with its scope.
 * Every operation needs a Content-Type, as the interface says; a GET may leave it out.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { formatTimestampUtc, parseTimestampUtc } from "../../base/timestamp.ts";
import { type Answer, dataAnswer, isAnswer, jsonAnswer, problemAnswer } from "../answer/answer.ts";
import { ordersBytesMax, readObject } from "../answer/body.ts";
import { type InterfaceKind, narrowAnswer } from "../answer/interface-fields.ts";
import { languageOf } from "../answer/language.ts";
import { type Caller, createRequestGuard } from "../auth/authenticate.ts";
import type { Scope } from "../auth/keys.ts";
import type { TokenUse, TokenWriter } from "../auth/replay-guard.ts";
import { readBalance } from "../balance/balance.ts";
import { readBalances } from "../balance/balances.ts";
import { type EventType, eventTypes } from "../callbacks/events.ts";
import { hideNameFaultsFromMerchant } from "../callbacks/guard.ts";
import {
  type Actor,
  addTarget,
  deleteCallbackTarget,
  findOwnTarget,
  firstResendStep,
  keepTestEvent,
  pauseCallbacks,
  resendNextDeliveries,
  resumeCallbacks,
  type TargetRefusal,
} from "../callbacks/targets.ts";
import { requestDeposit } from "../deposits/deposits.ts";
import { answerCurrencyList } from "../prices/currencies.ts";
import type { Service } from "../service.ts";
import { listEventsAfter, newestEventNumber } from "../store/callback-outbox.ts";
import {
  type CallbackTargetRow,
  type TargetState,
  targetStates,
} from "../store/callback-targets.ts";
import { keepsEvents, startKeepingEvents } from "../store/merchants.ts";
import type { Database } from "../store/store.ts";
import { cancelWithdrawal } from "../withdrawals/cancel.ts";
import { checkDestination, estimateFee } from "../withdrawals/estimate.ts";
import { requestWithdrawal, requestWithdrawals } from "../withdrawals/withdrawals.ts";
import { answerOfError, sendAnswer } from "./server.ts";
import { listTransactions, readTransaction, refuseUnknownParameter } from "./transactions.ts";

/*
 * Spreads the work of requests over turns of the event loop: a few milliseconds in each, in the
 * order of arrival. Node accepts one new connection in each turn, so a turn that serves all waiting
 * requests would delay new connections for as long. A long list in parts lets other requests run
 * between its parts.
 */

interface TimeSlices {
  /** Runs `work` in its turn, up to its first await. Rejects with the error of `work`. */
  run<T>(work: () => T | Promise<T>): Promise<T>;
  /** The same parts, each made in its own turn. If the reader stops, the source ends as well. */
  parts(source: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string>;
}

/**
 * Milliseconds of a turn. Work that has begun is not interrupted, so a turn can be longer by one
 * piece of work.
 */
const turnMs = 4;

/**
 * @param monotonic milliseconds from any start
 */
export function createTimeSlices(monotonic: () => number): TimeSlices {
  let waiting: (() => void)[] = [];
  let isAsked = false;

  function ask(): void {
    if (isAsked || waiting.length === 0) return;
    isAsked = true;
    setImmediate(() => {
      isAsked = false;
      const endsAt = monotonic() + turnMs;
      let done = 0;
      do {
        waiting[done]?.();
        done += 1;
      } while (done < waiting.length && monotonic() < endsAt);
      waiting = waiting.slice(done);
      ask();
    });
  }

  const run = <T>(work: () => T | Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      waiting.push(() => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      });
      ask();
    });

  return {
    run,
    async *parts(source) {
      const iterator =
        Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
      try {
        for (;;) {
          const { done, value } = await run<IteratorResult<string>>(() => iterator.next());
          if (done === true) return;
          yield value;
        }
      } finally {
        await iterator.return?.();
      }
    },
  };
}

/*
 * GET /events: the events of a merchant's records for a shop that cannot take callbacks, or that
 * missed some: the same texts as callbacks have, in the order in which they were made. The first
 * call begins the keeping of events for a merchant without a callback target. Source: docs/api.md,
 * Events to ask for.
 */

const limitMax = 500;
const limitDefault = 100;
const cursorPattern = /^(?:0|[1-9]\d{0,15})$/;

/** The names of the parameters. */
const eventParameterNames = ["after", "limit"] as const;

type Query = Readonly<Record<string, unknown>>;

/**
 * The events after the cursor `after`, at most `limit`, and the cursor of the next call. Without
 * `after` the answer has no events: its cursor stands behind the newest one. Harmless to call
 * twice.
 */
function readEvents({ store }: Service, merchant: string, query: Query): Answer {
  const unknown = refuseUnknownParameter(query, eventParameterNames);
  if (unknown !== null) return unknown;
  const { after, limit = String(limitDefault) } = query;
  if (typeof limit !== "string" || !/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > limitMax)
    return problemAnswer("query_invalid", { field: "limit" });
  if (after !== undefined && (typeof after !== "string" || !cursorPattern.test(after)))
    return problemAnswer("query_invalid", { field: "after" });
  const { database } = store;
  if (!keepsEvents(database, merchant))
    store.write((writable) => startKeepingEvents(writable, merchant));
  if (after === undefined)
    return jsonAnswer(`{"events":[],"next":"${newestEventNumber(database, merchant)}"}`);
  const events = listEventsAfter(database, merchant, Number(after), Number(limit));
  const next = events.at(-1)?.number ?? after;
  // The text of an event stays as it was signed; its id, a header of callbacks, stands before it.
  const texts = events.map(({ id, body }) => `{"id":${JSON.stringify(id)},${body.slice(1)}`);
  return jsonAnswer(`{"events":[${texts.join(",")}],"next":"${next}"}`);
}

/*
 * Callback targets by a shop's key with the scope `callbacks`: the acts of the operator's commands,
 * for the key's own merchant alone. A target of another merchant is not found. An answer never has
 * the text of a receiver's answer, because a target must not be a way to read another server.
 * Source: docs/api.md, Targets by a key.
 */

/** A POST of a key with the scope. */
interface CallbackRequest {
  readonly caller: Caller;
  readonly body: Uint8Array;
  readonly write: TokenWriter;
  readonly owe: (more: number) => void;
}

function actorOf({ key: gatewayKey, random, clock }: Service, { key }: Caller): Actor {
  return { gatewayKey, random, nowMs: clock(), actor: key.id };
}

const textOf = (atMs: number | null): string => (atMs === null ? "" : formatTimestampUtc(atMs));

/** The fields of a target. Never its secret. */
function viewOf(target: TargetState): object {
  const { id, url, events, createdAt, offAt, pausedAt, waiting, givenUp } = target;
  const state = offAt !== null ? "off" : pausedAt !== null ? "paused" : "active";
  const { succeededAt, failedAt, failedStatus, failedReason } = target;
  return {
    callbackId: id,
    url,
    events: events === "" ? [] : events.split(","),
    state,
    createdAt: textOf(createdAt),

    waiting,
    givenUp,
    succeededAt: textOf(succeededAt),
    failedAt: textOf(failedAt),
    failedStatus,
    failedReason: hideNameFaultsFromMerchant(failedReason),
  };
}

/** The merchant's targets, oldest first. Harmless to call twice. */
function listCallbackTargets({ store }: Service, merchant: string): Answer {
  return dataAnswer({
    callbacks: targetStates(store.database, merchant).map((target) => viewOf(target)),
  });
}

function eventsOf(value: unknown): readonly EventType[] | null {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > eventTypes.length) return null;
  return value.every((type) => (eventTypes as readonly unknown[]).includes(type))
    ? (value as EventType[])
    : null;
}

function notAdded(refused: TargetRefusal): Answer {
  if (refused.why === "url")
    return problemAnswer("callback_url_invalid", { field: "url", reason: refused.problem });
  return refused.why === "known"
    ? problemAnswer("callback_exists", { callbackId: refused.callbackId })
    : problemAnswer("callbacks_full");
}

/**
 * Adds a target; the answer has the only copy of its secret. The same URL again is refused with the
 * id of its target, so that a repeated request makes no second one.
 */
async function createCallback(
  service: Service,
  { caller, body, write }: CallbackRequest,
): Promise<Answer> {
  const read = readObject(body, { required: ["url"], optional: ["events"] });
  if (isAnswer(read)) return read;
  const { url, events: wanted } = read;
  if (typeof url !== "string")
    return problemAnswer("callback_url_invalid", { field: "url", reason: "must be a text" });
  const events = eventsOf(wanted);
  if (events === null) return problemAnswer("callback_events_invalid", { field: "events" });
  const target = { merchant: caller.merchant.id, url, events };
  const added = await write((database) =>
    addTarget(database, actorOf(service, caller), target, service.config.callbacks),
  );
  if (!added.ok) return notAdded(added);
  const { callbackId, secret } = added;
  return dataAnswer({
    callbackId,
    secret,
    url: added.url,
    events: eventTypes.filter((type) => events.includes(type)),
  });
}

type TargetAct = (database: Database, by: Actor, target: CallbackTargetRow) => Answer;

/** Runs an act on a target of the caller's merchant. */
function actOn(
  service: Service,
  { caller, write }: CallbackRequest,
  callbackId: unknown,
  act: TargetAct,
): Promise<Answer> {
  return write((database) => {
    const id = typeof callbackId === "string" ? callbackId : "";
    const target = findOwnTarget(database, caller.merchant.id, id);
    return target === undefined
      ? problemAnswer("callback_not_found", { field: "callbackId" })
      : act(database, actorOf(service, caller), target);
  });
}

/** An operation whose body is `callbackId` alone. */
async function actByBody(
  service: Service,
  request: CallbackRequest,
  act: TargetAct,
): Promise<Answer> {
  const read = readObject(request.body, { required: ["callbackId"], optional: [] });
  return isAnswer(read) ? read : actOn(service, request, read.callbackId, act);
}

function stateAfter(database: Database, { id, merchant }: CallbackTargetRow): Answer {
  const target = targetStates(database, merchant).find((one) => one.id === id);
  return target === undefined
    ? problemAnswer("callback_not_found", { field: "callbackId" })
    : dataAnswer(viewOf(target));
}

/** Lets the events of a target wait. Harmless to call twice. */
function pauseCallback(service: Service, request: CallbackRequest): Promise<Answer> {
  return actByBody(service, request, (database, by, target) => {
    pauseCallbacks(database, by, target.id);
    return stateAfter(database, target);
  });
}

/** Ends a pause, and the state after a 410. Harmless to call twice. */
function resumeCallback(service: Service, request: CallbackRequest): Promise<Answer> {
  return actByBody(service, request, (database, by, target) => {
    resumeCallbacks(database, by, target.id);
    return stateAfter(database, target);
  });
}

/** Removes a target permanently. A second call does not find it. */
function removeCallback(service: Service, request: CallbackRequest): Promise<Answer> {
  return actByBody(service, request, (database, by, { id }) =>
    dataAnswer({ callbackId: id, recordsGivenUp: deleteCallbackTarget(database, by, id) }),
  );
}

/** Keeps a test event that is sent at once. Harmless to call twice: one test waits at a time. */
function testCallback(service: Service, request: CallbackRequest): Promise<Answer> {
  return actByBody(service, request, (database, by, target) => {
    if (target.offAt !== null || target.pausedAt !== null)
      return problemAnswer("callback_off", { field: "callbackId" });
    return dataAnswer({
      callbackId: target.id,
      messageId: keepTestEvent(database, by, target, service.config.callbacks),
    });
  });
}

/**
 * Sends again what waits or was given up, of events since `since`, in steps; each further step
 * counts as a request. A second call begins their schedules again.
 */
async function redeliverCallback(service: Service, request: CallbackRequest): Promise<Answer> {
  const read = readObject(request.body, { required: ["callbackId"], optional: ["since"] });
  if (isAnswer(read)) return read;
  const { since } = read;
  const sinceMs =
    since === undefined ? 0 : typeof since === "string" ? parseTimestampUtc(since) : null;
  if (sinceMs === null) return problemAnswer("since_invalid", { field: "since" });
  for (let step = firstResendStep, isFirst = true; ; isFirst = false) {
    let next: typeof step | null = null;
    const from = step;
    const answer = await actOn(service, request, read.callbackId, (database, by, { id, offAt }) => {
      if (offAt !== null) return problemAnswer("callback_off", { field: "callbackId" });
      const made = resendNextDeliveries(database, by, { target: id, sinceMs }, from);
      next = made.isDone ? null : made.step;
      const { again: deliveries, left } = made.step;
      return dataAnswer({
        callbackId: id,
        since: since === undefined ? "" : formatTimestampUtc(sinceMs),
        deliveries,
        left,
      });
    });
    if (!isFirst) request.owe(1);
    if (next === null) return answer;
    step = next;
  }
}

interface Call {
  readonly caller: Caller;
  readonly body: Uint8Array;
  readonly request: FastifyRequest;
  /** Counts the further writes of this request, after its first. */
  readonly owe: (more: number) => void;
  /** Writes in one transaction with the request's token. */
  readonly write: TokenWriter;
}

export interface ApiOperation {
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

function withdraw(mode: "auto" | "manual"): ApiOperation["answer"] {
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
export const operations: readonly ApiOperation[] = [
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
      refuseUnknownParameter(queryOf(request), []) ?? answerCurrencyList(config, prices),
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
      refuseUnknownParameter(queryOf(request), []) ?? readBalances(service, caller.merchant.id),
  },
  {
    method: "GET",
    path: "/estimate/:currencyId",
    scope: "read",
    kind: null,
    answer: (service, { caller, request }) =>
      refuseUnknownParameter(queryOf(request), []) ??
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
        refuseUnknownParameter(queryOf(request), []) ??
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
      refuseUnknownParameter(queryOf(request), []) ??
      readBalance(service, caller.merchant.id, parameter(request, "currencyId")),
  },
  {
    method: "GET",
    path: "/callbacks",
    scope: "callbacks",
    kind: null,
    answer: (service, { caller, request }) =>
      refuseUnknownParameter(queryOf(request), []) ??
      listCallbackTargets(service, caller.merchant.id),
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
    return problemAnswer("content_encoding", {}, { "Accept-Encoding": "identity" });
  const type = headers["content-type"];
  if (type === undefined && method !== "POST") return null;
  return jsonType.test(type ?? "") && !otherCharset.test(type ?? "")
    ? null
    : problemAnswer("content_type");
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
    operation: ApiOperation,
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
    const write: TokenWriter = use === null ? service.store.writeTogether : use.write;
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
