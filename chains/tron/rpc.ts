/**
 * The HTTP API of one Tron node, or of a provider that serves it: each question a POST of JSON over
 * kept connections, bounded in time and size, at a pace that the provider bears. A provider that
 * answers 429, or 403 with words of a limit, is left alone for as long as it says, and then asked
 * the same again; what waits too long is a fault. A write is sent at most once. May reach that
 * provider and nothing else. Source: the chain's documentation of its HTTP API; RFC 9110, section
 * 10.2.3 (Retry-After).
 */
import { AgentError } from "../../protocol/fault.ts";
import type { Refusal } from "../providers/node-pool.ts";
import { quietMsOf, readQuota } from "../providers/node-quota.ts";
import { statusWords, wordsInBody } from "../providers/node-words.ts";
import {
  closedText,
  type Exchange,
  type Failure,
  failure,
  isPassing,
  type Outcome,
  post,
  targetOf,
} from "../providers/rpc-post.ts";
import { parseJson } from "./rpc-json.ts";

export interface ApiOptions {
  /**
   * http or https; what stands before /wallet and /walletsolidity. A user without a password is the
   * provider's API key.
   */
  readonly url: string;
  readonly timeoutMs: number; // of one exchange, connecting included
  readonly patienceMs: number; // of one question, waits for a provider that is asked too much included
}

export interface AskOptions {
  readonly answerBytesMax: number;
  // never asked twice; a fault says effect unknown unless no byte can have left
  readonly isWrite?: boolean;
}

export interface Api {
  readonly origin: string; // scheme, host and port: all of the address that may be shown
  /**
   * The node's answer.
   * @throws NODE_UNREACHABLE, NODE_TIMEOUT, NODE_HTTP, NODE_QUOTA, NODE_ANSWER, NODE_ANSWER_SIZE,
   * NODE_CLOSED; effect is none for reads
   */
  ask(path: string, fields: Readonly<Record<string, unknown>>, options: AskOptions): Promise<unknown>;
  /** Null while the provider answers, or has refused for a moment only. */
  refusal(): Refusal | null;
  /** Fails what is under way (NODE_CLOSED) and every later question. Calling twice is harmless. */
  close(): void;
}

const keyHeader = "TRON-PRO-API-KEY";
const exchangesMax = 8;
/** Questions that wait for a provider; more would only be answered when nobody wants them. */
const queueMax = 256;
/** The pause for a provider that is asked too much and does not say how long it wants quiet. */
const quietMs = 1_000;
/** Between two questions to a provider that said 429 lately: doubled by each, slowly given back. */
const gapFirstMs = 20;
const gapMaxMs = 250;
const gapGivenBack = 0.95;
const gapNoneMs = 5;
/** An answer with words of a limit is no longer than this. */
const refusalMax = 1_024;
/** Refusals that last so long are told: a provider that counts by seconds answers again before. */
const refusedToldMs = 5_000;

interface Waiting extends AskOptions {
  readonly path: string;
  readonly body: string;
  readonly untilMs: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: AgentError) => void;
  isSecond: boolean; // sent again, since no answer came
  sentAt: number;
}

/** When the next question may go out, and since when all are refused. */
class Pace {
  readonly #clock: () => number;
  #gapMs = 0;
  #refused: { readonly sinceMs: number; readonly words: string } | null = null; // since the last answer
  #slowedAt = 0;
  nextAt = 0; // no question before this

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  asked(): void {
    this.nextAt = this.#clock() + this.#gapMs;
  }

  answered(): void {
    this.#refused = null;
    this.#gapMs = this.#gapMs < gapNoneMs ? 0 : this.#gapMs * gapGivenBack;
  }

