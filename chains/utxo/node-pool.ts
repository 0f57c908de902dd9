/**
 * Joins several nodes of one chain: the pool that every family has, with questions of the Esplora
 * API. A node serves the right chain if its first block has the network's hash.
 */
import { AgentError } from "../../base/fault.ts";
import type { NodeLog } from "../nodes.ts";
import { type CanonicalText, pathOf } from "../providers/canonical-text.ts";
import { isLacking } from "../providers/market.ts";
import { createNodePool, type PoolNode as Node, type NodePool as Pool } from "../providers/node-pool.ts";
import { pathWords, shownPath } from "../providers/node-words.ts";
import type { ServerAddress } from "../providers/server.ts";
import { pathCode } from "../providers/status-failure.ts";
import { readHash } from "./answers.ts";
import { createEsplora, type Esplora, type Told } from "./esplora.ts";
import type { UtxoNetwork } from "./network.ts";

export interface PoolOptions {
  readonly urls: readonly ServerAddress[];
  readonly network: UtxoNetwork;
  readonly timeoutMs: number;
  readonly patienceMs: number;
  readonly log: NodeLog;
  readonly clock: () => number;
}

export type PoolNode = Node<Esplora>;

/** One question: a path, and the reader of its answer. */
export interface Question<T> {
  readonly path: CanonicalText;
  readonly read: (bytes: Buffer) => T;
  /** The answer of a node that does not have what is asked for; without it that is a fault. */
  readonly absent?: T;
  readonly answerBytesMax?: number;
  /** Holds transactions of others, of which an odd one is no node's failure alone. */
  readonly isOfOthers?: true;
}

/** Two questions for one answer, made of one id. */
export interface Either<T> {
  readonly usual: (id: string) => Question<T>;
  readonly other: (id: string) => Question<T>;
}

export interface NodePool extends Omit<Pool<Esplora>, "exchange"> {
  /**
   * Asks one node. @throws NODE_WRONG_CHAIN, NODE_ERROR, NODE_NO_BLOCK, or a fault of the exchange
   */
  ask<T>(node: PoolNode, question: Question<T>): Promise<T>;
  /** As `ask`, by the usual question, or by the other one if the node lacks that. */
  askEither<T>(node: PoolNode, questions: Either<T>, id: string): Promise<T>;
  /** Sends signed bytes, at most once. */
  send(node: PoolNode, raw: string): Promise<Told>;
}

const smallBytesMax = 64 * 1024;

export function createPool({ urls, network, timeoutMs, patienceMs, log, clock }: PoolOptions): NodePool {
  const pool = createNodePool<Esplora, Told>({
    servers: urls,
    clients: urls.map((url) => createEsplora({ url, timeoutMs, patienceMs })),
    chain: network.reference,
    askChain: (client) => client.ask({ path: pathOf`/block-height/0`, answerBytesMax: smallBytesMax }),
    chainOf: (told) => referenceOf(told),
    log,
    clock,
  });
  const inOneGo = new Map<string, Promise<Told>>();

  /**
   * The same question in the same tick is sent only once, because providers charge by the question.
   */
  function askOnce(node: PoolNode, { path, answerBytesMax = smallBytesMax }: Question<unknown>): Promise<Told> {
    const key = `${pool.nodes.indexOf(node)} ${path}`;
    const asked = inOneGo.get(key);
    if (asked !== undefined) return asked;
    if (inOneGo.size === 0) queueMicrotask(() => inOneGo.clear());
    const answer = pool.exchange(node, (client) => client.ask({ path, answerBytesMax }));
    inOneGo.set(key, answer);
    return answer;
  }

  const lacking = new WeakMap<Either<unknown>, WeakSet<PoolNode>>();

  /** A node that lacks the usual question is asked the other one from then on. */
  async function askEither<T>(node: PoolNode, questions: Either<T>, id: string): Promise<T> {
    const without = lacking.get(questions) ?? new WeakSet();
    lacking.set(questions, without);
    if (without.has(node)) return ask(node, questions.other(id));
    try {
      return await ask(node, questions.usual(id));
    } catch (fault) {
      if (!isLacking(fault)) throw fault;
      try {
        const answer = await ask(node, questions.other(id));
        without.add(node);
        return answer;
      } catch (other) {
        if (!(other instanceof AgentError)) throw other;
        throw fault;
      }
    }
  }

  async function ask<T>(node: PoolNode, question: Question<T>): Promise<T> {
    const told = await askOnce(node, question);
    try {
      if (told.ok) return question.read(told.bytes);
    } catch (error) {
      throw error instanceof AgentError ? pool.unreadable(node, error, question.isOfOthers === true) : error;
    }
    if (told.isAbsent && question.absent !== undefined) return question.absent;
    const { origin } = node.rpc;
    if (told.isAbsent)
      throw new AgentError("NODE_NO_BLOCK", "none", `${told.words} (${shownPath(question.path)})`, { node: origin });
    if (told.status === 404) throw new AgentError(pathCode, "none", pathWords(question.path, told.words), { node: origin });
    throw new AgentError("NODE_ERROR", "none", told.words, { node: origin });
  }

  return {
    ...pool,
    ask,
    askEither,
    send: (node, raw) =>
      pool.exchange(node, (client) => client.ask({ path: pathOf`/tx`, body: raw, answerBytesMax: smallBytesMax }), "write"),
  };
}

/** The network's reference by the first block's hash; "" for an answer that is none. */
function referenceOf(told: Told): string {
  if (!told.ok) return "";
  try {
    return readHash(told.bytes).slice(0, 32);
  } catch (error) {
    if (error instanceof AgentError) return "";
    throw error;
  }
}
