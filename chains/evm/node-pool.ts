/**
 * Joins several EVM nodes of one chain: the pool that every family has, with questions in JSON-RPC.
 */
import { AgentError } from "../../base/fault.ts";
import type { NodeLog } from "../nodes.ts";
import { createNodePool, type PoolNode as Node, type NodePool as Pool } from "../providers/node-pool.ts";
import { quotaFault } from "../providers/node-quota.ts";
import type { ServerAddress } from "../providers/server.ts";
import { readQuantity } from "./answers.ts";
import { createRpc, type Rpc, type RpcCallOptions } from "./rpc.ts";
import type { Envelope } from "./rpc-envelope.ts";

export interface PoolOptions {
  readonly urls: readonly ServerAddress[];
  readonly chainId: bigint;
  readonly timeoutMs: number;
  readonly log: NodeLog;
  readonly clock: () => number;
}

export type PoolNode = Node<Rpc>;

/** One question: a method, and the reader of its result. */
export interface Question<T> {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly read: (result: unknown) => T;
  readonly answerBytesMax?: number;
  readonly block?: number; // number of the block that is asked for; the result is null if the node lacks it
}

export interface NodePool extends Omit<Pool<Rpc>, "exchange"> {
  /**
   * Asks one node. @throws NODE_ERROR or NODE_PRUNED with the node's words, NODE_WRONG_CHAIN, or a
   * fault of the exchange
   */
  ask<T>(node: PoolNode, question: Question<T>): Promise<T>;
  /**
   * The raw envelope, for writes. Throws the same faults, but returns an error object as a value.
   */
  exchange(node: PoolNode, method: string, params: readonly unknown[], options: RpcCallOptions): Promise<Envelope>;
}

const callsMax = 64; // most calls in one batch, below the default limits of every client (erigon's 100 is the lowest)
const batchBytesMax = 16 * 1024 * 1024;
/**
 * Most further questions for a block that the node lacks below a head that it has shown. The
 * machines of a balancer answer in turns, so a program that asks equally often in each pass can
 * reach the same lagging machine with the same question each time.
 */
const missedMax = 2;
/** Bound for answers with one quantity, one hash or one small object. */
const smallAnswerBytesMax = 64 * 1024;

export function createPool(options: PoolOptions): NodePool {
  const { chainId, timeoutMs, log, clock } = options;
  const pool = createNodePool({
    servers: options.urls,
    clients: options.urls.map((url) => createRpc({ url, timeoutMs, callsMax, batchBytesMax })),
    chain: `${chainId}`,
    askChain: (rpc) => read(rpc, "eth_chainId", [], { answerBytesMax: smallAnswerBytesMax }),
    chainOf: (envelope, rpc) => `${readResult(rpc, chainQuestion, envelope)}`,
    log,
    clock,
  });
  const inOneGo = new Map<string, Promise<Envelope>>();

  const exchange: NodePool["exchange"] = (node, method, params, call) =>
    pool.exchange(node, (rpc) => rpc.call(method, params, call), call.isWrite === true ? "write" : "read");

  /**
   * The same question in the same tick would stand in a batch twice. One answer serves both,
   * because nodes charge by the call.
   */
  function exchangeOnce(node: PoolNode, { method, params, answerBytesMax = smallAnswerBytesMax }: Question<unknown>) {
    const key = JSON.stringify([pool.nodes.indexOf(node), answerBytesMax, method, params]);
    const asked = inOneGo.get(key);
    if (asked !== undefined) return asked;
    if (inOneGo.size === 0) queueMicrotask(() => inOneGo.clear());
    const envelope = pool.exchange(node, (rpc) => read(rpc, method, params, { answerBytesMax }));
    inOneGo.set(key, envelope);
    return envelope;
  }

  async function ask<T>(node: PoolNode, question: Question<T>): Promise<T> {
    let envelope = await exchangeOnce(node, question);
    for (let missed = 0; missed < missedMax && isMissed(node, question, envelope, clock()); missed += 1)
      envelope = await exchangeOnce(node, question);
    try {
      return readResult(node.rpc, question, envelope);
    } catch (error) {
      if (error instanceof AgentError && (error.code === "NODE_ANSWER" || error.code === "CHAIN_NO_EIP1559"))
        pool.fail(node, error);
      throw error;
    }
  }

  return { ...pool, ask, exchange };
}

/**
 * Texts of a node that has deleted the state of a block. Sources: ethereum/go-ethereum #16471 and
 * #20874, ethereum-optimism/op-geth #220, NethermindEth/nethermind #9408, 0xPolygon/bor #1303,
 * blockscout/blockscout #5594; besu, erigon and reth in their own sources.
 */
const prunedWords =
  /missing trie ?node|is missing from the db|(?:historical|world|old) (?:state|data) (?:is )?(?:unavailable|not available)|state .{0,80}(?:is not available|not available|unavailable|pruned)|state (?:at|for) block .{0,40}(?:pruned|not found)|due to pruning|no state available|history has been pruned|missing state/i;

export function isPruned(message: string): boolean {
  return prunedWords.test(message);
}

/** Whether the node lacks a block below a head that it has shown: another machine of it lags. */
function isMissed({ heads }: PoolNode, { block }: Question<unknown>, envelope: Envelope, nowMs: number): boolean {
  if (block === undefined || !envelope.ok || envelope.result !== null) return false;
  return (heads.view(nowMs)?.highest ?? -1) >= block;
}

const chainQuestion: Question<bigint> = {
  method: "eth_chainId",
  params: [],
  read: (result) => readQuantity(result, "chain id"),
};

/**
 * A read that a provider refuses because the quota is used up is a failure of the node, in any
 * form.
 */
async function read(rpc: Rpc, method: string, params: readonly unknown[], options: RpcCallOptions): Promise<Envelope> {
  const envelope = await rpc.call(method, params, options);
  if (envelope.ok) return envelope;
  // For logs, the same code often means that there are too many.
  const rpcCode = method === "eth_getLogs" ? 0 : envelope.code;
  const fault = quotaFault(rpcCode, envelope.message, rpc.origin);
  if (fault !== null) throw fault;
  return envelope;
}

function readResult<T>(rpc: Rpc, { method, read }: Question<T>, envelope: Envelope): T {
  if (envelope.ok) return read(envelope.result);
  const context = { node: rpc.origin, method, rpcCode: envelope.code };
  throw new AgentError(isPruned(envelope.message) ? "NODE_PRUNED" : "NODE_ERROR", "none", envelope.message, context);
}
