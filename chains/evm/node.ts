/**
 * The EVM family's only access to a network: reads the chain through several nodes, and broadcasts.
 * Every answer is parsed or a fault. An error is never turned into a number, and a node's text only
 * chooses the next question. A read may be repeated, on the same node or another;
 * eth_sendRawTransaction goes to each node at most once per call. Source: Ethereum execution-apis
 * (eth_ methods).
 */
import { AgentError, type Refusal, refuse } from "../../base/fault.ts";
import { mapWithLimit } from "../map-limit.ts";
import type { BlockId, BroadcastAnswer, NodeLog, NodeStatus, SlotCounts } from "../nodes.ts";
import {
  type BroadcastReply,
  broadcastTo,
  otherIdReply,
  type RefusalRow,
  takenReply,
} from "../providers/broadcasts.ts";
import { quorumAnswerOf } from "../providers/chain-blocks.ts";
import { createAgreedFeeRates, middleOf } from "../providers/market.ts";
import { disagreementFault, firstFault, settlePromise } from "../providers/node-pool.ts";
import type { ServerAddress } from "../providers/server.ts";
import {
  type Block,
  type BlockHead,
  type FoundLog,
  type Receipt,
  readBlock,
  readFoundLogs,
  readReceiptLogs,
} from "./answers.ts";
import { dataFeeCall, dataFeeWithRoom, operatorFeeCall } from "./data-fee.ts";
import type { FeeModel } from "./fee-model.ts";
import { txHashOf } from "./hash.ts";
import { type AskReceipt, createReceiptReader } from "./node-block-receipts.ts";
import {
  createFinalityReader,
  createSeenReceipts,
  hexOf,
  receiptKey,
  type SeenReceipts,
} from "./node-finality.ts";
import {
  accountTransactionCountQuestion,
  askHead,
  balanceQuestion,
  callQuestion,
  codeQuestion,
  type GasCall,
  gasQuestion,
  oracleQuestion,
} from "./node-questions.ts";
import { createTipWays, type TipWays } from "./node-tip.ts";
import { createPool, type NodePool, type PoolNode, type Question } from "./node-wire.ts";

/*
 * Words with which nodes answer eth_sendRawTransaction, and their meaning. Offline. Sources: the
 * error texts of geth (core/txpool, core/error.go), reth (transaction-pool/src/error.rs),
 * nethermind (AcceptTxResult), besu (TransactionInvalidReason) and erigon (txpoolcfg);
 * ethereum-optimism/optimism #8819, erigontech/erigon #10582, base/base #2347, besu-eth/besu #4739;
 * test/vectors/node-errors.json has those of nine clients.
 */

/**
 * The first row that fits decides. An "unknown transaction" is not a known one, an authorisation's
 * nonce (EIP-7702) is not the account's, and "too low" next to a fee is not about a nonce. The
 * error's code does not help: clients use -32000 for most errors.
 */
