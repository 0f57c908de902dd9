/**
 * The final coins of an account, as enough nodes list them. A coin that any of them shows as spent,
 * in its chain or its mempool, is left out. Amount and script are those of the transaction that
 * made the coin. A node that refuses the list shows the coins by the account's history. Touches
 * nodes only through node-wire.ts.
 */
import { AgentError } from "../../base/fault.ts";
import { mapWithLimit } from "../map-limit.ts";
import type { ChainState, UnusableCoin } from "../nodes.ts";
import { slowNodeGraceMs } from "../providers/chain-blocks.ts";
import { firstFault } from "../providers/node-pool.ts";
import { parseAddress } from "./address.ts";
import type { UnspentOutput } from "./answers.ts";
import { feeOfInput, fittingCoins } from "./fees.ts";
import type { UtxoNetwork } from "./network.ts";
import { type AddressWithScript, type HistoryReader, historyLimits } from "./node-history.ts";
import {
  headQuestion,
  mempoolTransactionsQuestion,
  outspendQuestions,
  tipHashQuestion,
  unspentQuestion,
} from "./node-questions.ts";
import {
  type KnownTransaction,
  type KnownTransactions,
  unusableCoinsOf,
} from "./node-transactions.ts";
import type { NodePool, PoolNode } from "./node-wire.ts";

type Coin = NonNullable<ChainState["coins"]>[number];

/** A coin with the transaction that made it. */
export type MadeCoin = Coin & { readonly block: number; readonly made: KnownTransaction };

/** The coins of an account at a block after which no block had named it, and its counters then. */
export interface CoinsAtBlock {
  readonly block: number;
  readonly counters: string;
  readonly coins: readonly UnspentOutput[];
}

export interface CoinQuestion {
  readonly pool: NodePool;
  readonly transactions: KnownTransactions;
  readonly histories: HistoryReader;
  readonly network: UtxoNetwork;
  /** The balances that the totals of an address explained, by node and account. */
  readonly explained?: Map<string, CoinsAtBlock>;
  /** Hears the coins of a balance that no payment can spend. */
  readonly keepUnusable?: (account: string, coins: readonly UnusableCoin[]) => void;
}

/** Depth from which on the chain takes coins of a block's first transaction. */
export const rewardMaturityDepth = 100;
/** The same for coins out of Litecoin's extension. Source: Litecoin Core, PEGOUT_MATURITY. */
const extensionDepth = 6;
const questionsAtOnce = 8;
/** Coins that some nodes do not list, of which each is asked for alone. */
const doubtedMax = 64;
/** Choices of coins in one question, each without the unusable ones of those before. */
const refitsMax = 4;
/** So many of the largest coins are offered, and of the smallest ones that are worth a fee. */
const offeredMost = { largest: 400, smallest: 100 } as const;

/** Coins in blocks up to `final`, which the chain takes at the head: of many, the useful ones. */
export async function finalCoins(
  question: CoinQuestion,
  account: string,
  {
    final,
    head,
    satPerKvB,
  }: { readonly final: number; readonly head: number; readonly satPerKvB: bigint },
): Promise<readonly MadeCoin[]> {
  const { pool } = question;
  const shown = await shownBy(question, account);
  const agreed = agreedOn(shown, pool.quorumMin).filter(
    ({ place }) => place !== null && place.block <= final,
  );
  const free = await unspentOn(pool, shown, largestFirst(agreed));
  return provenCoinsOf(question, account, offeredOf(free, satPerKvB), head);
}

/** Says for each coin of an account if a payment can spend it: by the rules of `finalCoins`. */
export async function checkSpendableCoins(
  question: CoinQuestion,
  account: string,
  coins: readonly Coin[],
  { final, head }: { readonly final: number; readonly head: number },
): Promise<readonly boolean[]> {
  const { pool } = question;
  const nameOf = ({ id, units }: Coin): string => `${id} ${units}`;
  const wanted = new Set(coins.map(nameOf));
  const shown = await shownBy(question, account);
  const agreed = agreedOn(shown, pool.quorumMin).filter(
    ({ place }) => place !== null && place.block <= final,
  );
  const free = await unspentOn(
    pool,
    shown,
    agreed.filter((coin) => wanted.has(nameOf(coin))),
  );
  const made = new Set((await provenCoinsOf(question, account, free, head)).map(nameOf));
  return coins.map((coin) => made.has(nameOf(coin)));
}