  /** What was under way together is refused together, and slows down once. */
  slowDown(wantedMs: number, sentAt: number, words: string): void {
    this.#refused = { sinceMs: this.#refused?.sinceMs ?? this.#clock(), words };
    if (sentAt >= this.#slowedAt) this.#gapMs = Math.min(gapMaxMs, Math.max(gapFirstMs, this.#gapMs * 2));
    this.#slowedAt = this.#clock();
    const quiet = Math.max(this.#gapMs, wantedMs === 0 ? quietMs : wantedMs);
    this.nextAt = Math.max(this.nextAt, this.#clock() + quiet);
  }

  /** A question has little time left after refusals, so a time-out is no news of the provider. */
  failed(code: string): void {
    if (code !== "NODE_TIMEOUT") this.#refused = null;
  }

  refusal(): Refusal | null {
    if (this.#refused === null) return null;
    const forMs = this.#clock() - this.#refused.sinceMs;
    return forMs < refusedToldMs ? null : { detail: `NODE_QUOTA: ${this.#refused.words}`, forMs };
  }
}

/** @throws NODE_URL */
export function createApi({ url, timeoutMs, patienceMs }: ApiOptions): Api {
  const target = addressed(url);
  const clock = (): number => performance.now();
  const underWay = new Set<Exchange>();
  const queue: Waiting[] = [];
  let timer: NodeJS.Timeout | null = null;
  const pace = new Pace(clock);
  let isClosed = false;

  function pump(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    while (queue.length > 0 && underWay.size < exchangesMax) {
      const waitMs = pace.nextAt - clock();
      if (waitMs > 0) {
        timer = setTimeout(pump, waitMs);
        return;
      }
      pace.asked();
      send(queue.shift() as Waiting);
    }
  }

  function send(question: Waiting): void {
    const { path, body, answerBytesMax: bytesMax } = question;
    question.sentAt = clock();
    const timeLeft = Math.max(1, Math.min(timeoutMs, question.untilMs - clock()));
    const options = { target: target.whole, path: target.prefix + path, body, bytesMax };
    const login = target.headers === undefined ? {} : { headers: target.headers };
    const exchange = post({ ...options, ...login, timeoutMs: timeLeft }, (outcome) => {
      underWay.delete(exchange);
      settle(question, outcome);
      pump();
    });
    underWay.add(exchange);
  }

  function settle(question: Waiting, outcome: Outcome): void {
    if (!outcome.ok) {
      pace.failed(outcome.code);
      failOrAskAgain(question, outcome);
      return;
    }
    const quota = quotaOf(outcome);
    if (quota !== null) {
      pace.slowDown(quota.quietMs ?? 0, question.sentAt, quota.message);
      if (!question.isWrite && pace.nextAt < question.untilMs && !isClosed) queue.unshift(question);
      else fail(question, quota);
      return;
    }
    pace.answered();
    const read = readAnswer(outcome);
    if (read.ok) question.resolve(read.value);
    else failOrAskAgain(question, read);
  }

  /** Once more where no answer of the provider's came. */
  function failOrAskAgain(question: Waiting, failure: Failure): void {
    if (mayAskAgain(question, failure) && !isClosed) queue.unshift({ ...question, isSecond: true });
    else fail(question, failure);
  }

  function fail({ isWrite = false, reject }: Waiting, { code, message, isUnsent, quietMs: quiet }: Failure): void {
    const context = { node: target.origin, ...(quiet === undefined ? {} : { quietMs: quiet }) };
    reject(new AgentError(code, isWrite && !isUnsent ? "unknown" : "none", message, context));
  }

  return {
    origin: target.origin,
    ask: (path, fields, options) =>
      new Promise((resolve, reject) => {
        const question = { ...options, path, body: JSON.stringify(fields), untilMs: clock() + patienceMs };
        const waiting = { ...question, resolve, reject, isSecond: false, sentAt: 0 };
        if (isClosed) {
          fail(waiting, failure("NODE_CLOSED", closedText, { isUnsent: true }));
          return;
        }
        if (queue.length >= queueMax) {
          fail(waiting, failure("NODE_HTTP", `${queueMax} questions wait for the provider already`, { isUnsent: true }));
          return;
        }
        queue.push(waiting);
        pump();
      }),
    refusal: () => pace.refusal(),
    close: () => {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      for (const question of queue.splice(0)) fail(question, failure("NODE_CLOSED", closedText, { isUnsent: true }));
      for (const exchange of [...underWay]) exchange.abort();
      target.whole.close();
    },
  };
}

const mayAskAgain = ({ isWrite, isSecond }: Waiting, { isCut }: Failure): boolean => isCut && isWrite !== true && !isSecond;

/**
 * Null for an answer that is no refusal of a provider that is asked too much. TronGrid says 403 and
 * "exceeds the frequency limit(15), and the query server is suspended for 30s"; a 403 without such
 * words is about the key. Others say such words with HTTP 200, as the API's own error.
 */
function quotaOf(answer: Extract<Outcome, { ok: true }>): Failure | null {
  const refused = readQuota(answer);
  if (refused !== null || answer.body.length > refusalMax || !answer.body.includes('"Error"')) return refused;
  const words = wordsInBody(answer.body);
  const quiet = quietMsOf({ ...answer, words, rpcCode: 0 });
  return quiet === null ? null : failure("NODE_QUOTA", words, { quietMs: quiet });
}

function readAnswer({ status, body }: Extract<Outcome, { ok: true }>): { readonly ok: true; readonly value: unknown } | Failure {
  if (status === 401 || status === 403)
    return failure("NODE_HTTP", `HTTP status ${status}, no key or a wrong one: write it as https://KEY@host`);
  const isCut = isPassing(status);
  if (status < 200 || status >= 300) return failure("NODE_HTTP", statusWords(status, body), { isCut });
  try {
    return { ok: true, value: parseJson(body) };
  } catch {
    return failure("NODE_ANSWER", "the answer is not JSON", { isCut });
  }
}

function addressed(url: string) {
  const whole = targetOf(url);
  const isKey = whole.user !== "" && whole.password === "";
  return {
    origin: whole.origin,
    whole,
    headers: isKey ? { [keyHeader]: whole.user } : undefined,
    prefix: whole.path.replace(/\/+$/, ""),
  };
}
