/**
 * The EVM family's only access to a network: reads the chain through several nodes, and broadcasts.
 * Every answer is parsed or a fault. An error is never turned into a number, and a node's text only
 * chooses the next question. A read may be repeated, on the same node or another;
 * eth_sendRawTransaction goes to each node at most once per call. Source: Ethereum execution-apis
 * (eth_ methods).
 */
import { AgentError } from "../../base/fault.ts";
import type { BlockId, BroadcastAnswer, NodeLog, NodeStatus, SlotCounts } from "../nodes.ts";
import { broadcastTo, otherId, type Reply, taken } from "../providers/broadcasts.ts";
import type { ServerAddress } from "../providers/server.ts";
import {
  type Block,
  type BlockHead,
  type FoundLog,
  type Receipt,
  readBlock,
  readFoundLogs,
} from "./answers.ts";
import type { FeeModel } from "./fee-model.ts";
import { txHashOf } from "./hash.ts";
import { type AskReceipt, createReceipts } from "./node-block-receipts.ts";
import { createFinality, createSeenReceipts, hexOf, type SeenReceipts } from "./node-finality.ts";
import {
  askHead,
  balanceQuestion,
  callQuestion,
  codeQuestion,
  countQuestion,
} from "./node-questions.ts";
import { createNodeQuorum, type NodeQuorum } from "./node-quorum.ts";
import { logsByReceipts } from "./node-receipts.ts";
import { refusals } from "./node-refusals.ts";
import { createPool, type NodePool, type PoolNode, type Question } from "./node-wire.ts";

/** The nodes of one chain, and the time and size that an answer may have. */
export interface EvmNodesOptions {
  readonly urls: readonly ServerAddress[];
  readonly chainId: number | bigint;
  readonly confirmations: number | "finalized";
  readonly feeModel?: FeeModel; // default ethereum
  readonly timeoutMs?: number; // time limit of one exchange, default 5000
  // bound for blocks and logs, default 4 MiB; every other answer has a lower bound
  readonly answerBytesMax?: number;
  readonly log?: NodeLog;
  readonly clock?: () => number; // milliseconds, never running back
}

/** A range of blocks, or the one block with a hash. */
export type LogFilter = LogPlace & {
  readonly address: readonly string[];
  readonly topics: readonly (string | null)[];
};

export type LogPlace =
  | { readonly fromBlock: number; readonly toBlock: number }
  | { readonly blockHash: string };

/**
 * All methods reject with an AgentError of effect none: NODE_UNREACHABLE, NODE_TIMEOUT, NODE_HTTP,
 * NODE_ANSWER, NODE_ANSWER_SIZE, NODE_ERROR, NODE_WRONG_CHAIN, NODE_NO_BLOCK, NODE_NONE,
 * NODE_CLOSED. Only `broadcast` never rejects. Methods that need several equal answers reject with
 * NODE_DISAGREE as well. Every method may be called twice without harm.
 */
export interface EvmNodes extends NodeQuorum {
  readonly feeModel: FeeModel;
  status(): readonly NodeStatus[];
  /**
   * Asks every node for its chain id. A node with a wrong id is kept out until its answer is right.
   * Rejects if no node is right.
   */
  checkChain(): Promise<void>;
  head(): Promise<BlockHead>;
  /**
   * The newest block that counts as final by `confirmations`, on which min(2, configured) nodes
   * agree.
   */
  finalBlock(): Promise<BlockId>;
  /** Three counts of an account, equal on min(2, configured) nodes. */
  slotCounts(address: string): Promise<SlotCounts>;
  /** Wei, or base units of the token when `contract` is not "". */
  balance(address: string, contract: string, block: number | "latest"): Promise<bigint>;
  /** Transactions that the account sent, up to the end of the block. */
  sent(address: string, block: number): Promise<bigint>;
  /**
   * The code at the end of the block; "0x" for an account without code. Nodes delete the state of
   * old blocks and then answer NODE_ERROR.
   */
  code(address: string, block: number | "latest"): Promise<string>;
  /**
   * Hands signed bytes (hex, with or without 0x) to every node. Resolves with the first that took
   * them, or else with the answers of all nodes. After every standing but "unsent", the chain may
   * or may not include them.
   */
  broadcast(raw: string): Promise<BroadcastAnswer>;
  /** The receipt from one node; null if no node has one. */
  receipt(txHash: string): Promise<Receipt | null>;
  /**
   * Null until min(2, configured) nodes have the same receipt, in a block that is canonical at or
   * below the final block.
   */
  finalReceipt(txHash: string): Promise<Receipt | null>;
  /** NODE_NO_BLOCK when no node has it (yet). */
  block(number: number, options: { readonly full: boolean }): Promise<Block>;
  /** The list of one node, which may leave out logs without a word. */
  logs(filter: LogFilter): Promise<readonly FoundLog[]>;
  /**
   * All logs of a block from the receipts of all its transactions, each in this very block.
   * NODE_NO_BLOCK until the node has all of them.
   */
  blockLogs(block: Block): Promise<readonly FoundLog[]>;
  /** The result of the call, as 0x hex; nothing changes on chain. */
  call(to: string, data: string, block: number | "latest"): Promise<string>;
  close(): void;
}