function offeredOf(free: readonly UnspentOutput[], satPerKvB: bigint): readonly UnspentOutput[] {
  const { largest, smallest } = offeredMost;
  if (free.length <= largest + smallest) return free;
  const fee = feeOfInput(satPerKvB);
  const small = free.slice(largest).filter(({ units }) => units > fee);
  return [...free.slice(0, largest), ...small.slice(-smallest)];
}

/** The coins of one transaction that empties an account. */
export interface EmptyingCoins {
  readonly count: number; // at most coinsPerTransactionMax
  readonly units: bigint; // their sum
  readonly unusable: readonly UnusableCoin[]; // beside them
}

/**
 * The coins that one transaction takes out of an account, as far as blocks have them, of at most
 * `units` together: the largest ones that are worth more than their fetching and whose
 * transactions can be proven. By the node that lists the most such coins, and by the one where they
 * have the lowest sum. None for no account.
 */
export async function findEmptyingCoins(
  question: CoinQuestion,
  account: string,
  { units: most, satPerKvB }: { readonly units: bigint; readonly satPerKvB: bigint },
): Promise<EmptyingCoins> {
  if (account === "") return { count: 0, units: 0n, unusable: [] };
  const shown = await shownBy(question, account);
  const fee = feeOfInput(satPerKvB);
  const isWorth = ({ place, units }: UnspentOutput): boolean => place !== null && units > fee;
  const unusable = new Map<string, UnusableCoin>();
  const takenNow = () =>
    shown.map(({ list }) =>
      fittingCoins(
        list.filter((one) => isWorth(one) && !unusable.has(one.id)),
        most,
      ),
    );
  let taken = takenNow();
  for (let tries = 0; tries < refitsMax; tries += 1) {
    const before = unusable.size;
    for (const coin of await largeAmong(question, taken.flat())) unusable.set(coin.id, coin);
    if (unusable.size === before) break;
    taken = takenNow();
  }
  const sums = taken.map((coins) => coins.reduce((sum, { units }) => sum + units, 0n));
  return {
    count: Math.max(...taken.map(({ length }) => length)),
    units: [...sums].sort((a, b) => (a < b ? -1 : 1))[0] ?? 0n,
    unusable: [...unusable.values()],
  };
}

/** Those of these coins that no payment can spend, because of the transactions that made them. */
async function largeAmong(
  { transactions }: CoinQuestion,
  coins: readonly Coin[],
): Promise<readonly UnusableCoin[]> {
  const distinct = [...new Map(coins.map((coin) => [coin.id, coin])).values()];
  const found = await mapWithLimit(distinct, questionsAtOnce, async ({ id, units }) => {
    const made = await transactions.get(id.split(":")[0] ?? "");
    return made === null ? [] : unusableCoinsOf([{ id, units, made }]);
  });
  return found.flat();
}

function largestFirst(coins: readonly UnspentOutput[]): readonly UnspentOutput[] {
  return [...coins].sort((a, b) =>
    a.units === b.units ? (a.id < b.id ? -1 : 1) : a.units < b.units ? 1 : -1,
  );
}

/** @throws the code of `parseAddress` */
export function addressWithScriptOf(account: string, network: UtxoNetwork): AddressWithScript {
  const parsed = parseAddress(account, network);
  if (!parsed.ok) throw new AgentError(parsed.code, "none", parsed.detail ?? parsed.code);
  return { account, script: Buffer.from(parsed.script).toString("hex") };
}

/** @throws AgentError NODE_NO_BLOCK */
export async function requireBlock(pool: NodePool, node: PoolNode, block: number): Promise<void> {
  const { number } = await pool.ask(node, headQuestion(await pool.ask(node, tipHashQuestion)));
  if (number < block)
    throw new AgentError("NODE_NO_BLOCK", "none", "the node has not come so far", { number });
}

interface NodeCoins {
  readonly node: PoolNode;
  readonly list: readonly UnspentOutput[];
  /** The node may hide transactions that no block has, so any coin may be spent. */
  readonly isDoubtful: boolean;
}

/** The coins by each node that answers. @throws a fault if too few do */
async function shownBy(question: CoinQuestion, account: string): Promise<readonly NodeCoins[]> {
  const { pool } = question;
  const settled = await pool.all((node) => shownByNode(question, node, account), slowNodeGraceMs);
  const shown = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (shown.length < pool.quorumMin) throw firstFault(settled);
  return shown;
}

