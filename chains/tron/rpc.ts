/**
 * The HTTP API of one Tron node, or of a provider that serves it. Each question is a POST of JSON
 * over kept connections, bounded in time and size, at a rate that the provider accepts. A provider
 * that answers 429, or 403 with text about a limit, gets no question for the time that it names,
 * and then the same question again. A question that waits too long is a fault. A write is sent at
 * most once. Reaches only that provider. Source: the chain's documentation of its HTTP API; RFC
 * 9110, section 10.2.3 (Retry-After).
 */

import { parseForeign } from "../../base/foreign-json.ts";
import type { ProviderRefusal } from "../providers/node-pool.ts";
import { failureOfRefusingStatus, quotaPauseMsOf } from "../providers/node-quota.ts";
import { wordsInBody } from "../providers/node-words.ts";
import { type Answer, createQuestionQueue } from "../providers/question-queue.ts";
import {
  type Failure,
  isPassingStatus,
  type NodeAddress,
  newFailure,
  type Outcome,
  postJson,
  targetOf,
} from "../providers/rpc-post.ts";
import { statusFailure } from "../providers/status-failure.ts";

/*
 * JSON as Tron's nodes write it: 64-bit integers as bare digits, which JavaScript's own reader
 * rounds above 2^53. This reader keeps them as digits.
 */

/**
 * Integers of sixteen digits and more as text. @throws SyntaxError, or AgentError JSON_ITEMS for an
 * answer of more values than a full block has
 */
export function parseJson(text: string): unknown {
  return parseForeign(text, "long");
}

export interface ApiOptions {
  /**
   * http or https; the part before /wallet and /walletsolidity. A user without a password is the
   * provider's API key.
   */
  readonly url: NodeAddress;
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
   * @throws NODE_UNREACHABLE, NODE_TIMEOUT, NODE_HTTP, NODE_PATH, NODE_QUOTA, NODE_ANSWER,
   * NODE_ANSWER_SIZE, NODE_CLOSED; effect is none for reads
   */
  ask(
    path: string,
    fields: Readonly<Record<string, unknown>>,
    options: AskOptions,
  ): Promise<unknown>;
  /** Null while the provider answers, or if it has refused only for a moment. */
  refusal(): ProviderRefusal | null;
  /**
   * Fails the questions that are under way (NODE_CLOSED) and every later one. Calling twice is
   * harmless.
   */
  close(): void;
}

const keyHeader = "TRON-PRO-API-KEY";
/** An answer about a limit is not longer than this. */
const refusalMax = 1_024;

interface Question extends AskOptions {
  readonly path: string;
  readonly body: string;
}

/** @throws NODE_URL */
export function createApi({ url, timeoutMs, patienceMs }: ApiOptions): Api {
  const target = addressed(url);
  const login = target.headers === undefined ? {} : { headers: target.headers };
  const { origin } = target;
  const queue = createQuestionQueue<Question, unknown>({
    origin,
    timeoutMs,
    patienceMs,
    send: ({ path, body, answerBytesMax: bytesMax }, timeLeft, done) => {
      const options = {
        target: target.whole,
        path: target.prefix + path,
        body,
        bytesMax,
        timeoutMs: timeLeft,
      };
      return postJson({ ...options, ...login }, (outcome) =>
        done(outcome.ok ? (quotaOf(outcome) ?? readAnswer(outcome, path)) : outcome),
      );
    },
    close: () => target.whole.close(),
  });
  return {
    origin,
    ask: (path, fields, options) => queue.ask({ ...options, path, body: JSON.stringify(fields) }),
    refusal: queue.refusal,
    close: queue.close,
  };
}

/**
 * Null for an answer that is no refusal because of too many questions. TronGrid answers 403 with
 * "exceeds the frequency limit(15), and the query server is suspended for 30s"; a 403 without such
 * text is about the key. Other providers give such text with HTTP 200, as the API's own error.
 */
function quotaOf(answer: Extract<Outcome, { ok: true }>): Failure | null {
  const refused = failureOfRefusingStatus(answer);
  if (refused !== null || answer.body.length > refusalMax || !answer.body.includes('"Error"'))
    return refused;
  const words = wordsInBody(answer.body);
  const quiet = quotaPauseMsOf({ ...answer, words, rpcCode: 0 });
  return quiet === null ? null : newFailure("NODE_QUOTA", words, { quietMs: quiet });
}

function readAnswer(
  { status, body }: Extract<Outcome, { ok: true }>,
  path: string,
): Answer<unknown> {
  if (status === 401 || status === 403)
    return newFailure(
      "NODE_HTTP",
      `HTTP status ${status}, no key or a wrong one: write it as https://KEY@host`,
      { status },
    );
  if (status < 200 || status >= 300) return statusFailure(status, body, path);
  try {
    return { ok: true, value: parseJson(body) };
  } catch {
    return newFailure("NODE_ANSWER", "the answer is not JSON", { isCut: isPassingStatus(status) });
  }
}

function addressed(url: NodeAddress) {
  const whole = targetOf(url);
  const isKey = whole.user !== "" && whole.password === "";
  return {
    origin: whole.origin,
    whole,
    headers: isKey ? { [keyHeader]: whole.user } : undefined,
    prefix: whole.path.replace(/\/+$/, ""),
  };
}
