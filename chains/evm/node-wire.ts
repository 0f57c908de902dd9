/**
 * Questions to EVM nodes in JSON-RPC, the calls of one moment gathered into batches. A node serves
 * the right chain if it names the chain's id.
 */
import { AgentError } from "../../base/fault.ts";
import type { PoolNode as Node } from "../providers/node-pool.ts";
import { quotaFault } from "../providers/node-quota.ts";
import {
  createQuestionPool,
  type FamilyProtocol,
  type QuestionPool,
  type QuestionPoolOptions,
} from "../providers/question-pool.ts";
import { readQuantity } from "./answers.ts";
import { createRpc, type Rpc, type RpcCallOptions } from "./rpc.ts";
import type { Envelope } from "./rpc-envelope.ts";

export interface PoolOptions extends QuestionPoolOptions {
  readonly chainId: bigint;
  readonly timeoutMs: number;
}

export type PoolNode = Node<Rpc>;

interface Call extends RpcCallOptions {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** One question: a method, and the reader of its result. */
export interface Question<T> {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly read: (result: unknown) => T;
  readonly answerBytesMax?: number;
  readonly block?: number; // number of the block that is asked for; the result is null if the node lacks it
}

type RpcQuestions = QuestionPool<Rpc, Call, Question<unknown>, Envelope>;

export interface NodePool extends Omit<RpcQuestions, "ask"> {
  /**
   * Asks one node. @throws NODE_ERROR or NODE_PRUNED with the node's words, NODE_WRONG_CHAIN, or a
   * fault of the exchange
   */
  ask<T>(node: PoolNode, question: Question<T>): Promise<T>;
}

const callsMax = 64; // most calls in one batch, below the default limits of every client (erigon's 100 is the lowest)
const batchBytesMax = 16 * 1024 * 1024;
/** Bound for answers with one quantity, one hash or one small object. */
const smallAnswerBytesMax = 64 * 1024;

export function createPool({ chainId, timeoutMs, ...options }: PoolOptions): NodePool {
  const wire: FamilyProtocol<Rpc, Call, Question<unknown>, Envelope> = {
    chain: `${chainId}`,
    chainQuestion: { method: "eth_chainId", params: [], answerBytesMax: smallAnswerBytesMax },
    chainOf: (envelope, { origin }) => `${readResult(envelope, chainQuestion, origin)}`,
    open: (url) => createRpc({ url, timeoutMs, callsMax, batchBytesMax }),
    askOf: ({ method, params, answerBytesMax = smallAnswerBytesMax }) => ({
      method,
      params,
      answerBytesMax,
    }),
    exchange,
    read: readResult,
    isMissed: (envelope, { block }, highest) =>
      block !== undefined && envelope.ok && envelope.result === null && highest >= block,
  };
  return createQuestionPool(wire, options);
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

const chainQuestion: Question<bigint> = {
  method: "eth_chainId",
  params: [],
  read: (result) => readQuantity(result, "chain id"),
};

/**
 * A read that a provider refuses because the quota is used up is a failure of the node, in any
 * form.
 */
async function exchange(rpc: Rpc, { method, params, ...options }: Call): Promise<Envelope> {
  const envelope = await rpc.call(method, params, options);
  if (envelope.ok || options.isWrite === true) return envelope;
  // For logs, the same code often means that there are too many.
  const rpcCode = method === "eth_getLogs" ? 0 : envelope.code;
  const fault = quotaFault(rpcCode, envelope.message, rpc.origin);
  if (fault !== null) throw fault;
  return envelope;
}

function readResult<T>(envelope: Envelope, { method, read }: Question<T>, node: string): T {
  if (envelope.ok) return read(envelope.result);
  const context = { node, method, rpcCode: envelope.code };
  throw new AgentError(
    isPruned(envelope.message) ? "NODE_PRUNED" : "NODE_ERROR",
    "none",
    envelope.message,
    context,
  );
}
