/**
 * The questions of the gateway's watcher to Tron's nodes. Data that changes the state of money
 * (solidified blocks and their receipts, balances, decimals) needs the same answer of min(2,
 * configured) nodes. Data that only shows progress may come from one node. Reaches the network only
 * through node-wire.ts.
 */
import { AgentError } from "../../base/fault.ts";
import { mapWithLimit } from "../map-limit.ts";
import type {
  BlockFinds,
  BlockId,
  DetectedPayment,
  Judgement,
  NodeLog,
  OutgoingTransaction,
  WantedPaymentFrom,
  WatchedBlock,
  WatcherNodes,
} from "../nodes.ts";
import { createAddressIndexes, type WatchedAddressIndex } from "../providers/address-index.ts";
import { idOf } from "../providers/chain-blocks.ts";
import { resultsInWaves } from "../providers/results.ts";
import type { ServerAddress } from "../providers/server.ts";
import { collectFinds, joinFinds } from "../providers/unread.ts";
import type { Block, BlockHead, BlockTransaction, Receipt } from "./answers.ts";
import { transfersOf } from "./events.ts";
import { feeMaxOf, firstOffer } from "./fees.ts";
import { agreedBalance } from "./node-balances.ts";
import { type BlockReader, createBlockReader, headQuestion } from "./node-blocks.ts";
import {
  accountQuestion,
  decimalsQuestion,
  hexOfAddress,
  tokenBalanceQuestion,
} from "./node-questions.ts";
import { askComputeLimit, askFeeMarket } from "./node-sender.ts";
import { createVoidFinder } from "./node-void.ts";
import { createPool, type NodePool, type PoolNode } from "./node-wire.ts";
import { type AttemptEvidence, judgePayout } from "./outcome.ts";
import { decodeTransferCall } from "./trc20.ts";

/*
 * The newest blocks as the watcher reads them, each the parent of the next: they show where
 * transactions are without a question for each. By one node's word, so for progress alone. Touches
 * nodes only through node-wire.ts.
 */

/** Blocks whose transactions are remembered: more than the chain takes until one is solidified. */
const keptMax = 32;
/** Blocks that are read at once to follow the head; below more of them the run begins again. */
const followMax = 8;
/**
 * A transaction that comes while the run goes on was signed within it, so the run alone shows it
 * for so many blocks. Then nodes are asked, and again after more: a late statement may name an old
 * one.
 */
const freshBlocks = 2;
const askedBlocks = 16;
/** A block so far above the agreed final one is no place: one node alone can name any number. */
const farBlocks = 64;
/** Transactions in no block of the run that are remembered. */
const waitingMax = 4096;

interface NewestBlocks {
  /** The newest head, from one node. */
  head(): Promise<BlockHead>;
  /** A block of the newest chain that one node has, as it was just read. @throws NODE_NO_BLOCK */
  block(number: number): Promise<Block>;
  /** Reads on to the newest head. A fault leaves the run as it was. */
  readOn(): Promise<void>;
  /**
   * The number of the block by any node's word, or null; `final`: the number of the agreed final
   * block. @throws a fault when too few answered
   */
  includedIn(txHash: string, final: number): Promise<number | null>;
}

interface NewestBlock {
  readonly number: number;
  readonly hash: string;
  readonly ids: ReadonlySet<string>;
}

