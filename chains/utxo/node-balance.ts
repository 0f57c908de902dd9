/**
 * The balance of an account at the end of a block. Nodes list only coins that are unspent now, so
 * those that later transactions spent are added from the account's history: a payment on its way
 * changes no balance before it is final. Touches nodes only through node-pool.ts.
 */
import { AgentError } from "../../base/fault.ts";
import { parseAddress } from "./address.ts";
import type { AddressTransaction, UnspentOutput } from "./answers.ts";
import { type CoinQuestion, listFault, reached, withMade } from "./node-coins.ts";
import type { NodePool, PoolNode } from "./node-pool.ts";
import { historyQuestion, unspentQuestion } from "./node-questions.ts";

const triesMax = 4;
/** Transactions of blocks on one page, as every server of this kind has it. */
const pageSize = 25;
/** More pages since the block mean that the block is long ago. */
const pagesMax = 40;

/**
 * The agreed sum of an account's coins at the end of `block`, but those that no transaction may
 * spend yet.
 * @throws NODE_NO_BLOCK if a node has not reached the block, NODE_ERROR if the block is too long
 * ago
 */
export async function balanceAt(question: CoinQuestion, account: string, block: number): Promise<bigint> {
  const { pool, network } = question;
  const parsed = parseAddress(account, network);
  if (!parsed.ok) throw new AgentError(parsed.code, "none", parsed.detail ?? parsed.code);
  const script = Buffer.from(parsed.script).toString("hex");
  const ask = async (node: PoolNode): Promise<readonly UnspentOutput[]> => {
    await reached(pool, node, block);
    // In this order, a coin that is spent between the two answers stands in both.
    const unspent = await pool.ask(node, unspentQuestion(account));
    const later = await transactionsAfter(pool, node, account, block);
    return coinsAt({ unspent, later, block, script });
  };
  for (let tries = 1; ; tries += 1) {
    try {
      const list = await pool.agree(ask, (all) => all.map(({ id, units }) => `${id} ${units}`).join(), `coins of ${account}`);
      const coins = await withMade(question, account, list, block);
      return coins.reduce((sum, { units }) => sum + units, 0n);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      // A block reaches one node between its two answers.
      if (tries === triesMax || error.code !== "NODE_DISAGREE") throw listFault(error);
    }
  }
}

interface Seen {
  readonly unspent: readonly UnspentOutput[];
  readonly later: readonly AddressTransaction[];
  readonly block: number;
  readonly script: string; // of the account, hex
}

/**
 * The coins at the end of a block, by their ids; those that were spent since then have no place.
 */
export function coinsAt({ unspent, later, block, script }: Seen): readonly UnspentOutput[] {
  const madeLater = new Set(later.map(({ txHash }) => txHash));
  const spent = later.flatMap(({ inputs }) => inputs.filter((one) => one.script === script && !madeLater.has(one.txHash)));
  const here = unspent.filter(({ place }) => place !== null && place.block <= block);
  const gone = spent.map(({ id, txHash, units }) => ({ id, txHash, units, place: null }));
  const coins = new Map([...gone, ...here].map((one) => [one.id, one]));
  return [...coins.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** The account's transactions above a block, and those that no block has. */
async function transactionsAfter(
  pool: NodePool,
  node: PoolNode,
  account: string,
  block: number,
): Promise<readonly AddressTransaction[]> {
  const later: AddressTransaction[] = [];
  let page = await pool.ask(node, historyQuestion(account));
  for (let pages = 1; ; pages += 1) {
    later.push(...page.filter(({ place }) => place === null || place.block > block));
    const placed = page.filter(({ place }) => place !== null);
    const last = placed.at(-1);
    const isDone = last === undefined || placed.length < pageSize || (last.place?.block ?? 0) <= block;
    if (isDone) return later;
    if (pages === pagesMax) {
      const message = `${account} has more than ${pagesMax * pageSize} transactions since block ${block}`;
      throw new AgentError("NODE_ERROR", "none", message, { node: node.rpc.origin });
    }
    page = await pool.ask(node, historyQuestion(account, last.txHash));
  }
}
