/**
 * The questions of the gateway's watcher to the nodes of such a coin. Data that changes the state
 * of money (final blocks, coins, places and spends) needs the same answer of min(2, configured)
 * nodes, or bytes that an agreed hash proves. Data that only shows progress may come from one node.
 * Reaches the network only through node-wire.ts.
 */
import { AgentError, refuse } from "../../base/fault.ts";
import { type Result, resultOf } from "../../base/result.ts";
import type { FeeMarket, Payment } from "../family.ts";
import { mapWithLimit } from "../map-limit.ts";
import type {
  ArrivingPayment,
  ArrivingPayments,
  BlockId,
  DetectedPayment,
  Judgement,
  NodeLog,
  OutgoingTransaction,
  UnconfirmedTransaction,
  UnusableCoin,
  WantedPayment,
  WatchedBlock,
  WatcherNodes,
} from "../nodes.ts";
import { createAddressIndexes } from "../providers/address-index.ts";
import { idOf, slowNodeGraceMs } from "../providers/chain-blocks.ts";
import { firstFault } from "../providers/node-pool.ts";
import { resultsInWaves } from "../providers/results.ts";
import type { ServerAddress } from "../providers/server.ts";
import { addressOfScript, parseAddress } from "./address.ts";
import type { AddressTransaction } from "./answers.ts";
import type { ChainOutput } from "./chain-transaction.ts";
import {
  accountsByKeyHash,
  type FoundPayment,
  outgoingOf,
  outputsToWatched,
  paymentsIn,
  receiverOf,
  type ScriptOf,
  scriptKey,
} from "./found.ts";
import type { UtxoNetwork } from "./network.ts";
import { balanceAt } from "./node-balance.ts";
import {
  type BlockReader,
  createBlockReader,
  finalDepthOf,
  type NumberedBlock,
} from "./node-blocks.ts";
import {
  addressWithScriptOf,
  type CoinQuestion,
  checkSpendableCoins,
  findEmptyingCoins,
  requireBlock,
  rewardMaturityDepth,
} from "./node-coins.ts";
import { createHistoryReader, historyLimits } from "./node-history.ts";
import { createJudge } from "./node-judge.ts";
import { isCoinTransactionShown } from "./node-makers.ts";
import { createFeeMarket } from "./node-market.ts";
import {
  mempoolTransactionsQuestion,
  rewardQuestions,
  spentInMempoolQuestion,
  transactionCountQuestion,
} from "./node-questions.ts";
import {
  createKnownTransactions,
  createScriptReader,
  type KnownTransactions,
} from "./node-transactions.ts";
import { createPool, type NodePool, type PoolNode } from "./node-wire.ts";
import { dustOf, sizeOf } from "./size.ts";
import { changesMax } from "./tx-params.ts";

/*
 * Transactions of an account in the mempools of nodes. Any node's word counts, and none proves that
 * there are no others: nodes forget, and bytes can wait elsewhere. Touches nodes only through
 * node-wire.ts.
 */

/** @throws NODE_* if too few nodes answer, or if one shows fewer spent coins than it counts */
async function unconfirmedOf(
  pool: NodePool,
  account: string,
  network: UtxoNetwork,
): Promise<readonly UnconfirmedTransaction[]> {
  const { script } = addressWithScriptOf(account, network);
  const settled = await pool.all(
    (node) => outgoingBy(pool, node, { account, script, network }),
    slowNodeGraceMs,
  );
  const shown = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (shown.length < pool.quorumMin) throw firstFault(settled);
  return [...new Map(shown.flat().map((one) => [one.txHash, one])).values()];
}

interface AccountScript {
  readonly account: string;
  readonly script: string; // hex
  readonly network: UtxoNetwork;
}

async function outgoingBy(
  pool: NodePool,
  node: PoolNode,
  asked: AccountScript,
): Promise<readonly UnconfirmedTransaction[]> {
  const { account, script, network } = asked;
  const list = await pool.ask(node, mempoolTransactionsQuestion(account));
  const mine = list.map((one) => ({
    ...one,
    own: one.inputs.filter((input) => input.script === script),
  }));
  const own = mine.filter((one) => one.own.length > 0 && one.place === null);
  if (list.length >= historyLimits.pool) {
    // Anybody can fill the list with payments to the account, so the node's own count decides.
    const counted = await pool.ask(node, spentInMempoolQuestion(account));
    const listed = own.reduce((sum, one) => sum + one.own.length, 0);
    if (listed < counted) {
      const context = { node: node.rpc.origin, listed, counted };
      throw new AgentError(
        "NODE_ANSWER_SIZE",
        "none",
        "the node's list of the mempool is cut off",
        context,
      );
    }
  }
  return own.map(({ txHash, outputs }) => {
    const made = outputs.map(({ units, script: hex }) => ({
      units,
      script: Buffer.from(hex, "hex"),
    }));
    return { account, txHash, tag: "", contract: "", ...receiverOf(account, made, network) };
  });
}

