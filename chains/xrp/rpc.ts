/**
 * The JSON-RPC API of one XRP Ledger node, or of a provider that serves it: POST of a method and
 * its parameters over kept connections, bounded in time and size, at a rate that the provider
 * accepts. A provider at its quota gets no question for a while, and then the same question again.
 * A write is sent at most once. A user and password in the address are sent as its login. Reaches
 * only that provider. Sources: the ledger's documentation of its HTTP API, version 1 (requests,
 * error formatting, rate limiting); RFC 9110, section 10.2.3 (Retry-After).
 */
import { AgentError } from "../../base/fault.ts";
import { parseForeign } from "../../base/foreign-json.ts";
import type { ProviderRefusal } from "../providers/node-pool.ts";
import { failureOfRefusingStatus } from "../providers/node-quota.ts";
import { cleanNodeText } from "../providers/node-words.ts";
import { type Answer, createQuestionQueue } from "../providers/question-queue.ts";
import {
  isPassingStatus,
  type NodeAddress,
  newFailure,
  type Outcome,
  postJson,
  targetOf,
} from "../providers/rpc-post.ts";
import { statusFailure } from "../providers/status-failure.ts";

export interface RpcOptions {
  readonly url: NodeAddress; // http or https
  readonly timeoutMs: number; // time limit of one exchange, with its connection
  readonly patienceMs: number; // time limit of one question, with the pauses for a provider at its quota
}

export interface RpcQuestion {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly answerBytesMax: number;
  // never repeated; a fault says effect unknown unless no byte can have left
  readonly isWrite?: boolean;
}

export type Fields = Readonly<Record<string, unknown>>;

/** The node's result; or the node's own error, its words, and the fields beside it. */
export type RpcReply =
  | { readonly ok: true; readonly result: Fields }
  | { readonly ok: false; readonly error: string; readonly words: string; readonly result: Fields };

export interface Rpc {
  readonly origin: string; // scheme, host and port: the only part of the address that may be shown
  /**
   * @throws NODE_UNREACHABLE, NODE_TIMEOUT, NODE_HTTP, NODE_PATH, NODE_QUOTA, NODE_ANSWER,
   * NODE_ANSWER_SIZE, NODE_CLOSED; effect is none for reads
   */
  ask(question: RpcQuestion): Promise<RpcReply>;
  /** Null while the provider answers, or if it has refused only for a moment. */
  refusal(): ProviderRefusal | null;
  /**
   * Fails the questions that are under way (NODE_CLOSED) and every later one. Calling twice is
   * harmless.
   */
  close(): void;
}

interface Question {
  readonly body: string;
  readonly answerBytesMax: number;
  readonly isWrite: boolean;
}

/** The version of the API whose answers are read. */
const apiVersion = 1;
/** Errors of a node that wants fewer questions. */
const quotaErrors: ReadonlySet<string> = new Set(["slowDown", "tooBusy"]);
const errorForm = /^[A-Za-z_]{1,60}$/;

/** @throws NODE_URL */
export function createRpc({ url, timeoutMs, patienceMs }: RpcOptions): Rpc {
  const target = targetOf(url);
  const { origin } = target;
  const queue = createQuestionQueue<Question, RpcReply>({
    origin,
    timeoutMs,
    patienceMs,
    send: ({ body, answerBytesMax: bytesMax }, timeLeft, done) =>
      postJson({ target, body, bytesMax, timeoutMs: timeLeft }, (outcome) =>
        done(outcome.ok ? readAnswer(outcome) : outcome),
      ),
    close: () => target.close(),
  });
  return {
    origin,
    ask: ({ method, params, answerBytesMax, isWrite = false }) => {
      const body = JSON.stringify({ method, params: [{ ...params, api_version: apiVersion }] });
      return queue.ask({ body, answerBytesMax, isWrite });
    },
    refusal: queue.refusal,
    close: queue.close,
  };
}

function readAnswer({
  status,
  retryAfter,
  body,
}: Extract<Outcome, { ok: true }>): Answer<RpcReply> {
  const quota = failureOfRefusingStatus({ status, retryAfter, body });
  if (quota !== null) return quota;
  const told = parseRpcReply(body);
  if (told !== null && !told.ok && quotaErrors.has(told.error))
    return newFailure("NODE_QUOTA", told.words, { quietMs: 0 });
  // Some servers give an error of their own with a status that is no success.
  const isOwn = (status >= 200 && status < 300) || (told !== null && !told.ok);
  if (!isOwn) return statusFailure(status, body, null);
  return told === null
    ? newFailure("NODE_ANSWER", "the answer is no result of the API", {
        isCut: isPassingStatus(status),
      })
    : { ok: true, value: told };
}

/** A body as the API's answer; null for any other text. */
export function parseRpcReply(body: string): RpcReply | null {
  return toldIn(parsedOf(body));
}

function parsedOf(body: string): unknown {
  try {
    return parseForeign(body, "long");
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof AgentError) return null;
    throw error;
  }
}

/** Null for a value that is neither a result nor an error of the API. */
function toldIn(value: unknown): RpcReply | null {
  const answer = fieldsIn(value);
  const result = fieldsIn(answer?.result) ?? (answer?.error === undefined ? null : answer);
  if (result === null || result === undefined) return null;
  const { error, error_message: message, error_exception: exception, status } = result;
  if (error === undefined && status !== "error") return { ok: true, result };
  if (typeof error !== "string" || !errorForm.test(error)) return null;
  const words = [message, exception].map(cleanNodeText).filter((text) => text !== "");
  return { ok: false, error, words: [error, ...words].join(": "), result };
}

function fieldsIn(value: unknown): Fields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : null;
}