const timeoutMsDefault = 5_000;
const answerBytesMaxDefault = 4 * 1024 * 1024;
const sendBytesMax = 16 * 1024;

/** Opens no connection before the first question. @throws NODE_URL */
export function createEvmNodes(options: EvmNodesOptions): EvmNodes {
  const log = options.log ?? (() => undefined);
  const clock = options.clock ?? (() => performance.now());
  const pool = createPool({
    urls: options.urls,
    chainId: BigInt(options.chainId),
    timeoutMs: options.timeoutMs ?? timeoutMsDefault,
    log,
    clock,
  });
  const seen = createSeenReceipts();
  const askReceipt = createReceipts(pool, clock);
  const feeModel = options.feeModel ?? "ethereum";
  return {
    feeModel,
    status: pool.status,
    checkChain: pool.checkChain,
    close: pool.close,
    ...createFinality(pool, options.confirmations, seen, askReceipt),
    ...createReads(pool, options.answerBytesMax ?? answerBytesMaxDefault),
    receipt: (txHash) => receiptOfOne(pool, seen, askReceipt, txHash),
    ...createNodeQuorum(pool, log, seen, askReceipt, feeModel, clock),
    broadcast: (raw) => broadcast(pool, raw.startsWith("0x") ? raw : `0x${raw}`),
  };
}

/** A receipt from the only node is one that enough nodes showed. */
async function receiptOfOne(
  pool: NodePool,
  seen: SeenReceipts,
  askReceipt: AskReceipt,
  txHash: string,
): Promise<Receipt | null> {
  const receipt = await pool.first((node) => askReceipt(node, txHash));
  if (receipt !== null && pool.quorumMin === 1) seen.put(receipt);
  return receipt;
}

type NodeReads = Pick<
  EvmNodes,
  "head" | "balance" | "sent" | "code" | "block" | "logs" | "blockLogs" | "call"
>;

function createReads(pool: NodePool, answerBytesMax: number): NodeReads {
  /** One node's answer, never null. */
  async function read<T>(question: Question<T>): Promise<T> {
    return (await pool.first((node) => pool.ask(node, question))) as T;
  }

  return {
    call: (to, data, block) => read(callQuestion(to, data, block)),
    head: () => {
      pool.lookAround((node) => askHead(pool, node));
      return pool.first((node) => askHead(pool, node)) as Promise<BlockHead>;
    },
    balance: (address, contract, block) => read(balanceQuestion(address, contract, block)),
    sent: (address, block) => read(countQuestion(address, hexOf(block))),
    code: (address, block) => read(codeQuestion(address, block)),
    block: async (number, { full }) => {
      const question = {
        method: "eth_getBlockByNumber",
        params: [hexOf(number), full],
        block: number,
        answerBytesMax,
        read: (result: unknown) =>
          result === null ? null : blockAt(readBlock(result, full), number),
      };
      const block = await pool.first((node) => pool.ask(node, question));
      if (block === null)
        throw new AgentError("NODE_NO_BLOCK", "none", "no node has the block", { number });
      return block;
    },
    logs: (filter) => {
      const { address, topics } = filter;
      const range =
        "blockHash" in filter
          ? filter
          : { fromBlock: hexOf(filter.fromBlock), toBlock: hexOf(filter.toBlock) };
      return read({
        method: "eth_getLogs",
        params: [{ ...range, address, topics }],
        answerBytesMax,
        read: (result) => readFoundLogs(result).map((log) => logWithin(log, filter)),
      });
    },
    blockLogs: async (block) =>
      (await pool.first((node) => logsByReceipts(pool, node, block, answerBytesMax))) ?? [],
  };
}

function broadcast(pool: NodePool, raw: string): Promise<BroadcastAnswer> {
  const txHash = txHashOf(Buffer.from(raw.slice(2), "hex"));
  const options = { answerBytesMax: sendBytesMax, isWrite: true };
  const hand = async (node: PoolNode): Promise<Reply> => {
    const envelope = await pool.hand(node, {
      method: "eth_sendRawTransaction",
      params: [raw],
      ...options,
    });
    if (!envelope.ok) return { kind: "refused", words: envelope.message };
    return typeof envelope.result === "string" && envelope.result.toLowerCase() === txHash
      ? taken
      : otherId;
  };
  return broadcastTo({ nodes: pool.nodes, refusals, hand });
}

function blockAt(block: Block, number: number): Block {
  if (block.number !== number)
    throw new AgentError("NODE_ANSWER", "none", "the node answered another block", { number });
  return block;
}

/**
 * Nodes behind a balancer have answered with logs of other filters; one such log makes the complete
 * answer invalid.
 */
function logWithin(log: FoundLog, filter: LogFilter): FoundLog {
  const isThere =
    "blockHash" in filter
      ? log.blockHash === filter.blockHash
      : log.blockNumber >= filter.fromBlock && log.blockNumber <= filter.toBlock;
  const isAsked =
    isThere &&
    filter.address.some((address) => address.toLowerCase() === log.address) &&
    filter.topics.every((wanted, i) => wanted === null || wanted.toLowerCase() === log.topics[i]);
  if (!isAsked)
    throw new AgentError("NODE_ANSWER", "none", "the node answered a log that was not asked for");
  return log;
}