export function createNewestBlockReader(blocks: BlockReader): NewestBlocks {
  const run: NewestBlock[] = [];
  /** The next head at which nodes are asked for a transaction; null: at each one. */
  const waiting = new Map<string, number | null>();
  /** Whole blocks below the newest head, for the next reader. */
  const whole = new Map<number, Block>();
  let newest: BlockHead | null = null;
  /** The run ends with the newest head; one node that shows odd heads may keep it from that. */
  let isReadOn = false;

  function beginAgain(): void {
    run.length = 0;
    waiting.clear();
  }

  function keep(block: Block): void {
    whole.set(block.number, block);
    run.push({
      number: block.number,
      hash: block.hash,
      ids: new Set(block.transactions.map(({ txHash }) => txHash)),
    });
    if (run.length > keptMax) run.shift();
  }

  /** The blocks up to the head, oldest first; null if one does not follow the one before. */
  async function follow(from: number, head: BlockHead): Promise<readonly Block[] | null> {
    const numbers = Array.from({ length: head.number - from + 1 }, (_, at) => from + at);
    const read = await Promise.all(numbers.map((number) => blocks.block(number)));
    const isLinked = read.every(({ hash }, at) => hash === (read[at + 1]?.parentHash ?? head.hash));
    return isLinked ? read : null;
  }

  async function readTo(head: BlockHead): Promise<void> {
    const top = run.at(-1);
    if (top?.hash === head.hash) return;
    const from = (top?.number ?? Number.NEGATIVE_INFINITY) + 1;
    const isNear = from <= head.number && head.number - from < followMax;
    const read = await follow(isNear ? from : head.number, head);
    if (read === null) return;
    if (!isNear || read[0]?.parentHash !== top?.hash) beginAgain();
    for (const block of read) keep(block);
  }

  /** True if the run would show the transaction. */
  function isAbsent(txHash: string, final: number): boolean {
    const top = run.at(-1);
    // A run that goes on no more shows nothing of what came since.
    if (top === undefined || !isReadOn || top.number <= final) return false;
    const known = waiting.get(txHash);
    if (known === undefined && waiting.size >= waitingMax) return false;
    const askedAt =
      known === undefined ? (run.length > freshBlocks ? top.number + freshBlocks : null) : known;
    if (known === undefined) waitUntil(txHash, askedAt);
    return askedAt !== null && top.number < askedAt;
  }

  function waitUntil(txHash: string, number: number | null): void {
    waiting.delete(txHash);
    waiting.set(txHash, number);
  }

  return {
    head: async () => {
      const head = await blocks.head();
      if (head.hash !== newest?.hash) whole.clear();
      newest = head;
      return head;
    },
    block: async (number) => whole.get(number) ?? blocks.block(number),
    readOn: async () => {
      const head = newest;
      if (head === null) return;
      try {
        await readTo(head);
      } catch (fault) {
        if (!(fault instanceof AgentError)) throw fault;
      }
      isReadOn = run.at(-1)?.hash === head.hash;
    },
    includedIn: async (txHash, final) => {
      const holder = run.find(({ ids }) => ids.has(txHash));
      if (holder !== undefined && holder.number <= final + farBlocks) {
        blocks.notePlace(txHash, holder.number);
        return holder.number;
      }
      if (holder === undefined && isAbsent(txHash, final)) return null;
      const top = run.at(-1)?.number;
      const shown = await blocks.shownReceipts(txHash, "/wallet");
      // The lowest, so that no single node holds a payout above the final block.
      const numbers = shown.flatMap(({ receipt }) => (receipt === null ? [] : [receipt.block]));
      const number = numbers.length === 0 ? null : Math.min(...numbers);
      if (number !== null) blocks.notePlace(txHash, number);
      else if (top !== undefined && waiting.get(txHash) !== null)
        waitUntil(txHash, top + askedBlocks);
      return number;
    },
  };
}

export interface WatcherOptions {
  readonly urls: readonly ServerAddress[];
  readonly chainId: string; // as readChainId spells it
  readonly log: NodeLog;
  readonly clock?: () => number; // milliseconds, never running back
  readonly timeoutMs?: number; // time limit of one exchange, default 15000
  readonly patienceMs?: number; // time limit of one question to a provider at its quota, default 60000
}

/** The interface for the watcher, with `findVoid`. */
export type TronWatcher = WatcherNodes & Required<Pick<WatcherNodes, "findVoid">>;

