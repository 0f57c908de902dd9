/**
 * The questions of a family to the servers of one chain: asked once where several ask the same in
 * one moment, again where another machine of a balancer lags, and read with the blame where it
 * belongs. A family brings its wire. Reaches the network only through the wire's clients.
 */
import { AgentError } from "../../base/fault.ts";
import type { NodeLog } from "../nodes.ts";
import { isUnsupportedQuestion } from "./market.ts";
import { type Client, createNodePool, type NodePool, type PoolNode } from "./node-pool.ts";
import type { ServerAddress } from "./server.ts";

/**
 * The protocol of a family. `A`: what one exchange sends; `Q`: a question; `R`: a server's reply.
 */
export interface FamilyProtocol<C extends Client, A, Q, R> {
  /** The chain that every server must serve, as `chainOf` returns it. */
  readonly chain: string;
  readonly chainQuestion: A;
  readonly chainOf: (reply: R, client: C) => string;
  /** The cure for a server that answers with this chain; "" for nothing but another address. */
  readonly cureOf?: (answered: string) => string;
  /** Opens no connection before the first exchange. @throws NODE_URL */
  readonly open: (server: ServerAddress) => C;
  readonly askOf: (question: Q) => A;
  readonly exchange: (client: C, ask: A) => Promise<R>;
  /** The value of the reply. @throws AgentError NODE_ANSWER, or the fault that the server names */
  readonly read: (reply: R, question: Q, node: string) => unknown;
  /** Whether the reply lacks a block below the highest head that the server has shown. */
  readonly isMissed?: (reply: R, question: Q, highest: number) => boolean;
}

export interface QuestionPoolOptions {
  readonly urls: readonly ServerAddress[];
  readonly log: NodeLog;
  readonly clock: () => number; // milliseconds, never running back
}

/** Two questions for one answer, made of one id. */
export interface QuestionAlternatives<Q> {
  readonly usual: (id: string) => Q;
  readonly other: (id: string) => Q;
}

/** `T` is the type that the question's own reader returns. */
export interface QuestionPool<C extends Client, A, Q, R> extends Omit<NodePool<C>, "exchange"> {
  /**
   * Asks one node. @throws NODE_WRONG_CHAIN, NODE_QUOTA, a fault of the exchange, or one that the
   * wire reads
   */
  ask<T>(node: PoolNode<C>, question: Q): Promise<T>;
  /** As `ask`, by the usual question, or by the other one if the node lacks that. */
  askEither<T>(node: PoolNode<C>, questions: QuestionAlternatives<Q>, id: string): Promise<T>;
  /** Sends a write, at most once, and returns the reply unread. @throws as `ask` */
  hand(node: PoolNode<C>, ask: A): Promise<R>;
}

/**
 * Most further questions for a block that the node lacks below a head that it has shown. The
 * machines of a balancer answer in turns, so a program that asks equally often in each pass can
 * reach the same lagging machine with the same question each time.
 */
const missedMax = 2;

export function createQuestionPool<C extends Client, A, Q extends object, R>(
  wire: FamilyProtocol<C, A, Q, R>,
  { urls, log, clock }: QuestionPoolOptions,
): QuestionPool<C, A, Q, R> {
  const { chain, chainOf, cureOf } = wire;
  const { exchange, ...pool } = createNodePool<C, R>({
    servers: urls,
    clients: urls.map(wire.open),
    chain,
    askChain: (client) => wire.exchange(client, wire.chainQuestion),
    chainOf,
    ...(cureOf === undefined ? {} : { cureOf }),
    log,
    clock,
  });
  const inOneGo = new Map<string, Promise<R>>();
  const lacking = new WeakMap<QuestionAlternatives<Q>, WeakSet<PoolNode<C>>>();

  /**
   * The same question in the same tick is sent only once, because providers charge by the question.
   */
  function askOnce(node: PoolNode<C>, question: Q): Promise<R> {
    const ask = wire.askOf(question);
    const key = JSON.stringify([pool.nodes.indexOf(node), ask]);
    const asked = inOneGo.get(key);
    if (asked !== undefined) return asked;
    if (inOneGo.size === 0) queueMicrotask(() => inOneGo.clear());
    const reply = exchange(node, (client) => wire.exchange(client, ask));
    inOneGo.set(key, reply);
    return reply;
  }

  const isMissed = ({ heads }: PoolNode<C>, question: Q, reply: R): boolean =>
    wire.isMissed?.(reply, question, heads.view(clock())?.highest ?? -1) ?? false;

  async function ask<T>(node: PoolNode<C>, question: Q): Promise<T> {
    let reply = await askOnce(node, question);
    for (let missed = 0; missed < missedMax && isMissed(node, question, reply); missed += 1)
      reply = await askOnce(node, question);
    try {
      return wire.read(reply, question, node.rpc.origin) as T;
    } catch (error) {
      throw error instanceof AgentError
        ? pool.unreadable(node, error, isOfOthers(question))
        : error;
    }
  }

  /** A node that lacks the usual question is asked the other one from then on. */
  async function askEither<T>(
    node: PoolNode<C>,
    questions: QuestionAlternatives<Q>,
    id: string,
  ): Promise<T> {
    const without = lacking.get(questions) ?? new WeakSet();
    lacking.set(questions, without);
    if (without.has(node)) return ask(node, questions.other(id));
    try {
      return await ask<T>(node, questions.usual(id));
    } catch (fault) {
      if (!isUnsupportedQuestion(fault)) throw fault;
      try {
        const answer = await ask<T>(node, questions.other(id));
        without.add(node);
        return answer;
      } catch (other) {
        if (!(other instanceof AgentError)) throw other;
        throw fault;
      }
    }
  }

  return {
    ...pool,
    ask,
    askEither,
    hand: (node, ask) => exchange(node, (client) => wire.exchange(client, ask), "write"),
  };
}

/**
 * Whether the answer holds transactions of others, of which an odd one is no node's failure alone.
 */
function isOfOthers(question: object): boolean {
  return "isOfOthers" in question && question.isOfOthers === true;
}
