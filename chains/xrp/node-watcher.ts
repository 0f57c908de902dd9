/**
 * The questions of the gateway's watcher to nodes of the XRP Ledger. Data that changes the state of
 * money (final ledgers, an account's transactions, balances) needs the same answer of min(2,
 * configured) nodes. Data that only shows progress may come from one node. Payments are found by
 * account, because a ledger has many transactions and few of them are ours. Reaches the network
 * only through node-wire.ts.
 */
import { AgentError } from "../../base/fault.ts";
import { resultOf } from "../../base/result.ts";
import { mapWithLimit } from "../map-limit.ts";
import type {
  BlockFinds,
  DetectedPayment,
  NodeLog,
  OutgoingTransaction,
  WatchedAddresses,
  WatchedBlock,
  WatcherNodes,
} from "../nodes.ts";
import { idOf } from "../providers/chain-blocks.ts";
import { resultsInWaves } from "../providers/results.ts";
import type { ServerAddress } from "../providers/server.ts";
import { joinFinds } from "../providers/unread.ts";
import { decodeXAddress } from "./address.ts";
import {
  agreedAccount,
  askAgreedBalance,
  askComputeLimit,
  askNextSlot,
  askSlotCounts,
  spendableDrops,
} from "./node-accounts.ts";
import type { LedgerHead, LedgerTransaction } from "./node-answers.ts";
import { createBeginningFinder } from "./node-began.ts";
import { type AnchoredSpan, createHistoryReader, type HistoryReader } from "./node-history.ts";
import { createJudge, shownTransaction } from "./node-judge.ts";
import { createXrpLedgerReader, type XrpLedgerReader } from "./node-ledgers.ts";
import { createFeeDrops } from "./node-market.ts";
import { judgeSlotUser, receivedPaymentOf } from "./node-outcome.ts";
import { createPool, type NodePool } from "./node-wire.ts";

export interface WatcherOptions {
  readonly urls: readonly ServerAddress[];
  readonly networkId: number;
  readonly log: NodeLog;
  readonly clock?: () => number; // milliseconds, never running back
  readonly timeoutMs?: number; // time limit of one exchange, default 15000
  readonly patienceMs?: number; // time limit of one question to a provider at its quota, default 60000
}

/** The account of number 1, which is no key's. Source: the ledger's list of special addresses. */
const nobody = "rrrrrrrrrrrrrrrrrrrrBZbvji";
const timeoutMsDefault = 15_000;
const patienceMsDefault = 60_000;
/** Accounts that are asked for at the same time; a node's queue holds more. */
const accountsAtOnce = 16;
/** Room for two replacements of a payment, each a quarter higher, and for a market that rises. */
const costRoom = 2n;
/** Addresses that are split before other work has its turn. */
const splitAtOnce = 1_000;

/** Opens no connection before the first question. @throws NODE_URL */
export function createXrpWatcher({
  urls,
  networkId,
  log,
  timeoutMs,
  patienceMs,
  ...options
}: WatcherOptions): WatcherNodes {
  const { clock = () => performance.now() } = options;
  const limits = {
    timeoutMs: timeoutMs ?? timeoutMsDefault,
    patienceMs: patienceMs ?? patienceMsDefault,
  };
  const pool = createPool({ urls, networkId, ...limits, log, clock });
  const feeDropsNow = createFeeDrops(pool, clock);
  const ledgers = createXrpLedgerReader(pool, clock);
  const tools = {
    pool,
    history: createHistoryReader(pool, (account, ledger) =>
      askAgreedBalance(pool, account, ledger),
    ),
    users: new Map<string, LedgerTransaction>(),
    began: createBeginningFinder(pool, ledgers),
  };
  const accountsOf = createAccounts();
  const balance = async (account: string, block: number): Promise<bigint> =>
    isShared(account) ? 0n : spendableDrops(pool, account, block);
  return {
    nobody,
    status: pool.status,
    close: pool.close,
    tip: async () => idOf(await ledgers.head()),
    finalTip: async () => idOf(await ledgers.finalHead()),
    block: async (number, isAgreed) =>
      watched(await (isAgreed ? ledgers.agreedHead(number) : ledgers.headAt(number))),
    timestamp: (number) => timeOf(ledgers, number),
    balance: (account, _, block) => balance(account, block),
    balances: (questions, block) =>
      resultsInWaves(questions, accountsAtOnce, ({ account }) => balance(account, block)),
    wereUsed: (accounts, block) =>
      resultsInWaves(accounts, accountsAtOnce, async (account) =>
        isShared(account) ? false : (await agreedAccount(pool, account, block)) !== null,
      ),
    decimals: async () => {
      throw new AgentError("NODE_ERROR", "none", "no issued tokens are paid on this chain");
    },
    payments: async (blocks, contracts, addresses, isAgreed) => {
      if (blocks.length === 0 || addresses.size === 0 || !contracts.includes(""))
        return { found: [], unread: [] };
      const accounts = [...(await accountsOf(addresses))];
      return joinOfAccounts(accounts, (account) =>
        paymentsTo(tools.history, account, blocks, isAgreed),
      );
    },
    outgoing: async (blocks, accounts, isAgreed = true) => {
      if (blocks.length === 0) return { found: [], unread: [] };
      const ask = (account: string) => outgoingOf(tools.history, account, blocks, isAgreed);
      return joinOfAccounts([...accounts], ask);
    },
    paymentBy: (txHash, account) => paymentBy(pool, ledgers, { txHash, account }),
    hasFailed: async (txHash) =>
      (await shownTransaction(pool, txHash)).agreed?.result.startsWith("tec") === true,
    cost: async (account, payment) => {
      const [work, feeDrops] = await Promise.all([
        askComputeLimit(pool, ledgers, account, payment),
        feeDropsNow(),
      ]);
      return work.ok ? { ok: true, feeUnits: feeDrops * costRoom } : work;
    },
    judgeOutgoing: async (payment, outgoingTx) =>
      judgeSlotUser(payment, outgoingTx.content as LedgerTransaction),
    closed: (account) => askSlotCounts(pool, ledgers, account),
    nextSlot: (account) => askNextSlot(pool, ledgers, account),
    pass: (final, payouts = 1) => ({ judge: createJudge(tools, final, payouts) }),
  };
}

