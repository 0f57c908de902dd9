/**
 * The balance of an account at the end of a block. Nodes list only coins that are unspent now, so
 * those that later transactions spent are added from the account's history: a payment on its way
 * changes no balance before it is final. Both are held against the node's own totals of the
 * address, since a list may leave something out: what they do not explain is asked for again, and
 * then by other pages. Where a node lists no coins, or hides transactions that no block has, its
 * history by blocks alone counts, which has to make the totals too. Touches nodes only through
 * node-wire.ts. Source: XRPLF/clio #1389 (a transaction left out at the border of a page).
 */
import { AgentError } from "../../base/fault.ts";
import type { UnusableCoin } from "../nodes.ts";
import type { AddressTransaction, UnspentOutput } from "./answers.ts";
import {
  addressWithScriptOf,
  type CoinQuestion,
  type CoinsAtBlock,
  listCoins,
  provenCoinsOf,
  requireBlock,
} from "./node-coins.ts";
import { type AddressWithScript, historyLimits } from "./node-history.ts";
import {
  addressTotalsQuestion,
  historyQuestion,
  newestTransactionsQuestion,
} from "./node-questions.ts";
import { unusableCoinsOf } from "./node-transactions.ts";
import type { NodePool, PoolNode } from "./node-wire.ts";

const triesMax = 4;
/** A node's lists and totals, read one after the other; then its history is read. */
const listTriesMax = 2;
/** Balances that are remembered; the oldest gives way. */
const explainedMax = 2_048;
/** Pages of transactions since the block beside a list; more of them are the history's. */
const pagesMax = 40;
/** An account with more coins has only those proven that the chain may not take yet. */
const provenMax = 500;
/** No coin has to be deeper than this before the chain takes it. */
const youngBlocks = 100;

/**
 * The agreed sum of an account's coins at the end of `block`, but those that no transaction may
 * spend yet.
 * @throws NODE_NO_BLOCK if a node has not reached the block, NODE_ERROR if the block is too long
 * ago, NODE_LIST_SHORT if a node's lists do not make its totals
 */
export async function balanceAt(
  question: CoinQuestion,
  account: string,
  block: number,
): Promise<bigint> {
  const { pool, histories, network } = question;
  const address = addressWithScriptOf(account, network);
  const { script } = address;
  const ask = async (node: PoolNode): Promise<AccountCoins> => {
    await requireBlock(pool, node, block);
    const key = `${pool.nodes.indexOf(node)} ${account}`;
    const known = question.explained?.get(key);
    const unchanged = known === undefined || known.block > block ? null : known;
    // Nothing has come or gone since, so the coins are those of then.
    const before = unchanged === null ? null : await pool.ask(node, addressTotalsQuestion(account));
    if (unchanged !== null && before?.counters === unchanged.counters)
      return { coins: unchanged.coins, partial: null };
    for (let tries = 1; tries <= listTriesMax; tries += 1) {
      // In this order, a coin that is spent between the two answers stands in both.
      const unspent = await listCoins(pool, node, account);
      const later = unspent === null ? null : await transactionsAfter(pool, node, address, block);
      if (unspent === null || later === null) break;
      const coins = listCoinsAtBlockEnd({ unspent, later, block, script });
      const { units, counters } = await pool.ask(node, addressTotalsQuestion(account));
      // A block between the answers is in one of them alone.
      if (sumNow(coins, later, script) !== units) continue;
      if (later.every(({ place }) => place === null))
        keepExplained(question, key, { block, counters, coins });
      return { coins, partial: null };
    }
    const history = await histories.read(node, address, block);
    const later = history.later.filter(({ place }) => (place?.block ?? 0) > block);
    const coins = listCoinsAtBlockEnd({ unspent: history.unspent, later, block, script });
    if (history.partialOf === null) return { coins, partial: null };
    // The totals have every coin, whatever was read of them.
    return { coins, partial: history.partialOf.units - sumNow([], later, script) };
  };
  for (let tries = 1; ; tries += 1) {
    try {
      const keyOf = ({ coins, partial }: AccountCoins): string =>
        partial === null
          ? coins.map(({ id, units }) => `${id} ${units}`).join()
          : `in all ${partial}`;
      const held = await pool.agree(ask, keyOf, `coins of ${account}`);
      if (held.partial === null) return await sumOf(question, account, held.coins, block);
      question.keepUnusable?.(account, unreadOf(held.coins, held.partial));
      return held.partial;
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      // A block reaches one node between its two answers.
      if (tries === triesMax || error.code !== "NODE_DISAGREE") throw error;
    }
  }
}

