/**
 * The EVM family's only door to a network: reads the chain through several nodes, and broadcasts. Every answer is parsed or a
 * fault; an error is never turned into a number, and a node's words only choose the next question. Reads may be asked again,
 * on the same node or another; eth_sendRawTransaction goes to each node at most once per call.
 * Source: Ethereum execution-apis (eth_ methods).
 */
import { AgentError, type Refusal, refuse } from "../../protocol/fault.ts";
import {
  type Block,
  type BlockHead,
  type PlacedLog,
  type Receipt,
  readBlock,
  readData,
  readHead,
  readPlacedLogs,
  readQuantity,
} from "./answers.ts";
import { type BroadcastAnswer, classifyBroadcastError, isRevert, mergeBroadcasts } from "./broadcast.ts";
import { encodeBalanceCall } from "./erc20.ts";
import { txHashOf } from "./hash.ts";
import { type BlockId, type Counters, createFinality, hexOf, receiptQuestion } from "./node-finality.ts";
import { createPool, type NodeLog, type NodePool, type NodeStatus, type PoolNode, type Question } from "./node-pool.ts";

/**
 * @public
 */
export interface EvmNodesOptions {
  readonly urls: readonly string[];
  readonly chainId: number | bigint;
  readonly confirmations: number | "finalized";
  readonly timeoutMs?: number; // of one exchange, default 5000
  readonly answerBytesMax?: number; // of blocks and logs, default 4 MiB; everything else is bounded lower
  readonly log?: NodeLog;
  readonly clock?: () => number; // milliseconds, never running back
}

/**
 * @public
 */
export interface LogFilter {
  readonly fromBlock: number;
  readonly toBlock: number;
  readonly address: string | readonly string[];
  readonly topics: readonly (string | null | readonly string[])[];
}

/**
 * All methods reject with an AgentError of effect none: NODE_UNREACHABLE, NODE_TIMEOUT, NODE_HTTP, NODE_ANSWER, NODE_ANSWER_SIZE,
 * NODE_ERROR, NODE_WRONG_CHAIN, NODE_NO_BLOCK, NODE_NONE, NODE_CLOSED; `broadcast` alone never rejects. Those that want several
 * nodes to say the same reject with NODE_DISAGREE as well. Asking twice is harmless everywhere.
 * @public
 */
export interface EvmNodes {
  status(): readonly NodeStatus[];
  /** Asks every node for its chain id; a wrong one is kept out until it answers right. Rejects when no node is right. */
  checkChain(): Promise<void>;
  head(): Promise<BlockHead>;
  /** The newest block that counts as final by `confirmations`, on the word of min(2, configured) nodes. */
  finalBlock(): Promise<BlockId>;
  /** Three counts of an account, equal on min(2, configured) nodes. */
  counters(address: string): Promise<Counters>;
  /** Wei, or base units of the token when `contract` is not "". */
  balance(address: string, contract: string, block: number | "latest"): Promise<bigint>;
  /** At the end of the block; "0x" for an account without code. Nodes forget the state of old blocks and say so, NODE_ERROR. */
  code(address: string, block: number | "latest"): Promise<string>;
  /** Wei per gas: base fee of the newest block, and the tip the node proposes. */
  fees(): Promise<{ readonly baseFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }>;
  /** NODE_WOULD_REVERT only on the word of min(2, configured) nodes, and when none could estimate. */
  estimateGas(call: GasCall): Promise<{ readonly ok: true; readonly gas: bigint } | Refusal>;
  /**
   * Hands signed bytes (hex, with or without 0x) to every node and resolves with the first good news, else with what all said.
   * "unsent" means that surely no node saw them; everything but accepted and known leaves open whether they will be included.
   */
  broadcast(raw: string): Promise<BroadcastAnswer>;
  /** One node's word; null when no node has one. */
  receipt(txHash: string): Promise<Receipt | null>;
  /** Null until min(2, configured) nodes have the same receipt, in a block that is canonical at or below the final block. */
  finalReceipt(txHash: string): Promise<Receipt | null>;
  /** NODE_NO_BLOCK when no node has it (yet). */
  block(number: number, options: { readonly full: boolean }): Promise<Block>;
  logs(filter: LogFilter): Promise<readonly PlacedLog[]>;
  /** What the call returns, as 0x hex; nothing is changed on chain. */
  call(to: string, data: string, block: number | "latest"): Promise<string>;
  close(): void;
}

