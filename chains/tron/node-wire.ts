/**
 * Questions to Tron nodes by the HTTP API. A node serves the right chain if the id of its genesis
 * block ends in the chain's id.
 */
import { AgentError } from "../../base/fault.ts";
import type { QuestionScalar } from "../providers/canonical-text.ts";
import type { PoolNode as Node } from "../providers/node-pool.ts";
import {
  createQuestionPool,
  type FamilyProtocol,
  type QuestionPool,
  type QuestionPoolOptions,
} from "../providers/question-pool.ts";
import { readHead } from "./answers.ts";
import { type Api, type AskOptions, createApi } from "./rpc.ts";

export interface PoolOptions extends QuestionPoolOptions {
  readonly chainId: string; // as readChainId spells it
  readonly timeoutMs: number;
  readonly patienceMs: number;
}

export type PoolNode = Node<Api>;

interface ApiQuestion extends AskOptions {
  readonly path: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** One question: a path, its fields, and the reader of its answer. */
export interface Question<T> {
  readonly path: string;
  readonly fields: Readonly<Record<string, QuestionScalar>>;
  readonly read: (value: unknown) => T;
  readonly answerBytesMax?: number;
  /** Holds transactions of others, of which an odd one is no node's failure alone. */
  readonly isOfOthers?: true;
}

type ApiQuestions = QuestionPool<Api, ApiQuestion, Question<unknown>, unknown>;

export interface NodePool extends Omit<ApiQuestions, "ask"> {
  /** Asks one node. @throws NODE_WRONG_CHAIN, NODE_ERROR, or a fault of the exchange */
  ask<T>(node: PoolNode, question: Question<T>): Promise<T>;
}

/** Heads, accounts, parameters: small ones. */
export const smallBytesMax = 256 * 1024;

export function createPool({ chainId, timeoutMs, patienceMs, ...options }: PoolOptions): NodePool {
  const wire: FamilyProtocol<Api, ApiQuestion, Question<unknown>, unknown> = {
    chain: chainId,
    chainQuestion: {
      path: "/wallet/getblock",
      fields: { id_or_num: "0", detail: false },
      answerBytesMax: smallBytesMax,
    },
    chainOf: (answer) => `0x${readHead(answer)?.hash.slice(-8) ?? ""}`,
    open: (url) => createApi({ url, timeoutMs, patienceMs }),
    askOf: ({ path, fields, answerBytesMax = smallBytesMax }) => ({ path, fields, answerBytesMax }),
    exchange: (api, { path, fields, ...how }) => api.ask(path, fields, how),
    read: (answer, { read }) => read(answered(answer)),
  };
  return createQuestionPool(wire, options);
}

/** The API answers a question that it could not execute with HTTP 200 and this field. */
function answered(value: unknown): unknown {
  const { Error: words } =
    typeof value === "object" && value !== null ? (value as { Error?: unknown }) : {};
  if (words === undefined) return value;
  throw new AgentError(
    "NODE_ERROR",
    "none",
    String(words)
      .slice(0, 300)
      .replace(/[^\x20-\x7e]+/g, " "),
  );
}