/** The coins of an account by one node; `partial` is the whole balance where they are not all. */
interface AccountCoins {
  readonly coins: readonly UnspentOutput[];
  readonly partial: bigint | null;
}

/** The part of a balance that lies in coins beyond those that are read. */
function unreadOf(coins: readonly UnspentOutput[], whole: bigint): readonly UnusableCoin[] {
  const units = whole - coins.reduce((sum, coin) => sum + coin.units, 0n);
  const words = "the account has more coins than are read: the others are small, or older";
  return units <= 0n ? [] : [{ id: "of many", units, words }];
}

async function sumOf(
  question: CoinQuestion,
  account: string,
  list: readonly UnspentOutput[],
  block: number,
): Promise<bigint> {
  const isYoung = ({ place }: UnspentOutput): boolean =>
    place !== null && place.block > block - youngBlocks;
  const isProven = (one: UnspentOutput): boolean => list.length <= provenMax || isYoung(one);
  const proven = await provenCoinsOf(question, account, list.filter(isProven), block);
  const agreed = list.filter((one) => !isProven(one));
  question.keepUnusable?.(account, unusableCoinsOf(proven));
  return [...proven, ...agreed].reduce((sum, { units }) => sum + units, 0n);
}

interface AccountReading {
  readonly unspent: readonly UnspentOutput[];
  readonly later: readonly AddressTransaction[];
  readonly block: number;
  readonly script: string; // of the account, hex
}

function keepExplained({ explained }: CoinQuestion, key: string, one: CoinsAtBlock): void {
  explained?.delete(key);
  if (one.coins.length > provenMax) return;
  explained?.set(key, one);
  const oldest = explained?.keys().next();
  if (oldest !== undefined && !oldest.done && (explained?.size ?? 0) > explainedMax)
    explained?.delete(oldest.value);
}

/** The units that blocks have given the address by now: the coins, and the later changes. */
function sumNow(
  coins: readonly UnspentOutput[],
  later: readonly AddressTransaction[],
  script: string,
): bigint {
  const ownOf = (all: AddressTransaction["outputs"]): bigint =>
    all.reduce((sum, one) => (one.script === script ? sum + one.units : sum), 0n);
  const placed = later.filter(({ place }) => place !== null);
  const changes = placed.reduce(
    (sum, { inputs, outputs }) => sum + ownOf(outputs) - ownOf(inputs),
    0n,
  );
  return coins.reduce((sum, { units }) => sum + units, changes);
}

/**
 * The coins at the end of a block, by their ids; those that were spent since then have no place.
 */
export function listCoinsAtBlockEnd({
  unspent,
  later,
  block,
  script,
}: AccountReading): readonly UnspentOutput[] {
  const madeLater = new Set(later.map(({ txHash }) => txHash));
  const spent = later.flatMap(({ inputs }) =>
    inputs.filter((one) => one.script === script && !madeLater.has(one.txHash)),
  );
  const here = unspent.filter(({ place }) => place !== null && place.block <= block);
  const gone = spent.map(({ id, txHash, units }) => ({ id, txHash, units, place: null }));
  const coins = new Map([...gone, ...here].map((one) => [one.id, one]));
  return [...coins.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * The account's transactions above a block, and those that no block has. Null if the node does not
 * show them all: of those without a block it shows 50, or 50 together with the newest of blocks.
 */
async function transactionsAfter(
  pool: NodePool,
  node: PoolNode,
  { account }: AddressWithScript,
  block: number,
): Promise<readonly AddressTransaction[] | null> {
  const later: AddressTransaction[] = [];
  let page = await pool.ask(node, newestTransactionsQuestion(account));
  if (page.filter(({ place }) => place === null).length >= historyLimits.pool) return null;
  let isFull = page.length >= historyLimits.pool;
  for (let pages = 1; ; pages += 1) {
    later.push(...page.filter(({ place }) => place === null || place.block > block));
    const placed = page.filter(({ place }) => place !== null);
    const last = placed.at(-1);
    const isLast = placed.length < historyLimits.page && !isFull;
    if (last === undefined || isLast || (last.place?.block ?? 0) <= block) return later;
    if (pages === pagesMax) return null;
    page = await pool.ask(node, historyQuestion(account, last.txHash));
    isFull = false;
  }
}