export const broadcastRefusals: readonly RefusalRow[] = [
  {
    form: /^(?!.*(?:\bunknown\b|\bblock already\b|\bnot already\b)).*(?:\balready ?known\b|\bknown transaction\b|\balready (?:been )?imported\b|\btransaction already exists\b|\btx already exists\b|\balready exists in cache\b|\balready in (?:the )?(?:mem|tx)?pool\b|\bownnoncealreadyused\b|\balreadyimported\b)/i,
    meaning: "known",
  },
  {
    form: /^(?!.*\b(?:authority|authorization)\b).*(?:\bnonce (?:is )?too low\b|\boldnonce\b|\bnonce has already been used\b|\btransaction nonce is too low\b|\bpool\(stale\)|\bis lower than the current nonce\b|\balready (?:finalized|mined)\b|\bnonce too small\b)/i,
    meaning: "slot-used",
  },
  {
    form: /\binsufficient ?(?:funds|balance|eth)\b|\benough funds\b|\bupfront cost exceeds\b|\black of funds\b/i,
    meaning: "funds",
  },
  // A node's least tip, in wei per gas.
  {
    form: /\b(?:underpriced: )?gas tip cap [0-9]+, minimum needed (?<least>[0-9]{1,30})\b/i,
    meaning: "price",
  },
  {
    form: /\bunderpriced\b|\bcould not replace existing tx\b|\bfee ?too ?low\b|\bfeetoolow(?:tocompete)?\b|\breplacementnotallowed\b|\bless than block base fee\b|\bbelow (?:current|block) base ?fee\b|\bgas price (?:is )?too low\b|\bgas price below\b|\bgas price .{0,80}is too low\b|\bis too low for the next block\b|\bgas tip cap .{0,60}(?:minimum|below)\b|\bpriority fee .{0,60}(?:too low|below|under)\b|\bfee ?cap (?:is )?less than\b|\beffective gas price .{0,60}too low\b/i,
    meaning: "price",
  },
  {
    form: /permission|unauthori[sz]ed|forbidden|not allowed|method .{0,60}(?:not found|not available|not supported|does not exist|disabled)|read[- ]only|api key|(?:still |is |currently )syncing|not synced|sync is (?:still )?in progress|quota|rate limit|too many requests/i,
    meaning: "node",
  },
  {
    form: /exceeds the (?:configured|configuration) cap|fee cap exceeded|exceeds? .{0,40}\btx ?fee ?cap|delegated account|delegator|authority already reserved|address already reserved|conflicting ?type|(?:invalid|wrong|incorrect) ?chain ?id|invalid sender|failed ?to ?resolve ?sender|sender ?is ?(?:a )?contract|sender not an eoa|invalid signature|replay[- ]protected|(?:tx|transaction) ?type.{0,40}not supported|not ?supported ?tx ?type|oversized|max ?tx ?size ?exceeded|input .{0,30}too (?:large|big)|exceeds (?:the )?(?:block|transaction) gas limit|gas ?limit ?exceeded|gas limit too high|exceeds .{0,40}gas limit|nonce (?:is )?too (?:high|distant|far)|nonce ?too ?(?:far|distant)|nonce ?gap|nonce has max value|account limit exceeded|too many (?:pending )?transactions (?:from|of|for) |(?:sender|account) .{0,30}(?:capacity|limit) (?:reached|exceeded)|spammer|black ?list|block ?list|deny ?list|sanction|not whitelisted|not authori[sz]ed to/i,
    meaning: "bytes",
  },
];

/**
 * True if the text says that the call itself fails on chain, and not that the account lacks funds
 * or the node fails.
 */
export function isRevert(message: string): boolean {
  const text = message.toLowerCase();
  return /revert|vm execution error|invalid opcode/.test(text) && !/insufficient funds/.test(text);
}

/*
 * All logs of one block from the receipts of its transactions, with the logs that a list leaves
 * out. Touches nodes only through node-wire.ts. Source: Ethereum execution-apis,
 * eth_getBlockReceipts, which not every node has.
 */

/** Receipts of calls with many logs reach hundreds of kilobytes. */
const receiptBytesMax = 512 * 1024;
const receiptsAtOnce = 32;

type Logs = ReturnType<typeof readReceiptLogs>;

/**
 * @throws AgentError NODE_NO_BLOCK until the node has each of them in this very block, or a fault
 * of the exchange
 */
async function logsByReceipts(
  pool: NodePool,
  node: PoolNode,
  block: Block,
  answerBytesMax: number,
): Promise<readonly FoundLog[]> {
  const { number, hash, transactions } = block;
  const together = (await ofBlock(pool, node, number, answerBytesMax)) ?? [];
  // A node without that method, or one that lags, is asked for each receipt.
  const isWhole = together.length >= transactions.length;
  const receipts = isWhole
    ? together
    : await mapWithLimit(transactions, receiptsAtOnce, ({ hash: txHash }) =>
        ofOne(pool, node, txHash),
      );
  const isOfBlock = receipts.every((one) => one !== null && one.blockHash === hash);
  if (isOfBlock) return receipts.flatMap((one) => one?.logs ?? []);
  throw new AgentError("NODE_NO_BLOCK", "none", "the node has not all receipts of the block yet", {
    number,
  });
}

