/**
 * Serves the operations of the API: each request is admitted by its key's scope, answered in its
 * turn, and narrowed to the interface's fields for a key of that profile. Every operation needs a
 * Content-Type, as the interface says; a GET may leave it out.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Answer, isAnswer, problemAnswer } from "../answer/answer.ts";
import { narrowAnswer } from "../answer/interface-fields.ts";
import { languageOf } from "../answer/language.ts";
import { createRequestGuard } from "../auth/authenticate.ts";
import type { TokenUse, TokenWriter } from "../auth/replay-guard.ts";
import { apiPath, type Operation } from "../operations/operation.ts";
import { operations } from "../operations/operations.ts";
import type { Service } from "../service.ts";
import { answerOfError, sendAnswer } from "./server.ts";

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

const empty = new Uint8Array(0);
const jsonType = /^application\/json\s*(?:;|$)/i;
/** A named charset must be the charset of JSON (RFC 8259, section 8.1). */
const otherCharset = /;\s*charset\s*=\s*(?!"?utf-?8"?\s*(?:;|$))/i;

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
    operation: Operation,
    request: FastifyRequest,
    response: FastifyReply,
  ): Promise<FastifyReply> {
    const body = request.body instanceof Uint8Array ? request.body : empty;
    const writes = operation.method === "POST";
    const { caller, isInterface, limits, use } = await requestGuard.admit({
      requestId: request.id,
      client: request.client,
      token: tokenOf(request),
      request: { method: request.method, path: request.url, body },
      scope: operation.scope,
      writes,
    });
    void response.headers(limits);
    request.isInterface = isInterface;
    if (isAnswer(caller)) return sendAnswer(request, response, caller);
    request.language = languageOf(request.headers["accept-language"], caller.merchant.language);
    const owe = (more: number): void =>
      void response.headers(requestGuard.owe(caller.key.id, more));
    const write: TokenWriter = use === null ? service.store.writeTogether : use.write;
    const whole = await kept(use, () =>
      timeSlices.run(() =>
        operation.answer(service, {
          caller,
          language: request.language,
          requestId: request.id,
          headers: request.headers,
          isInterface,
          owe,
          write,
          fault: (error) => answerOfError(error, service, request.id),
          path: request.params as Record<string, string>,
          query: request.query as Record<string, unknown>,
          body,
        }),
      ),
    );
    const answer =
      isInterface && operation.kind !== undefined ? narrowAnswer(whole, operation.kind) : whole;
    return sendAnswer(
      request,
      response,
      answer.kind === "list" ? { ...answer, parts: timeSlices.parts(answer.parts) } : answer,
    );
  }

  for (const operation of operations) {
    server.route({
      method: operation.method,
      url: `${apiPath}${operation.path}`,
      ...(operation.order?.bytesMax === undefined ? {} : { bodyLimit: operation.order.bytesMax }),
      onRequest: early,
      handler: (request, response) => handle(operation, request, response),
    });
  }
}
