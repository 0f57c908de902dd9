/**
 * The final coins of an account, as enough nodes list them. A coin that any of them shows as spent,
 * in its chain or its mempool, is left out. Amount and script are those of the transaction that
 * made the coin. Touches nodes only through node-pool.ts.
 */
import { AgentError } from "../../base/fault.ts";
import { inWaves } from "../map-limit.ts";
import type { ChainState } from "../nodes.ts";
import { firstFault } from "../providers/node-pool.ts";
import { parseAddress } from "./address.ts";
import type { UnspentOutput } from "./answers.ts";
import type { UtxoNetwork } from "./network.ts";
import { graceMs } from "./node-blocks.ts";
import type { NodePool, PoolNode } from "./node-pool.ts";
import { headQuestion, outspendQuestion, tipHash, unspentQuestion } from "./node-questions.ts";
import type { KnownTransaction, KnownTransactions } from "./node-transactions.ts";
import { coinsMax } from "./tx-params.ts";

type Coin = NonNullable<ChainState["coins"]>[number];

/** A coin with the transaction that made it. */
export type MadeCoin = Coin & { readonly block: number; readonly made: KnownTransaction };

export interface CoinQuestion {
  readonly pool: NodePool;
  readonly transactions: KnownTransactions;
  readonly network: UtxoNetwork;
}

/** Depth from which on the chain takes coins of a block's first transaction. */
export const rewardDepth = 100;
/** The same for coins out of Litecoin's extension. Source: Litecoin Core, PEGOUT_MATURITY. */
const extensionDepth = 6;
const questionsAtOnce = 8;
/** Coins that some nodes do not list, of which each is asked for alone. */
const doubtedMax = 64;

/** Coins in blocks up to `final`, which the chain takes at the head. */
export async function finalCoins(
  question: CoinQuestion,
  account: string,
  { final, head }: { readonly final: number; readonly head: number },
): Promise<readonly MadeCoin[]> {
  const { pool } = question;
  const ask = async (node: PoolNode): Promise<Listed> => ({ node, list: await pool.ask(node, unspentQuestion(account)) });
  const settled = await pool.all(ask, graceMs);
  const listed = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (listed.length < pool.quorumMin) throw listFault(firstFault(settled));
  const agreed = agreedOn(listed, pool.quorumMin).filter(({ place }) => place !== null && place.block <= final);
  const free = await unspentOn(pool, listed, agreed);
  return withMade(question, account, free, head);
}

/** The coins of one transaction that empties an account. */
export interface Emptying {
  readonly count: number; // at most coinsMax
  readonly units: bigint; // the sum of the largest of them
}

/**
 * The coins that one transaction can take out of an account, as far as blocks have them: by the
 * node that lists the most coins, and by the one whose largest have the lowest sum. None for no
 * account.
 */
export async function coinsAtOnce(pool: NodePool, account: string): Promise<Emptying> {
  if (account === "") return { count: 0, units: 0n };
  const settled = await pool.all((node) => pool.ask(node, unspentQuestion(account)), graceMs);
  const listed = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (listed.length < pool.quorumMin) throw listFault(firstFault(settled));
  const taken = listed.map((list) => largest(list.filter(({ place }) => place !== null)));
  const sums = taken.map((coins) => coins.reduce((sum, { units }) => sum + units, 0n));
  return {
    count: Math.max(...taken.map(({ length }) => length)),
    units: [...sums].sort((a, b) => (a < b ? -1 : 1))[0] ?? 0n,
  };
}

function largest(coins: readonly UnspentOutput[]): readonly UnspentOutput[] {
  return [...coins].sort((a, b) => (a.units < b.units ? 1 : -1)).slice(0, coinsMax);
}

/** @throws AgentError NODE_NO_BLOCK */
export async function reached(pool: NodePool, node: PoolNode, block: number): Promise<void> {
  const { number } = await pool.ask(node, headQuestion(await pool.ask(node, tipHash)));
  if (number < block) throw new AgentError("NODE_NO_BLOCK", "none", "the node has not come so far", { number });
}

interface Listed {
  readonly node: PoolNode;
  readonly list: readonly UnspentOutput[];
}

/** The outputs that so many nodes list alike, in the same block. */
function agreedOn(listed: readonly Listed[], quorum: number): readonly UnspentOutput[] {
  const votes = new Map<string, { readonly output: UnspentOutput; count: number }>();
  for (const output of listed.flatMap(({ list }) => list)) {
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
  listed: readonly Listed[],
  agreed: readonly UnspentOutput[],
): Promise<readonly UnspentOutput[]> {
  const shown = listed.map(({ node, list }) => ({ node, ids: new Set(list.map(({ id }) => id)) }));
  const doubts = agreed.map(({ id }) => shown.filter(({ ids }) => !ids.has(id)));
  let left = doubtedMax;
  const isSpent = await inWaves([...agreed.entries()], questionsAtOnce, async ([at, { id }]): Promise<boolean> => {
    const nodes = doubts[at] ?? [];
    if (nodes.length === 0) return false;
    left -= nodes.length;
    if (left < 0) return true;
    const found = await Promise.all(nodes.map(({ node }) => pool.ask(node, outspendQuestion(id)).catch(unanswered)));
    return found.some((spend) => spend !== null);
  });
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
export async function withMade(
  { transactions, network }: CoinQuestion,
  account: string,
  outputs: readonly UnspentOutput[],
  head: number,
): Promise<readonly MadeCoin[]> {
  const parsed = parseAddress(account, network);
  if (!parsed.ok) throw new AgentError(parsed.code, "none", parsed.detail ?? parsed.code);
  const found = await inWaves(outputs, questionsAtOnce, async ({ id, txHash, units, place }): Promise<MadeCoin | null> => {
    const made = await transactions.get(txHash);
    const output = made?.outputs[Number(id.slice(txHash.length + 1))];
    if (made === null || output === undefined) return null;
    const isOurs = output.units === units && Buffer.compare(output.script, parsed.script) === 0;
    const block = place?.block ?? head;
    const isDeep = place === null || head - block + 1 >= (made.isReward ? rewardDepth : made.isExtension ? extensionDepth : 0);
    return isOurs && isDeep ? { id, units, block, made } : null;
  });
  return found.filter((coin) => coin !== null);
}

/** Servers list no outputs at all above a limit of their operator. */
export function listFault(fault: AgentError): AgentError {
  if (fault.code !== "NODE_ERROR" || !/too many/i.test(fault.message)) return fault;
  const message = `${fault.message}: the node lists no coins of an address with so many (electrs: --utxos-limit)`;
  return new AgentError(fault.code, fault.effect, message, fault.context);
}