/**
 * @public
 */
export interface GasCall {
  readonly from: string;
  readonly to: string;
  readonly valueWei: bigint;
  readonly data: string;
}

const timeoutMsDefault = 5_000;
const answerBytesMaxDefault = 4 * 1024 * 1024;
/** Contract code is at most 24,576 bytes (EIP-170), twice that as hex; call results are held to the same. */
const dataBytesMax = 128 * 1024;
const sendBytesMax = 16 * 1024;

/**
 * Opens no connection before the first question. @throws NODE_URL
 * @public
 */
export function createEvmNodes(options: EvmNodesOptions): EvmNodes {
  const pool = createPool({
    urls: options.urls,
    chainId: BigInt(options.chainId),
    timeoutMs: options.timeoutMs ?? timeoutMsDefault,
    log: options.log ?? (() => undefined),
    clock: options.clock ?? (() => performance.now()),
  });
  return {
    status: pool.status,
    checkChain: pool.checkChain,
    close: pool.close,
    ...createFinality(pool, options.confirmations),
    ...createReads(pool, options.answerBytesMax ?? answerBytesMaxDefault),
    estimateGas: (call) => estimateGas(pool, call),
    broadcast: (raw) => broadcast(pool, raw.startsWith("0x") ? raw : `0x${raw}`),
  };
}

type Reads = Pick<EvmNodes, "head" | "balance" | "code" | "fees" | "receipt" | "block" | "logs" | "call">;

function createReads(pool: NodePool, answerBytesMax: number): Reads {
  /** One node's answer, never null. */
  async function read<T>(question: Question<T>): Promise<T> {
    return (await pool.first((node) => pool.ask(node, question))) as T;
  }

  async function headOf(node: PoolNode): Promise<BlockHead> {
    const head = await pool.ask(node, { method: "eth_getBlockByNumber", params: ["latest", false], read: readHead });
    node.block = head.number;
    return head;
  }

  const call: EvmNodes["call"] = (to, data, block) =>
    read({
      method: "eth_call",
      params: [{ to, data }, tagOf(block)],
      answerBytesMax: dataBytesMax,
      read: (result) => readData(result, "call result"),
    });

  return {
    call,
    head: async () => (await pool.first(headOf)) as BlockHead,
    balance: async (address, contract, block) => {
      if (contract !== "") return readWord(await call(contract, encodeBalanceCall(address), block));
      return read({
        method: "eth_getBalance",
        params: [address, tagOf(block)],
        read: (result) => readQuantity(result, "balance"),
      });
    },
    code: (address, block) =>
      read({
        method: "eth_getCode",
        params: [address, tagOf(block)],
        answerBytesMax: dataBytesMax,
        read: (result) => readData(result, "code"),
      }),
    fees: async () => {
      const tip = {
        method: "eth_maxPriorityFeePerGas",
        params: [],
        read: (result: unknown) => readQuantity(result, "priority fee"),
      };
      const both = await pool.first((node) => Promise.all([headOf(node), pool.ask(node, tip)]));
      const [head, maxPriorityFeePerGas] = both as [BlockHead, bigint];
      return { baseFeePerGas: head.baseFeePerGas, maxPriorityFeePerGas };
    },
    receipt: (txHash) => pool.first((node) => pool.ask(node, receiptQuestion(txHash))),
    block: async (number, { full }) => {
      const question = {
        method: "eth_getBlockByNumber",
        params: [hexOf(number), full],
        answerBytesMax,
        read: (result: unknown) => (result === null ? null : blockAt(readBlock(result, full), number)),
      };
      const block = await pool.first((node) => pool.ask(node, question));
      if (block === null) throw new AgentError("NODE_NO_BLOCK", "none", "no node has the block", { number });
      return block;
    },
    logs: (filter) =>
      read({
        method: "eth_getLogs",
        params: [{ ...filter, fromBlock: hexOf(filter.fromBlock), toBlock: hexOf(filter.toBlock) }],
        answerBytesMax,
        read: (result) => readPlacedLogs(result).map((log) => logWithin(log, filter)),
      }),
  };
}

