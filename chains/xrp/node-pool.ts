/**
 * Joins several nodes of one chain: the pool that every family has, with questions of the XRP
 * Ledger's API. A node serves the right chain if it names the chain's NetworkID.
 */
import { AgentError } from "../../base/fault.ts";
import type { NodeLog } from "../nodes.ts";
import type { QuestionValue } from "../providers/canonical-text.ts";
import { createNodePool, type PoolNode as Node, type NodePool as Pool } from "../providers/node-pool.ts";
import type { ServerAddress } from "../providers/server.ts";
import { type Marker, readNetworkId } from "./node-answers.ts";
import { createRpc, type Fields, type Rpc, type Told } from "./rpc.ts";

export interface PoolOptions {
  readonly urls: readonly ServerAddress[];
  readonly networkId: number;
  readonly timeoutMs: number;
  readonly patienceMs: number;
  readonly log: NodeLog;
  readonly clock: () => number;
}

export type PoolNode = Node<Rpc>;

/** The newest validated ledger, or the node's open one. */
export type Newest = "validated" | "current";

/** One question, and the reader of its answer. */
export interface Question<T> {
  readonly method: string;
  readonly params: Readonly<Record<string, QuestionValue | Newest | Marker>>;
  readonly read: (result: Fields) => T;
  /** The node's error that is an answer too, and its value by the fields beside the error. */
  readonly absent?: { readonly error: string; readonly read: (result: Fields) => T };
  readonly answerBytesMax?: number;
  /** Holds transactions of others, of which an odd one is no node's failure alone. */
  readonly isOfOthers?: true;
}

export interface NodePool extends Omit<Pool<Rpc>, "exchange"> {
  /**
   * Asks one node. @throws NODE_WRONG_CHAIN, NODE_ERROR, NODE_NO_BLOCK, or a fault of the exchange
   */
  ask<T>(node: PoolNode, question: Question<T>): Promise<T>;
  /** Sends signed bytes as hex, at most once. */
  send(node: PoolNode, raw: string): Promise<Told>;
}

const smallBytesMax = 256 * 1024;
/** The node does not have the ledgers that are asked for. */
const noLedgerErrors: ReadonlySet<string> = new Set([
  ...(["lgrNotFound", "lgrIdxsInvalid", "lgrIdxInvalid", "lgrIdxMalformed", "lgrNotValidated", "noCurrent", "noClosed"] as const),
  ...(["noNetwork", "notSynced", "notReady"] as const),
]);

export function createPool({ urls, networkId, timeoutMs, patienceMs, log, clock }: PoolOptions): NodePool {
  const pool = createNodePool<Rpc, Told>({
    servers: urls,
    clients: urls.map((url) => createRpc({ url, timeoutMs, patienceMs })),
    chain: `${networkId}`,
    askChain: (client) => client.ask({ method: "server_info", params: {}, answerBytesMax: smallBytesMax }),
    chainOf: (told) => (told.ok ? readNetworkId(told.result) : ""),
    cureOf: (answered) => (answered === "none" ? networkLines(networkId) : ""),
    log,
    clock,
  });
  const inOneGo = new Map<string, Promise<Told>>();

  /**
   * The same question in the same tick is sent only once, because providers charge by the question.
   */
  function askOnce(node: PoolNode, { method, params, answerBytesMax = smallBytesMax }: Question<unknown>): Promise<Told> {
    const key = `${pool.nodes.indexOf(node)} ${method} ${JSON.stringify(params)}`;
    const asked = inOneGo.get(key);
    if (asked !== undefined) return asked;
    if (inOneGo.size === 0) queueMicrotask(() => inOneGo.clear());
    const answer = pool.exchange(node, (client) => client.ask({ method, params, answerBytesMax }));
    inOneGo.set(key, answer);
    return answer;
  }

  return {
    ...pool,
    ask: async (node, question) => {
      const told = await askOnce(node, question);
      try {
        return answerOf(told, question, node.rpc.origin);
      } catch (error) {
        throw error instanceof AgentError ? pool.unreadable(node, error, question.isOfOthers === true) : error;
      }
    },
    send: (node, raw) =>
      pool.exchange(
        node,
        (client) => client.ask({ method: "submit", params: { tx_blob: raw }, answerBytesMax: smallBytesMax, isWrite: true }),
        "write",
      ),
  };
}

/** A stock rippled names no network until its configuration does. Source: XRPLF/rippled #4778. */
function networkLines(networkId: number): string {
  const name = { 0: "main", 1: "testnet", 2: "devnet" }[networkId] ?? `${networkId}`;
  return `the server names no network: write the lines [network_id] and ${name} into its configuration`;
}

function answerOf<T>(told: Told, { read, absent }: Question<T>, node: string): T {
  if (told.ok) return read(told.result);
  if (told.error === absent?.error) return absent.read(told.result);
  throw new AgentError(noLedgerErrors.has(told.error) ? "NODE_NO_BLOCK" : "NODE_ERROR", "none", told.words, { node });
}