/** Null if the node does not answer this question. */
async function ofBlock(
  pool: NodePool,
  node: PoolNode,
  number: number,
  answerBytesMax: number,
): Promise<readonly Logs[] | null> {
  try {
    return await pool.ask(node, {
      method: "eth_getBlockReceipts",
      params: [`0x${number.toString(16)}`],
      answerBytesMax,
      read: (result) => (Array.isArray(result) ? result.map(readReceiptLogs) : null),
    });
  } catch (fault) {
    if (fault instanceof AgentError && fault.code !== "NODE_CLOSED") return null;
    throw fault;
  }
}

function ofOne(pool: NodePool, node: PoolNode, txHash: string): Promise<Logs | null> {
  const read = (result: unknown): Logs | null => (result === null ? null : readReceiptLogs(result));
  return pool.ask(node, {
    method: "eth_getTransactionReceipt",
    params: [txHash],
    answerBytesMax: receiptBytesMax,
    read,
  });
}

/*
 * Reads the fees, gas and inclusion of a payment: figures on which min(2, configured) nodes agree,
 * exactly or within a margin, so one lying node of two cannot set any of them. A tip alone needs
 * one answer. The log names a node whose figure is far from the others.
 */

/**
 * Wei per gas. Honest nodes suggest different tips, so both ends are given. A payment offers the
 * lower first and goes up to the higher at most while no block takes it. `dataFee` in wei, on a
 * chain that bills data in addition to the gas: the most for any payment, with room.
 */
interface Fees {
  readonly baseFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly maxPriorityFeePerGasHigh: bigint;
  readonly dataFee?: bigint;
}

/**
 * A receipt on which enough nodes agree, or null; `isShown` if at least one node shows a receipt.
 */
interface AgreedReceipt {
  readonly receipt: Receipt | null;
  readonly isShown: boolean;
}

interface NodeQuorum {
  fees(): Promise<Fees>;
  estimateGas(call: GasCall): Promise<{ readonly ok: true; readonly gas: bigint } | Refusal>;
  agreedBalance(address: string, contract: string, block: number): Promise<bigint>;
  hasCode(address: string): Promise<boolean>;
  /** The result of a call now, as 0x hex; null if the contract refuses it. */
  agreedCall(to: string, data: string): Promise<string | null>;
  shownReceipt(txHash: string): Promise<AgreedReceipt>;
  /**
   * The highest count of the account's transactions in blocks from any node. No nonce from this
   * count on is in a block.
   */
  usedNonces(address: string): Promise<bigint>;
}

/**
 * A base fee rises by an eighth a block at most (EIP-1559), so twice the fee means six blocks
 * later. Wei of slack for tiny fees.
 */
const baseFeeSpread = { times: 2n, slack: 100n };
/**
 * As the base fee, because it follows the base fees of layer 1. Wei of slack for a chain that bills
 * next to nothing.
 */
const dataFeeSpread = { times: 2n, slack: 1_000n };
/**
 * The same call costs about the same at two heads. A first payment to a receiver costs less than
 * twice a second one.
 */
const gasSpread = { times: 2n, slack: 0n };
/**
 * Tips differ widely between honest nodes. A tip this many times as high as another is named in the
 * log; the policy bounds it.
 */
const tipNamedTimes = 10n;

interface NodeReading<T> {
  readonly node: PoolNode;
  readonly value: T;
}

type Spread = typeof baseFeeSpread;

/**
 * Makes the reads that several nodes must answer alike. `log` gets a node whose figure stands
 * apart, one entry until it agrees again.
 */
