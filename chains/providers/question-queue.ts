/**
 * The questions to one provider, at a rate that it accepts: a queue with a bound, and a bound on
 * the exchanges at the same time. A provider at its quota gets no question for the time that it
 * names, and then the same question again. A question that waits too long is a fault. A write is
 * sent at most once. Reaches the network only through its caller.
 */
import { AgentError } from "../../base/fault.ts";
import type { ProviderRefusal } from "./pool-node.ts";
import {
  closedText,
  type Exchange,
  type Failure,
  failureFiguresOf,
  newFailure,
} from "./rpc-post.ts";

/*
 * The pace of the questions to one provider whose quota nobody knows. The provider gets no question
 * for the time that it names, and after a refusal the questions come slower for a while. Touches
 * nothing itself: the clock is passed in.
 */

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
/**
 * Refusals that last this long are reported. A provider that counts by seconds answers again before
 * that.
 */
const refusedToldMs = 5_000;

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
    if (sentAt >= this.#slowedAt)
      this.#gapMs = Math.min(gapMaxMs, Math.max(gapFirstMs, this.#gapMs * 2));
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

  refusal(): ProviderRefusal | null {
    if (this.#refused === null) return null;
    const forMs = this.#clock() - this.#refused.sinceMs;
    return forMs < refusedToldMs ? null : { detail: `NODE_QUOTA: ${this.#refused.words}`, forMs };
  }
}

export interface QueuedQuestion {
  // never repeated; a fault says effect unknown unless no byte can have left
  readonly isWrite?: boolean;
}

/** An answer as its protocol's reader returned it, or the reason why there is none. */
export type Answer<T> = { readonly ok: true; readonly value: T } | Failure;

export interface QueueOptions<Q extends QueuedQuestion, T> {
  readonly origin: string; // scheme, host and port of the provider
  readonly timeoutMs: number; // time limit of one exchange, with its connection
  readonly patienceMs: number; // time limit of one question, with the pauses for a provider at its quota
  /** One exchange. Calls `done` exactly once, never before it has returned. */
  readonly send: (question: Q, timeoutMs: number, done: (answer: Answer<T>) => void) => Exchange;
  readonly close: () => void;
}

export interface QuestionQueue<Q extends QueuedQuestion, T> {
  /**
   * The provider's answer.
   * @throws NODE_UNREACHABLE, NODE_TIMEOUT, NODE_HTTP, NODE_PATH, NODE_QUOTA, NODE_ANSWER,
   * NODE_ANSWER_SIZE, NODE_CLOSED; effect is none for reads
   */
  ask(question: Q): Promise<T>;
  /** Null while the provider answers, or if it has refused only for a moment. */
  refusal(): ProviderRefusal | null;
  /**
   * Fails the questions that are under way (NODE_CLOSED) and every later one. Calling twice is
   * harmless.
   */
  close(): void;
}

/** Failures of a provider that is there and answers. */
const answering: ReadonlySet<string> = new Set(["NODE_HTTP", "NODE_PATH", "NODE_ANSWER"]);
const exchangesMax = 8;
/** Most questions that wait for a provider; an answer to more would come too late. */
const queueMax = 256;

interface WaitingQuestion<Q, T> {
  readonly question: Q;
  readonly untilMs: number;
  readonly resolve: (value: T) => void;
  readonly reject: (error: AgentError) => void;
  readonly isSecond: boolean; // sent again, since no answer came
  sentAt: number;
}

export function createQuestionQueue<Q extends QueuedQuestion, T>(
  options: QueueOptions<Q, T>,
): QuestionQueue<Q, T> {
  const { origin, timeoutMs, patienceMs } = options;
  const clock = (): number => performance.now();
  const underWay = new Set<Exchange>();
  const queue: WaitingQuestion<Q, T>[] = [];
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
      send(queue.shift() as WaitingQuestion<Q, T>);
    }
  }

  function send(waiting: WaitingQuestion<Q, T>): void {
    waiting.sentAt = clock();
    const timeLeft = Math.max(1, Math.min(timeoutMs, waiting.untilMs - clock()));
    const exchange = options.send(waiting.question, timeLeft, (answer) => {
      underWay.delete(exchange);
      settle(waiting, answer);
      pump();
    });
    underWay.add(exchange);
  }

  function settle(waiting: WaitingQuestion<Q, T>, answer: Answer<T>): void {
    if (answer.ok) {
      pace.answered();
      waiting.resolve(answer.value);
      return;
    }
    if (answer.code === "NODE_QUOTA") {
      pace.slowDown(answer.quietMs ?? 0, waiting.sentAt, answer.message);
      if (waiting.question.isWrite !== true && pace.nextAt < waiting.untilMs && !isClosed)
        queue.unshift(waiting);
      else fail(waiting, answer);
      return;
    }
    if (answering.has(answer.code)) pace.answered();
    else pace.failed(answer.code);
    // A second time if no answer of the provider came.
    const mayAskAgain = answer.isCut && waiting.question.isWrite !== true && !waiting.isSecond;
    if (mayAskAgain && !isClosed) queue.unshift({ ...waiting, isSecond: true });
    else fail(waiting, answer);
  }

  function fail(
    { question, reject }: WaitingQuestion<Q, T>,
    { code, message, isUnsent, ...more }: Failure,
  ): void {
    const context = { node: origin, ...failureFiguresOf(more) };
    reject(
      new AgentError(
        code,
        question.isWrite === true && !isUnsent ? "unknown" : "none",
        message,
        context,
      ),
    );
  }

  return {
    ask: (question) =>
      new Promise((resolve, reject) => {
        const waiting = {
          question,
          untilMs: clock() + patienceMs,
          resolve,
          reject,
          isSecond: false,
          sentAt: 0,
        };
        if (isClosed) {
          fail(waiting, newFailure("NODE_CLOSED", closedText, { isUnsent: true }));
          return;
        }
        if (queue.length >= queueMax) {
          fail(
            waiting,
            newFailure("NODE_HTTP", `${queueMax} questions wait for the provider already`, {
              isUnsent: true,
            }),
          );
          return;
        }
        queue.push(waiting);
        pump();
      }),
    refusal: () => pace.refusal(),
    close: () => {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      for (const waiting of queue.splice(0))
        fail(waiting, newFailure("NODE_CLOSED", closedText, { isUnsent: true }));
      for (const exchange of [...underWay]) exchange.abort();
      options.close();
    },
  };
}