/*
 * Payments by the first transaction of a block, the miner's reward. The chain takes its coins only
 * after 100 blocks, and a reorganisation before that makes them worthless. So such an output counts
 * as a payment of the block in which a transaction may first spend it, 100 blocks later, and
 * nothing shows it before. Blocks that were read in this run are kept by their first transaction;
 * for an earlier one, enough nodes name the transaction. Touches nodes only through node-wire.ts.
 */

interface Reward {
  readonly txHash: string;
  readonly outputs: readonly ChainOutput[];
}

interface Rewards {
  /** Keeps the first transaction of an agreed block. */
  keep(block: NumberedBlock): void;
  /** The reward that transactions may spend from this agreed block on; null before there is one. */
  due(number: number): Promise<Reward | null>;
}

/** Somewhat more blocks than a reward waits. */
const keptMax = 2 * rewardMaturityDepth;

function createRewards(
  pool: NodePool,
  blocks: BlockReader,
  transactions: KnownTransactions,
): Rewards {
  const kept = new Map<number, Reward>();

  async function ask(number: number): Promise<Reward> {
    const hash = await blocks.agreedHash(number);
    const txHash = await pool.agree(
      (node) => pool.askEither(node, rewardQuestions, hash),
      String,
      `reward of block ${number}`,
    );
    const transaction = await transactions.get(txHash);
    if (transaction?.isReward === true) return transaction;
    throw new AgentError(
      "NODE_ANSWER",
      "none",
      `the first transaction of block ${number} is no reward`,
    );
  }

  return {
    keep: ({ number, transactions: [first] }) => {
      if (first === undefined) return;
      // The scripts are views of the whole block.
      const outputs = first.outputs.map(({ units, script }) => ({
        units,
        script: Uint8Array.from(script),
      }));
      kept.delete(number);
      kept.set(number, { txHash: first.txHash, outputs });
      const oldest = kept.keys().next();
      if (kept.size > keptMax && oldest.done !== true) kept.delete(oldest.value);
    },
    due: async (number) => {
      const made = number - rewardMaturityDepth;
      return made < 0 ? null : (kept.get(made) ?? ask(made));
    },
  };
}

/*
 * Payments to an address in the mempools of nodes. Any node's word shows one, and none proves that
 * a payment will be in a block: this is for people who wait, never for credit. Touches nodes only
 * through node-wire.ts.
 */

/**
 * `satPerKvBMin`: a lower rate makes a payment unsure; null if no rate is known, and then each one
 * is; asked for only if something arrives. @throws NODE_* if no node answers
 */
async function arrivingAt(
  pool: NodePool,
  address: string,
  network: UtxoNetwork,
  satPerKvBMin: () => Promise<bigint | null>,
): Promise<ArrivingPayments> {
  const { script } = addressWithScriptOf(address, network);
  const settled = await pool.all(
    (node) => pool.ask(node, mempoolTransactionsQuestion(address)),
    slowNodeGraceMs,
  );
  const lists = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (lists.length === 0) throw firstFault(settled);
  const isAny = lists.some((list) =>
    list.some((one) => one.place === null && unitsTo(one, script) > 0n),
  );
  const least = isAny ? await satPerKvBMin() : null;
  const shown = new Map<string, ArrivingPayment[]>();
  for (const list of lists)
    for (const one of list) {
      const units = unitsTo(one, script);
      if (one.place !== null || units === 0n) continue;
      const isSure = least !== null && one.satPerKvB !== null && one.satPerKvB >= least;
      const { txHash, isReplaceable } = one;
      shown.set(txHash, [...(shown.get(txHash) ?? []), { txHash, units, isReplaceable, isSure }]);
    }
  const isWhole =
    lists.length === settled.length && lists.every((list) => list.length < historyLimits.pool);
  return { isWhole, payments: [...shown.values()].map((words) => joined(words, pool.quorumMin)) };
}

/** Several nodes' words on one payment: the least of what they say. */
function joined(words: readonly ArrivingPayment[], quorumMin: number): ArrivingPayment {
  const [least] = [...words].sort(
    (a, b) => Number(a.units > b.units) - Number(a.units < b.units),
  ) as [ArrivingPayment];
  return {
    ...least,
    isReplaceable: words.some(({ isReplaceable }) => isReplaceable),
    isSure: words.length >= quorumMin && words.every(({ isSure }) => isSure),
  };
}

function unitsTo({ outputs }: AddressTransaction, script: string): bigint {
  return outputs.reduce((sum, one) => (one.script === script ? sum + one.units : sum), 0n);
}