async function estimateGas(pool: NodePool, { from, to, valueWei, data }: GasCall): Promise<{ ok: true; gas: bigint } | Refusal> {
  const params = [{ from, to, value: `0x${valueWei.toString(16)}`, data }];
  const question = { method: "eth_estimateGas", params, read: (result: unknown) => readQuantity(result, "gas estimate") };
  const reasons: string[] = [];
  const gas = await pool.first(async (node) => {
    try {
      return await pool.ask(node, question);
    } catch (error) {
      if (!(error instanceof AgentError) || error.code !== "NODE_ERROR" || !isRevert(error.message)) throw error;
      reasons.push(error.message);
      return null;
    }
  });
  if (gas !== null) return { ok: true, gas };
  if (reasons.length >= pool.witnessesMin) return refuse("NODE_WOULD_REVERT", reasons[0]);
  throw new AgentError("NODE_DISAGREE", "none", "only one node could say that the call would revert", { what: "gas estimate" });
}

function broadcast(pool: NodePool, raw: string): Promise<BroadcastAnswer> {
  const txHash = txHashOf(Buffer.from(raw.slice(2), "hex"));
  return new Promise((resolve, reject) => {
    const answers: BroadcastAnswer[] = [];
    const count = (answer: BroadcastAnswer): void => {
      answers.push(answer);
      if (answer.outcome === "accepted" || answer.outcome === "known") resolve(answer);
      if (answers.length === pool.nodes.length) resolve(mergeBroadcasts(answers));
    };
    for (const node of pool.nodes) send(pool, node, raw, txHash).then(count).catch(reject);
    if (pool.nodes.length === 0) resolve(mergeBroadcasts([]));
  });
}

async function send(pool: NodePool, node: PoolNode, raw: string, txHash: string): Promise<BroadcastAnswer> {
  try {
    const options = { answerBytesMax: sendBytesMax, isWrite: true };
    const envelope = await pool.exchange(node, "eth_sendRawTransaction", [raw], options);
    if (!envelope.ok) return { outcome: classifyBroadcastError(envelope.message), text: envelope.message };
    const isOurs = typeof envelope.result === "string" && envelope.result.toLowerCase() === txHash;
    return isOurs ? { outcome: "accepted", text: "" } : { outcome: "unknown", text: "the node answered another hash" };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return { outcome: error.effect === "none" ? "unsent" : "unknown", text: `${error.code}: ${error.message}` };
  }
}

function blockAt(block: Block, number: number): Block {
  if (block.number !== number) throw new AgentError("NODE_ANSWER", "none", "the node answered another block", { number });
  return block;
}

/** Nodes behind a balancer have answered with logs of other filters; one such log spoils the answer. */
function logWithin(log: PlacedLog, filter: LogFilter): PlacedLog {
  const addresses = typeof filter.address === "string" ? [filter.address] : filter.address;
  const isAsked =
    log.blockNumber >= filter.fromBlock &&
    log.blockNumber <= filter.toBlock &&
    addresses.some((address) => address.toLowerCase() === log.address.toLowerCase()) &&
    filter.topics.every((wanted, i) => wanted === null || [wanted].flat().some((topic) => topic.toLowerCase() === log.topics[i]));
  if (!isAsked) throw new AgentError("NODE_ANSWER", "none", "the node answered a log that was not asked for");
  return log;
}

function readWord(data: string): bigint {
  if (data.length !== 66) throw new AgentError("NODE_ANSWER", "none", "the token's answer is not one word");
  return BigInt(data);
}

function tagOf(block: number | "latest"): string {
  return block === "latest" ? block : hexOf(block);
}