async function shownByNode(
  { pool, histories, network }: CoinQuestion,
  node: PoolNode,
  account: string,
): Promise<NodeCoins> {
  const list = await listCoins(pool, node, account);
  if (list !== null) return { node, list, isDoubtful: false };
  const { unspent } = await histories.read(
    node,
    addressWithScriptOf(account, network),
    Number.MAX_SAFE_INTEGER,
  );
  const waiting = await pool.ask(node, mempoolTransactionsQuestion(account));
  const spent = new Set(waiting.flatMap(({ inputs }) => inputs.map(({ id }) => id)));
  const isDoubtful = waiting.length >= historyLimits.pool;
  return { node, list: unspent.filter(({ id }) => !spent.has(id)), isDoubtful };
}

/**
 * The node's list of unspent coins; null if there are too many to be listed, or to be read, and if
 * one stands there twice, as after a reorganisation (bcoin-org/bcoin #499): the pages of its
 * transactions then say which of the two is true.
 */
export async function listCoins(
  pool: NodePool,
  node: PoolNode,
  account: string,
): Promise<readonly UnspentOutput[] | null> {
  try {
    const list = await pool.ask(node, unspentQuestion(account));
    return new Set(list.map(({ id }) => id)).size === list.length ? list : null;
  } catch (error) {
    // A server of one's own may list more than is read.
    if (error instanceof AgentError && error.code === "NODE_ANSWER_SIZE") return null;
    if (
      error instanceof AgentError &&
      error.code === "NODE_ERROR" &&
      /too many/i.test(error.message)
    )
      return null;
    throw error;
  }
}

/** The outputs that so many nodes list alike, in the same block. */
function agreedOn(shown: readonly NodeCoins[], quorum: number): readonly UnspentOutput[] {
  const votes = new Map<string, { readonly output: UnspentOutput; count: number }>();
  for (const output of shown.flatMap(({ list }) => list)) {
    const vote = votes.get(keyOf(output)) ?? { output, count: 0 };
    vote.count += 1;
    votes.set(keyOf(output), vote);
  }
  return [...votes.values()].filter(({ count }) => count >= quorum).map(({ output }) => output);
}

function keyOf({ id, units, place }: UnspentOutput): string {
  return `${id} ${units} ${place?.block ?? ""} ${place?.blockHash ?? ""}`;
}

/**
 * A node that does not list a coin has seen its spend, or is too far behind to know the coin. The
 * node itself says which; without an answer the coin waits.
 */
async function unspentOn(
  pool: NodePool,
  shown: readonly NodeCoins[],
  agreed: readonly UnspentOutput[],
): Promise<readonly UnspentOutput[]> {
  const views = shown.map(({ list, ...view }) => ({
    ...view,
    ids: new Set(list.map(({ id }) => id)),
  }));
  const doubts = agreed.map(({ id }) =>
    views.filter(({ ids, isDoubtful }) => isDoubtful || !ids.has(id)),
  );
  let left = doubtedMax;
  const isSpent = await mapWithLimit(
    [...agreed.entries()],
    questionsAtOnce,
    async ([at, { id }]): Promise<boolean> => {
      const nodes = doubts[at] ?? [];
      if (nodes.length === 0) return false;
      left -= nodes.length;
      if (left < 0) return true;
      const found = await Promise.all(
        nodes.map(({ node }) => pool.askEither(node, outspendQuestions, id).catch(unanswered)),
      );
      return found.some((spend) => spend !== null);
    },
  );
  return agreed.filter((_, at) => !isSpent[at]);
}

function unanswered(error: unknown): "unanswered" {
  if (error instanceof AgentError) return "unanswered";
  throw error;
}

/**
 * The coins that are the account's by the transactions that made them, and deep enough. A coin
 * without a block was spent by a later one, so the chain takes it.
 */
export async function provenCoinsOf(
  { transactions, network }: CoinQuestion,
  account: string,
  outputs: readonly UnspentOutput[],
  head: number,
): Promise<readonly MadeCoin[]> {
  const { script } = addressWithScriptOf(account, network);
  const found = await mapWithLimit(
    outputs,
    questionsAtOnce,
    async ({ id, txHash, units, place }): Promise<MadeCoin | null> => {
      const made = await transactions.get(txHash);
      const output = made?.outputs[Number(id.slice(txHash.length + 1))];
      if (made === null || output === undefined) return null;
      const isOurs =
        output.units === units && Buffer.from(output.script).toString("hex") === script;
      const block = place?.block ?? head;
      const isDeep =
        place === null ||
        head - block + 1 >=
          (made.isReward ? rewardMaturityDepth : made.isExtension ? extensionDepth : 0);
      return isOurs && isDeep ? { id, units, block, made } : null;
    },
  );
  return found.filter((coin) => coin !== null);
}