const nobody = "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb";
const timeoutMsDefault = 15_000;
const patienceMsDefault = 60_000;
const blocksAtOnce = 8;
/** Balances that are read at the same time, two questions each; a node's queue holds more. */
const balancesAtOnce = 32;
/** Index of a payment of coins by a transaction of its own. */
const nativeIndex = -1;
/** Index of coins that a contract sent, downwards: the first internal transfer is at -2. */
const internalIndex = -2;

/** Opens no connection before the first question. @throws NODE_URL */
export function createWatcher(options: WatcherOptions): TronWatcher {
  const { urls, chainId, log, clock = () => performance.now() } = options;
  const timeoutMs = options.timeoutMs ?? timeoutMsDefault;
  const pool = createPool({
    urls,
    chainId,
    timeoutMs,
    patienceMs: options.patienceMs ?? patienceMsDefault,
    log,
    clock,
  });
  const blocks = createBlockReader(pool, clock);
  const newest = createNewestBlockReader(blocks);
  const indexOf = createAddressIndexes(hexOfAddress);
  const findVoid = createVoidFinder(blocks, pool.quorumMin);
  return {
    nobody,
    status: pool.status,
    close: pool.close,
    tip: async () => idOf(await newest.head()),
    finalTip: async () => idOf(await blocks.solidHead()),
    block: async (number, isAgreed) =>
      watched(await (isAgreed ? blocks.solidBlock(number) : newest.block(number))),
    timestamp: async (number) => {
      const head = await pool.first((node) => pool.ask(node, headQuestion("/wallet", number)));
      return Math.floor((head?.timestampMs ?? 0) / 1000);
    },
    tellsNewestBalances: true,
    readsWholeBlocks: true,
    highestHead: () => blocks.highestHead(),
    balance: (account, contract, block) => balanceAt(pool, account, contract, block),
    balances: (questions, block) =>
      resultsInWaves(questions, balancesAtOnce, ({ account, contract }) =>
        balanceAt(pool, account, contract, block),
      ),
    wereUsed: (accounts, block) =>
      resultsInWaves(accounts, balancesAtOnce, async (account) => {
        const ask = async (node: PoolNode): Promise<boolean> => {
          await reached(pool, node, block);
          return (await pool.ask(node, accountQuestion("/walletsolidity", account))).exists;
        };
        return pool.agree(ask, String, `account ${account}`);
      }),
    decimals: (contract) =>
      pool.agree(
        (node) => pool.ask(node, decimalsQuestion("/walletsolidity", contract)),
        String,
        `decimals of ${contract}`,
      ),
    payments: async (some, contracts, addresses, isAgreed) => {
      if (addresses.size === 0) return { found: [], unread: [] };
      return paymentsIn({ blocks, log }, some, contracts, await indexOf(addresses), isAgreed);
    },
    outgoing: async (some, accounts) =>
      joinFinds(
        some.map((one) => blocks.read(contentOf(one), (block) => outgoingIn(block, accounts))),
      ),
    hasFailed: async (txHash) => (await blocks.solidReceipt(txHash))?.receipt.isDone === false,
    async cost(account, payment) {
      const [computeLimit, { feeMarket }] = await Promise.all([
        askComputeLimit(pool, account, payment),
        askFeeMarket(pool, blocks),
      ]);
      return computeLimit.ok
        ? {
            ok: true,
            feeUnits: feeMaxOf(firstOffer({ feeMarket, computeLimit: computeLimit.computeLimit })),
          }
        : computeLimit;
    },
    // No transaction excludes another, so a foreign one shows nothing about a payment.
    judgeOutgoing: async () => ({ kind: "waiting" }),
    pass: (final) => {
      let reading: Promise<void> | null = null;
      return {
        judge: async (payment, txHashes) => {
          reading ??= newest.readOn();
          await reading;
          return judge({ blocks, newest }, final, payment, txHashes);
        },
      };
    },
    findVoid: (_, attempts) => findVoid(attempts),
  };
}

