/**
 * Joins several Tron nodes of one chain: the pool that every family has, with questions of the HTTP
 * API. A node serves the right chain if the id of its genesis block ends in the chain's id.
 */
import { AgentError } from "../../base/fault.ts";
import type { NodeLog } from "../nodes.ts";
import type { QuestionValue } from "../providers/canonical-text.ts";
import { createNodePool, type PoolNode as Node, type NodePool as Pool } from "../providers/node-pool.ts";
import type { ServerAddress } from "../providers/server.ts";
import { readHead } from "./answers.ts";
import { type Api, type AskOptions, createApi } from "./rpc.ts";

export interface PoolOptions {
  readonly urls: readonly ServerAddress[];
  readonly chainId: string; // as readChainId spells it
  readonly timeoutMs: number;
  readonly patienceMs: number;
  readonly log: NodeLog;
  readonly clock: () => number;
}

export type PoolNode = Node<Api>;

/** One question: a path, its fields, and the reader of its answer. */
export interface Question<T> {
  readonly path: string;
  readonly fields: Readonly<Record<string, QuestionValue>>;
  readonly read: (value: unknown) => T;
  readonly answerBytesMax?: number;
  /** Holds transactions of others, of which an odd one is no node's failure alone. */
  readonly isOfOthers?: true;
}

export interface NodePool extends Omit<Pool<Api>, "exchange"> {
  /** Asks one node. @throws NODE_WRONG_CHAIN, NODE_ERROR, or a fault of the exchange */
  ask<T>(node: PoolNode, question: Question<T>): Promise<T>;
  /** Sends a write, at most once. */
  send(node: PoolNode, path: string, fields: Readonly<Record<string, unknown>>): Promise<unknown>;
}

/** Heads, accounts, parameters: small ones. */
const smallBytesMax = 256 * 1024;

export function createPool({ urls, chainId, timeoutMs, patienceMs, log, clock }: PoolOptions): NodePool {
  const pool = createNodePool({
    servers: urls,
    clients: urls.map((url) => createApi({ url, timeoutMs, patienceMs })),
    chain: chainId,
    askChain: (api) => api.ask("/wallet/getblock", { id_or_num: "0", detail: false }, { answerBytesMax: smallBytesMax }),
    chainOf: (answer) => `0x${readHead(answer)?.hash.slice(-8) ?? ""}`,
    log,
    clock,
  });
  const inOneGo = new Map<string, Promise<unknown>>();

  /**
   * The same question in the same tick is sent only once, because providers charge by the question.
   */
  function askOnce(node: PoolNode, { path, fields, answerBytesMax = smallBytesMax }: Question<unknown>): Promise<unknown> {
    const key = JSON.stringify([pool.nodes.indexOf(node), path, fields]);
    const asked = inOneGo.get(key);
    if (asked !== undefined) return asked;
    if (inOneGo.size === 0) queueMicrotask(() => inOneGo.clear());
    const answer = exchange(node, path, fields, { answerBytesMax });
    inOneGo.set(key, answer);
    return answer;
  }

  function exchange(node: PoolNode, path: string, fields: Readonly<Record<string, unknown>>, options: AskOptions) {
    return pool.exchange(node, (api) => api.ask(path, fields, options), options.isWrite === true ? "write" : "read");
  }

  return {
    ...pool,
    ask: async (node, question) => {
      const answer = await askOnce(node, question);
      try {
        return question.read(answered(answer));
      } catch (error) {
        throw error instanceof AgentError ? pool.unreadable(node, error, question.isOfOthers === true) : error;
      }
    },
    send: (node, path, fields) => exchange(node, path, fields, { answerBytesMax: smallBytesMax, isWrite: true }),
  };
}

/** The API answers a question that it could not execute with HTTP 200 and this field. */
function answered(value: unknown): unknown {
  const { Error: words } = typeof value === "object" && value !== null ? (value as { Error?: unknown }) : {};
  if (words === undefined) return value;
  throw new AgentError(
    "NODE_ERROR",
    "none",
    String(words)
      .slice(0, 300)
      .replace(/[^\x20-\x7e]+/g, " "),
  );
}