function createNodeQuorum(
  pool: NodePool,
  log: NodeLog,
  seen: SeenReceipts,
  askReceipt: AskReceipt,
  feeModel: FeeModel,
  clock: () => number,
): NodeQuorum {
  const apart = new Set<string>();
  const tipsOf = createTipWays(pool);
  const price = createAgreedFeeRates({ quorumMin: pool.quorumMin, clock });
  const name = <T>(
    what: string,
    said: readonly NodeReading<T>[],
    isApart: (one: NodeReading<T>) => boolean,
    show: (value: T) => string,
  ) => {
    for (const one of said) {
      const key = `${one.node.rpc.origin} ${what}`;
      if (!isApart(one)) apart.delete(key);
      else if (!apart.has(key)) {
        apart.add(key);
        const others = said.filter((other) => other !== one).map((other) => show(other.value));
        const message = `says ${show(one.value)} where others say ${others.join(", ")}`;
        log("node-outlier", { node: one.node.rpc.origin, what, message });
      }
    }
  };

  /**
   * The figures of the largest group that lies within the spread; of two groups of the same size,
   * the one with the higher figures.
   * @throws NODE_DISAGREE
   */
  const within = <T>(
    what: string,
    said: readonly NodeReading<T>[],
    figureOf: (value: T) => bigint,
    spread: Spread,
  ): readonly T[] => {
    const group = largestGroup(said, figureOf, spread);
    const isEnough = group.length >= pool.quorumMin;
    name(
      what,
      said,
      (one) => !isEnough || !group.includes(one),
      (value) => `${figureOf(value)}`,
    );
    if (!isEnough) throw disagreementFault(what, said.length);
    return group.map(({ value }) => value);
  };

  return {
    fees: async () => {
      const said = await askAll(pool, (node) => askMarket(pool, node, feeModel, tipsOf));
      const bases = within("base fee", said, ({ base }) => base, baseFeeSpread).map(
        ({ base }) => base,
      );
      const tips = price.figures(said.map(({ value }) => value.tip));
      const [low, high] = [middleOf(tips, "lower"), middleOf(tips, "higher")];
      name(
        "tip",
        said.flatMap(({ node, value: { tip } }) =>
          tip.ok && tip.value !== null ? [{ node, value: tip.value }] : [],
        ),
        ({ value }) => value > tipNamedTimes * low && value >= high && value > 0n,
        String,
      );
      const fees = {
        baseFeePerGas: bases.reduce(larger),
        maxPriorityFeePerGas: low,
        maxPriorityFeePerGasHigh: high,
      };
      if (feeModel !== "op-stack") return fees;
      const dataFees = within("fee for data", said, ({ data }) => data, dataFeeSpread).map(
        ({ data }) => data,
      );
      return { ...fees, dataFee: dataFeeWithRoom(dataFees.reduce(larger)) };
    },
    estimateGas: (call) => estimateGas(pool, call, within),
    agreedBalance: (address, contract, block) =>
      pool.agree(
        (node) => pool.ask(node, balanceQuestion(address, contract, block)),
        String,
        "balance",
      ),
    hasCode: async (address) => {
      const code = await pool.agree(
        (node) => pool.ask(node, codeQuestion(address, "latest")),
        (one) => String(one !== "0x"),
        "code of an address",
      );
      return code !== "0x";
    },
    agreedCall: (to, data) =>
      pool.agree(
        (node) => pool.ask(node, callQuestion(to, data, "latest")).catch(nullIfRefused),
        (answer) => `${answer}`,
        "answer of a contract",
      ),
    shownReceipt: async (txHash) => {
      const settled = await pool.all((node) => askReceipt(node, txHash));
      const whole = quorumAnswerOf(settled, pool.quorumMin, receiptKey).agreed;
      if (whole !== null) seen.put(whole);
      const placed = quorumAnswerOf(
        settled,
        pool.quorumMin,
        ({ blockNumber, blockHash }) => `${blockNumber} ${blockHash}`,
      );
      return { receipt: placed.agreed, isShown: placed.count > 0 };
    },
    usedNonces: async (address) => {
      const said = await askAll(pool, (node) =>
        pool.ask(node, accountTransactionCountQuestion(address, "latest")),
      );
      return said.map(({ value }) => value).reduce(larger, 0n);
    },
  };
}

/** The fee market by one node, where a tip alone may be missing. */
async function askMarket(pool: NodePool, node: PoolNode, feeModel: FeeModel, tips: TipWays) {
  const head = askHead(pool, node);
  const asked = [
    head,
    settlePromise(tips.ask(node, head)),
    askDataFee(pool, node, feeModel),
  ] as const;
  const [{ baseFeePerGas: base }, tip, data] = await Promise.all(asked);
  return { base, tip, data };
}