/** True for an X-address, which is only a name: its money is the account's. */
function isShared(address: string): boolean {
  return decodeXAddress(address) !== null;
}

/**
 * Most nodes keep only the newest ledgers, so the search for the ledger of a time meets forgotten
 * ones: they are older than all that is kept, and count as of 1970.
 */
async function timeOf(ledgers: XrpLedgerReader, number: number): Promise<number> {
  try {
    return Math.floor((await ledgers.headAt(number)).timestampMs / 1000);
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== "NODE_NO_BLOCK") throw error;
    if (await ledgers.isForgotten(number)) return 0;
    throw error;
  }
}

function watched({ number, hash, parentHash }: LedgerHead): WatchedBlock {
  return { number, hash, parentHash, content: null };
}

/** The accounts of a book, which only grows and returns its addresses in order of arrival. */
function createAccounts(): (book: WatchedAddresses) => Promise<ReadonlySet<string>> {
  const known = new WeakMap<WatchedAddresses, { readonly accounts: Set<string>; size: number }>();
  return async (book) => {
    const index = known.get(book) ?? { accounts: new Set<string>(), size: 0 };
    known.set(book, index);
    if (index.size === book.size) return index.accounts;
    if (book.size < index.size) {
      index.accounts.clear();
      index.size = 0;
    }
    const all = [...book.all()];
    for (const [at, address] of all.entries()) {
      if (at < index.size) continue;
      index.accounts.add(decodeXAddress(address)?.address ?? address);
      if (at % splitAtOnce === splitAtOnce - 1)
        await new Promise((resolve) => setImmediate(resolve));
    }
    index.size = all.length;
    return index.accounts;
  };
}

/** The lists of all accounts; one that cannot be had costs none of the others. */
async function joinOfAccounts<T>(
  accounts: readonly string[],
  ask: (account: string) => Promise<BlockFinds<T>>,
): Promise<BlockFinds<T>> {
  const told = await mapWithLimit(accounts, accountsAtOnce, (account) =>
    resultOf(() => ask(account)),
  );
  const missing = told.flatMap((one, at) =>
    one.ok ? [] : [{ account: accounts[at] as string, fault: one.fault }],
  );
  return { ...joinFinds(told.flatMap((one) => (one.ok ? [one.value] : []))), missing };
}

function spanOf(blocks: readonly WatchedBlock[]): AnchoredSpan {
  const [first, last] = [blocks[0] as WatchedBlock, blocks.at(-1) as WatchedBlock];
  return { from: first.number, to: last.number, hash: last.hash };
}

async function paymentsTo(
  history: HistoryReader,
  account: string,
  blocks: readonly WatchedBlock[],
  isAgreed: boolean,
): Promise<BlockFinds<DetectedPayment>> {
  const { found, unread } = await history.within(account, spanOf(blocks), isAgreed);
  const hashes = new Map(blocks.map(({ number, hash }) => [number, hash]));
  const payments = found.flatMap((transaction) => {
    const received = receivedPaymentOf(account, transaction);
    if (received === null) return [];
    const { txHash, ledger: block } = transaction;
    const { address, drops: amountUnits, index } = received;
    const blockHash = hashes.get(block) as string;
    return [{ txHash, index, address, contract: "", amountUnits, block, blockHash }];
  });
  return { found: payments, unread };
}

/**
 * By the transaction alone: it proves what a list of its account would, also where no node gives
 * the list.
 */
async function paymentBy(
  pool: NodePool,
  ledgers: XrpLedgerReader,
  { txHash, account }: { readonly txHash: string; readonly account: string },
): Promise<DetectedPayment | null> {
  const { agreed, shown } = await shownTransaction(pool, txHash);
  if (agreed === null && shown !== null)
    throw new AgentError(
      "NODE_DISAGREE",
      "none",
      "fewer nodes show the transaction than must agree on it",
      { txHash },
    );
  const received = agreed === null ? null : receivedPaymentOf(account, agreed);
  if (agreed === null || received === null) return null;
  const { ledger: block } = agreed;
  const final = await ledgers.finalHead();
  if (block > final.number)
    throw new AgentError(
      "NODE_NO_BLOCK",
      "none",
      `ledger ${block} is not final yet, only up to ${final.number}`,
      { block },
    );
  const { hash: blockHash } = await ledgers.agreedHead(block);
  const { address, drops: amountUnits, index } = received;
  return { txHash, index, address, contract: "", amountUnits, block, blockHash };
}

async function outgoingOf(
  history: HistoryReader,
  account: string,
  blocks: readonly WatchedBlock[],
  isAgreed: boolean,
): Promise<BlockFinds<OutgoingTransaction>> {
  const { found, unread } = await history.within(account, spanOf(blocks), isAgreed);
  const own = found.filter((transaction) => transaction.account === account);
  const sent = own.map((transaction) => ({
    account,
    slot: transaction.sequence,
    txHash: transaction.txHash,
    block: transaction.ledger,
    receiver: transaction.destination,
    tag: transaction.tag,
    contract: "",
    amountUnits: transaction.deliveredDrops ?? transaction.amountDrops ?? 0n,
    content: transaction,
  }));
  return { found: sent, unread };
}