function watched(content: Block): WatchedBlock {
  const { number, hash, parentHash } = content;
  return { number, hash, parentHash, content };
}

function contentOf({ content }: WatchedBlock): Block {
  return content as Block;
}

/**
 * Nodes give balances only of the newest solidified block. So the balance is of the given block or
 * a later one, from nodes that may stand at two different blocks.
 * @throws NODE_NO_BLOCK if a node has not reached the block
 */
function balanceAt(
  pool: NodePool,
  account: string,
  contract: string,
  block: number,
): Promise<bigint> {
  const ask = async (node: PoolNode): Promise<bigint> => {
    await reached(pool, node, block);
    if (contract !== "")
      return pool.ask(node, tokenBalanceQuestion("/walletsolidity", contract, account));
    return (await pool.ask(node, accountQuestion("/walletsolidity", account))).balanceSun;
  };
  return agreedBalance(pool, ask, `balance of ${account}`);
}

/** @throws AgentError NODE_NO_BLOCK */
async function reached(pool: NodePool, node: PoolNode, block: number): Promise<void> {
  const { number } = await pool.ask(node, headQuestion("/walletsolidity", null));
  if (number < block)
    throw new AgentError("NODE_NO_BLOCK", "none", "the node has not come so far", { number });
}

async function paymentsIn(
  { blocks, log }: { readonly blocks: BlockReader; readonly log: NodeLog },
  some: readonly WatchedBlock[],
  contracts: readonly string[],
  index: WatchedAddressIndex,
  isAgreed: boolean,
): Promise<BlockFinds<DetectedPayment>> {
  const tokens = contracts.filter((contract) => contract !== "");
  const hasCoins = contracts.includes("");
  const found = await mapWithLimit(some, blocksAtOnce, async (one) => {
    const block = contentOf(one);
    const coins = hasCoins
      ? blocks.read(block, (content) => coinsIn(content, index))
      : { found: [], unread: [] };
    if (!block.transactions.some(({ kind, isDone }) => kind === "call" && isDone)) return coins;
    const find = (receipts: readonly Receipt[]): ContractPayments => {
      const done = receipts.filter(({ isDone }) => isDone);
      const internal = hasCoins ? done.flatMap((each) => internalIn(block, each, index)) : [];
      return {
        payments: [...internal, ...done.flatMap((each) => tokensIn(block, each, tokens, index))],
        done,
      };
    };
    const called = isAgreed
      ? await blocks.solidFound(block, find, calledKey)
      : find(await blocks.receipts(block));
    if (isAgreed) for (const each of called.done) tellOthers(log, block, each, index);
    return { ...coins, found: [...coins.found, ...called.payments] };
  });
  return joinFinds(found);
}

/** Payments by calls of contracts, and their receipts. */
interface ContractPayments {
  readonly payments: readonly DetectedPayment[];
  readonly done: readonly Receipt[];
}

function calledKey({ payments }: ContractPayments): string {
  return JSON.stringify(
    payments.map((one) => [one.txHash, one.index, one.address, one.contract, `${one.amountUnits}`]),
  );
}

/** Coins by transactions of their own. A TRC-10 token does not count as coins, with any name. */
function coinsIn(
  { number: block, hash: blockHash, transactions }: Block,
  index: WatchedAddressIndex,
): BlockFinds<DetectedPayment> {
  const addressOf = ({ kind, isDone, receiverKey }: BlockTransaction): string | undefined =>
    kind === "coins" && isDone ? index.find(receiverKey) : undefined;
  const placeOf = (one: BlockTransaction) => ({
    txHash: one.txHash,
    block,
    account: addressOf(one) as string,
  });
  return collectFinds(
    transactions.filter((one) => addressOf(one) !== undefined),
    (one) => {
      const { txHash, account: address } = placeOf(one);
      return [
        {
          txHash,
          index: nativeIndex,
          address,
          contract: "",
          amountUnits: one.amountSun,
          block,
          blockHash,
        },
      ];
    },
    placeOf,
  );
}

