/**
 * The HTTP API of one Tron node, or of a provider that serves it. Each question is a POST of JSON
 * over kept connections, bounded in time and size, at a rate that the provider accepts. A provider
 * that answers 429, or 403 with text about a limit, gets no question for the time that it names,
 * and then the same question again. A question that waits too long is a fault. A write is sent at
 * most once. Reaches only that provider. Source: the chain's documentation of its HTTP API; RFC
 * 9110, section 10.2.3 (Retry-After).
 */
import { AgentError } from "../../base/fault.ts";
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
   * http or https; the part before /wallet and /walletsolidity. A user without a password is the
   * provider's API key.
   */
  readonly url: string;
  readonly timeoutMs: number; // time limit of one exchange, with its connection
  readonly patienceMs: number; // time limit of one question, with the pauses for a provider at its quota
}

export interface AskOptions {
  readonly answerBytesMax: number;
  // never repeated; a fault says effect unknown unless no byte can have left
  readonly isWrite?: boolean;
}

export interface Api {
  readonly origin: string; // scheme, host and port: the only part of the address that may be shown
  /**
   * The node's answer.
   * @throws NODE_UNREACHABLE, NODE_TIMEOUT, NODE_HTTP, NODE_QUOTA, NODE_ANSWER, NODE_ANSWER_SIZE,
   * NODE_CLOSED; effect is none for reads
   */
  ask(path: string, fields: Readonly<Record<string, unknown>>, options: AskOptions): Promise<unknown>;
  /** Null while the provider answers, or if it has refused only for a moment. */
  refusal(): Refusal | null;
  /**
   * Fails the questions that are under way (NODE_CLOSED) and every later one. Calling twice is
   * harmless.
   */
  close(): void;
}

const keyHeader = "TRON-PRO-API-KEY";
const exchangesMax = 8;
/** Most questions that wait for a provider; an answer to more would come too late. */
const queueMax = 256;
/** The pause for a provider at its quota that gives no time. */
const quietMs = 1_000;
/**
 * Gap between two questions to a provider that recently answered 429: doubled by each refusal,
 * slowly reduced again.
 */
const gapFirstMs = 20;
const gapMaxMs = 250;
const gapGivenBack = 0.95;
const gapNoneMs = 5;
/** An answer about a limit is not longer than this. */
const refusalMax = 1_024;
/**
 * Refusals that last this long are reported. A provider that counts by seconds answers again before
 * that.
 */
const refusedToldMs = 5_000;

interface ExpiryExclusion extends AskOptions {
  readonly path: string;
  readonly body: string;
  readonly untilMs: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: AgentError) => void;
  isSecond: boolean; // sent again, since no answer came
  sentAt: number;
}

/** The time at which the next question may go out, and since when all questions are refused. */
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

  /**
   * Questions that were under way at the same time are refused together, so only the first refusal
   * slows the rate down.
   */
  slowDown(wantedMs: number, sentAt: number, words: string): void {
    this.#refused = { sinceMs: this.#refused?.sinceMs ?? this.#clock(), words };
    if (sentAt >= this.#slowedAt) this.#gapMs = Math.min(gapMaxMs, Math.max(gapFirstMs, this.#gapMs * 2));
    this.#slowedAt = this.#clock();
    const quiet = Math.max(this.#gapMs, wantedMs === 0 ? quietMs : wantedMs);
    this.nextAt = Math.max(this.nextAt, this.#clock() + quiet);
  }

  /**
   * A question has little time left after refusals, so its time-out says nothing about the
   * provider.
   */
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
  const queue: ExpiryExclusion[] = [];
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
      send(queue.shift() as ExpiryExclusion);
    }
  }

  function send(question: ExpiryExclusion): void {
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

  function settle(question: ExpiryExclusion, outcome: Outcome): void {
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

  /** Asks a second time if no answer of the provider came. */
  function failOrAskAgain(question: ExpiryExclusion, failure: Failure): void {
    if (mayAskAgain(question, failure) && !isClosed) queue.unshift({ ...question, isSecond: true });
    else fail(question, failure);
  }

  function fail({ isWrite = false, reject }: ExpiryExclusion, { code, message, isUnsent, quietMs: quiet }: Failure): void {
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

const mayAskAgain = ({ isWrite, isSecond }: ExpiryExclusion, { isCut }: Failure): boolean =>
  isCut && isWrite !== true && !isSecond;

/**
 * Null for an answer that is no refusal because of too many questions. TronGrid answers 403 with
 * "exceeds the frequency limit(15), and the query server is suspended for 30s"; a 403 without such
 * text is about the key. Other providers give such text with HTTP 200, as the API's own error.
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