export interface WatcherOptions {
  readonly urls: readonly ServerAddress[];
  readonly network: UtxoNetwork;
  readonly confirmations: number | "finalized"; // blocks from a final one to the head, itself counted
  readonly log: NodeLog;
  readonly clock?: () => number; // milliseconds, never running back
  readonly timeoutMs?: number; // time limit of one exchange, default 30000: a block has megabytes
  readonly patienceMs?: number; // time limit of one question to a provider at its quota, default 60000
}

/**
 * The interface for the watcher. `judge` uses the coin that all attempts spend, where it is given.
 */
export type UtxoWatcher = Omit<WatcherNodes, "pass"> & {
  pass(final: BlockId): {
    judge(payment: Payment, txHashes: readonly string[], pin?: string): Promise<Judgement>;
  };
};

/** P2WPKH of a hash that is no key's. */
const nobodyScript = Uint8Array.of(0, 20, ...Array.from({ length: 20 }, () => 0x77));
const timeoutMsDefault = 30_000;
const patienceMsDefault = 60_000;
/** Accounts that are asked for at the same time, two questions each; a node's queue holds more. */
const accountsAtOnce = 16;
/** Coins of a usual payment, and room for a market that rises until it is signed and replaced. */
const usualCoins = 2;
/** A payment at this part of the market's rate is usually in a block within half a day. */
const surePart = 4n;
const costRoom = { numerator: 3n, denominator: 2n } as const;

/** Opens no connection before the first question. @throws NODE_URL */
export function createUtxoWatcher(options: WatcherOptions): UtxoWatcher {
  const { urls, network, log, clock = () => performance.now() } = options;
  const timeoutMs = options.timeoutMs ?? timeoutMsDefault;
  const pool = createPool({
    urls,
    network,
    timeoutMs,
    patienceMs: options.patienceMs ?? patienceMsDefault,
    log,
    clock,
  });
  const confirmations = finalDepthOf(options.confirmations);
  const blocks = createBlockReader(pool, confirmations);
  const transactions = createKnownTransactions(pool);
  const scriptOf = createScriptReader(transactions);
  const rewards = createRewards(pool, blocks, transactions);
  const feeMarketNow = createFeeMarket(pool, network, clock);
  const unusable = createUnusable();
  const histories = createHistoryReader(pool);
  const tools = {
    pool,
    blocks,
    transactions,
    histories,
    network,
    feeMarketNow,
    keepUnusable: unusable.keep,
    explained: new Map(),
  };
  const indexOf = createAddressIndexes((address) => keyOf(address, network));
  return {
    nobody: addressOfScript(nobodyScript, network) ?? "",
    status: pool.status,
    close: pool.close,
    tip: async () => idOf(await blocks.head()),
    finalTip: () => blocks.finalHead(),
    block: async (number, isAgreed) =>
      watched(await (isAgreed ? blocks.agreedBlock(number) : blocks.block(number))),
    timestamp: async (number) => Math.floor((await blocks.headAt(number)).timestampMs / 1000),
    tellsNewestBalances: true,
    highestHead: () => blocks.highestHead(),
    balance: async (account, _, block) => balanceAt(tools, account, block),
    balances: (questions, block) =>
      resultsInWaves(questions, accountsAtOnce, ({ account }) => balanceAt(tools, account, block)),
    wereUsed: (accounts, block) =>
      resultsInWaves(accounts, accountsAtOnce, (account) => wasUsed(pool, account, block)),
    decimals: async () => {
      throw new AgentError("NODE_ERROR", "none", "the chain has no tokens");
    },
    payments: async (some, contracts, addresses, isAgreed) => {
      // A block's bytes are proven by its hash, so no single transaction of it is unread.
      if (addresses.size === 0 || !contracts.includes("")) return { found: [], unread: [] };
      const { find } = await indexOf(addresses);
      const found = await mapWithLimit(some, 1, async (one) => {
        const { transactions: all } = contentOf(one);
        // The first transaction of a block is its reward, which waits for its own block.
        const direct = (
          await mapWithLimit(all.slice(1), 1, (each) => paymentsIn(each, find, scriptOf))
        ).flat();
        if (!isAgreed) return detected(one, direct);
        rewards.keep(contentOf(one));
        const due = await rewards.due(one.number);
        return detected(one, [...direct, ...(due === null ? [] : outputsToWatched(due, find))]);
      });
      return { found: found.flat(), unread: [] };
    },
    outgoing: async (some, accounts) => {
      const keys = accountsByKeyHash(accounts);
      return {
        found: (
          await mapWithLimit(some, 1, (one) => outgoingIn(one, keys, network, scriptOf))
        ).flat(),
        unread: [],
      };
    },
    unconfirmed: (account) => unconfirmedOf(pool, account, network),
    arriving: (addresses) => {
      let asked: Promise<Result<FeeMarket>> | null = null;
      // Most addresses have nothing under way, and then no rate is asked for.
      const least = async (): Promise<bigint | null> => {
        asked ??= resultOf(feeMarketNow);
        const rate = await asked;
        return rate.ok ? (rate.value.satPerKvB ?? 0n) / surePart : null;
      };
      return resultsInWaves(addresses, accountsAtOnce, (address) =>
        arrivingAt(pool, address, network, least),
      );
    },
    // A transaction that fails is in no block.
    hasFailed: async () => false,
    cost: (account, payment) => costOf(tools, account, payment),
    unusableCoins: unusable.of,
    isCoinShown: (coin) => isCoinTransactionShown(pool, coin),
    sightedCoins: async (account, coins) => {
      const { number: final } = await blocks.finalHead();
      return checkSpendableCoins(tools, account, coins, { final, head: final + confirmations - 1 });
    },
    // A foreign transaction shows by the coins that it spends, which `judge` compares.
    judgeOutgoing: async () => ({ kind: "waiting" }),
    pass: (final) => ({ judge: createJudge(tools, final) }),
  };
}