/** Coins that contracts sent on. */
function internalIn(
  block: Block,
  { txHash, internal }: Receipt,
  index: WatchedAddressIndex,
): readonly DetectedPayment[] {
  return internal.flatMap(({ receiverKey, amountSun: amountUnits }, at) => {
    const address = index.find(receiverKey);
    if (address === undefined) return [];
    const payment = { txHash, index: internalIndex - at, address, contract: "", amountUnits };
    return [{ ...payment, block: block.number, blockHash: block.hash }];
  });
}

/** Entries to our addresses that do not count as payments. */
function tellOthers(
  log: NodeLog,
  { number: block }: Block,
  { txHash, others }: Receipt,
  index: WatchedAddressIndex,
): void {
  for (const { receiverKey, amountSun, note } of others) {
    const address = index.find(receiverKey);
    if (address !== undefined)
      log("entry-unknown", { block, txHash, address, amount: `${amountSun}`, message: note });
  }
}

function tokensIn(
  block: Block,
  receipt: Receipt,
  tokens: readonly string[],
  index: WatchedAddressIndex,
): readonly DetectedPayment[] {
  return tokens.flatMap((contract) =>
    transfersOf(contract, receipt).flatMap((transfer) => {
      const address = transfer === null ? undefined : index.find(transfer.toKey);
      // A transfer of zero is noise that others send to get attention.
      if (transfer === null || transfer.amountUnits === 0n || address === undefined) return [];
      const payment = {
        txHash: receipt.txHash,
        index: transfer.index,
        address,
        contract,
        amountUnits: transfer.amountUnits,
      };
      return [{ ...payment, block: block.number, blockHash: block.hash }];
    }),
  );
}

function outgoingIn(
  { number: block, transactions }: Block,
  accounts: ReadonlySet<string>,
): BlockFinds<OutgoingTransaction> {
  const keys = new Map([...accounts].map((account) => [hexOfAddress(account) as string, account]));
  const placeOf = ({ txHash, ownerKey }: BlockTransaction) => ({
    txHash,
    block,
    account: keys.get(ownerKey) as string,
  });
  return collectFinds(
    transactions.filter(({ ownerKey }) => keys.has(ownerKey)),
    (one) => [{ ...placeOf(one), account: one.owner, slot: "", ...paidBy(one), content: one }],
    placeOf,
  );
}

/**
 * The receiver that a transaction names. For a call that is no plain transfer, this is the contract
 * itself.
 */
function paidBy({
  kind,
  receiver,
  contract,
  data,
  amountSun,
}: BlockTransaction): Pick<OutgoingTransaction, "receiver" | "tag" | "contract" | "amountUnits"> {
  const call = kind === "call" ? decodeTransferCall(Buffer.from(data, "hex")) : null;
  if (call !== null)
    return { receiver: call.destination, tag: "", contract, amountUnits: call.amountUnits };
  return {
    receiver: kind === "call" ? contract : receiver,
    tag: "",
    contract: "",
    amountUnits: amountSun,
  };
}

async function judge(
  { blocks, newest }: { readonly blocks: BlockReader; readonly newest: NewestBlocks },
  final: BlockId,
  payment: WantedPaymentFrom,
  txHashes: readonly string[],
): Promise<Judgement> {
  const evidence = async (txHash: string): Promise<AttemptEvidence> => {
    const includedIn = await newest.includedIn(txHash, final.number);
    if (includedIn === null || includedIn > final.number)
      return { txHash, includedIn, final: null };
    return { txHash, includedIn, final: await blocks.solidReceipt(txHash) };
  };
  return judgePayout(payment, await Promise.all(txHashes.map(evidence)));
}