/**
 * The data fee from one node, 0 if the chain bills none. Before Isthmus there is no operator's fee.
 */
async function askDataFee(pool: NodePool, node: PoolNode, feeModel: FeeModel): Promise<bigint> {
  if (feeModel !== "op-stack") return 0n;
  const operatorFee = pool.ask(node, oracleQuestion(operatorFeeCall)).catch(nullIfRefused);
  const [dataFee, operators] = await Promise.all([
    pool.ask(node, oracleQuestion(dataFeeCall)),
    operatorFee,
  ]);
  return dataFee + (operators ?? 0n);
}

function nullIfRefused(error: unknown): null {
  if (error instanceof AgentError && error.code === "NODE_ERROR" && isRevert(error.message))
    return null;
  throw error;
}

type AnswersWithin = <T>(
  what: string,
  said: readonly NodeReading<T>[],
  figureOf: (value: T) => bigint,
  spread: Spread,
) => readonly T[];

async function estimateGas(
  pool: NodePool,
  call: GasCall,
  within: AnswersWithin,
): Promise<{ ok: true; gas: bigint } | Refusal> {
  const reasons: string[] = [];
  const said = await askAll(pool, async (node) => {
    try {
      return await pool.ask(node, gasQuestion(call));
    } catch (error) {
      if (!(error instanceof AgentError) || error.code !== "NODE_ERROR" || !isRevert(error.message))
        throw error;
      reasons.push(error.message);
      return null;
    }
  });
  const estimates = said.flatMap(({ node, value }) => (value === null ? [] : [{ node, value }]));
  if (reasons.length >= pool.quorumMin && estimates.length < pool.quorumMin) {
    return refuse("NODE_WOULD_REVERT", reasons[0]);
  }
  if (estimates.length < pool.quorumMin) throw disagreementFault("gas estimate", said.length);
  return {
    ok: true,
    gas: within("gas estimate", estimates, (gas) => gas, gasSpread).reduce(larger),
  };
}

/** Every node that is not resting. @throws the first fault when fewer than enough answered */
async function askAll<T>(
  pool: NodePool,
  job: (node: PoolNode) => Promise<T>,
): Promise<readonly NodeReading<T>[]> {
  const settled = await pool.all(async (node) => ({ node, value: await job(node) }));
  const said = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (said.length < pool.quorumMin) throw firstFault(settled);
  return said;
}

function largestGroup<T>(
  said: readonly NodeReading<T>[],
  figureOf: (value: T) => bigint,
  { times, slack }: Spread,
): readonly NodeReading<T>[] {
  const sorted = [...said].sort((a, b) => ascending(figureOf(a.value), figureOf(b.value)));
  let largest: readonly NodeReading<T>[] = [];
  for (const [at, one] of sorted.entries()) {
    const most = figureOf(one.value) * times + slack;
    const group = sorted.slice(at).filter((other) => figureOf(other.value) <= most);
    if (group.length >= largest.length) largest = group;
  }
  return largest;
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

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
export type LogFilter = LogBlocks & {
  readonly address: readonly string[];
  readonly topics: readonly (string | null)[];
};

export type LogBlocks =
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
  const askReceipt = createReceiptReader(pool, clock);
  const feeModel = options.feeModel ?? "ethereum";
  return {
    feeModel,
    status: pool.status,
    checkChain: pool.checkChain,
    close: pool.close,
    ...createFinalityReader(pool, options.confirmations, seen, askReceipt),
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
    sent: (address, block) => read(accountTransactionCountQuestion(address, hexOf(block))),
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
  const hand = async (node: PoolNode): Promise<BroadcastReply> => {
    const envelope = await pool.hand(node, {
      method: "eth_sendRawTransaction",
      params: [raw],
      ...options,
    });
    if (!envelope.ok) return { kind: "refused", words: envelope.message };
    return typeof envelope.result === "string" && envelope.result.toLowerCase() === txHash
      ? takenReply
      : otherIdReply;
  };
  return broadcastTo({ nodes: pool.nodes, refusals: broadcastRefusals, hand });
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