/** Accounts whose unusable coins are kept; an outsider has to pay a miner for each. */
const unusableMax = 4_096;

function createUnusable() {
  const kept = new Map<string, readonly UnusableCoin[]>();
  return {
    of: (account: string): readonly UnusableCoin[] => kept.get(account) ?? [],
    keep(account: string, coins: readonly UnusableCoin[]): void {
      kept.delete(account);
      if (coins.length > 0 && kept.size < unusableMax) kept.set(account, coins);
    },
  };
}

function watched(content: NumberedBlock): WatchedBlock {
  const { number, hash, parentHash } = content;
  return { number, hash, parentHash, content };
}

function contentOf({ content }: WatchedBlock): NumberedBlock {
  return content as NumberedBlock;
}

/** The script of an address as the key of an index; a text that is none is never found. */
function keyOf(address: string, network: UtxoNetwork): string {
  const parsed = parseAddress(address, network);
  return parsed.ok ? scriptKey(parsed.script) : `no script of ${address}`;
}

function detected(
  { number: block, hash: blockHash }: WatchedBlock,
  found: readonly FoundPayment[],
): readonly DetectedPayment[] {
  return found.map((one) => ({ ...one, contract: "", block, blockHash }));
}

async function outgoingIn(
  one: WatchedBlock,
  keys: ReadonlyMap<string, string>,
  network: UtxoNetwork,
  scriptOf: ScriptOf,
): Promise<readonly OutgoingTransaction[]> {
  const found = await outgoingOf(contentOf(one).transactions, keys, network, scriptOf);
  return found.map(({ outpoints, ...spend }) => ({
    ...spend,
    slot: "",
    block: one.number,
    tag: "",
    contract: "",
    content: outpoints,
  }));
}

/** True if a transaction in a block names the account, as sender or receiver. */
function wasUsed(pool: NodePool, account: string, block: number): Promise<boolean> {
  const ask = async (node: PoolNode): Promise<boolean> => {
    await requireBlock(pool, node, block);
    return (await pool.ask(node, transactionCountQuestion(account))) > 0;
  };
  return pool.agree(ask, String, `account ${account}`);
}

async function costOf(
  question: CoinQuestion & { readonly feeMarketNow: () => Promise<FeeMarket> },
  account: string,
  { destination, amountUnits, isFeeInside = false }: WantedPayment,
): ReturnType<WatcherNodes["cost"]> {
  const { network } = question;
  const parsed = parseAddress(destination, network);
  if (!parsed.ok) return refuse("NODE_WOULD_REVERT", parsed.detail ?? parsed.code);
  if (amountUnits < dustOf(parsed.script, network))
    return refuse("NODE_WOULD_REVERT", "nodes forward no output as small");
  const { satPerKvB = 0n } = await question.feeMarketNow();
  // A sweep spends the coins of its address, as many as fit, and each has its own part of the fee.
  const {
    count,
    units: mostUnits,
    unusable,
  } = await findEmptyingCoins(question, account, { units: amountUnits, satPerKvB });
  const size = isFeeInside
    ? sizeOf(Math.max(1, count), parsed.script.length, 0)
    : sizeOf(usualCoins, parsed.script.length, changesMax);
  const feeUnits = (size * satPerKvB * costRoom.numerator) / (1000n * costRoom.denominator) + 1n;
  if (account === "") return { ok: true, feeUnits };
  return { ok: true, feeUnits, mostUnits, ...(unusable.length === 0 ? {} : { unusable }) };
}
