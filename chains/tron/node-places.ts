/**
 * The blocks of transactions in the newest chain of one node. The receipt of a first transaction
 * names a block, whose list of ids tells which of the others it has. Touches nodes only through
 * node-wire.ts.
 */
import { AgentError } from "../../base/fault.ts";
import { type BatchedQuestion, createTurnBatcher } from "../providers/by-turn.ts";
import { receiptQuestion } from "./node-receipts.ts";
import type { NodePool, PoolNode } from "./node-wire.ts";

/** The part of a block that shows where a transaction is. */
export interface BlockIds {
  readonly hash: string;
  readonly parentHash: string;
  readonly ids: ReadonlySet<string>;
}

/** The block that a node shows for a transaction; null for none. */
export interface ShownPlace {
  readonly node: PoolNode;
  readonly block: number | null;
}

/** So many transactions without a block end the search by lists: the others are asked for alone. */
const absentMax = 3;

/**
 * The number of the block by one node, or null; of those that are asked for in one turn of the
 * event loop. `idsOf` is asked for the same block by the caller, who proves the place by it.
 */
export function createTransactionPlaceFinder(
  pool: NodePool,
  idsOf: (node: PoolNode, number: number) => Promise<BlockIds>,
): (node: PoolNode, txHash: string) => Promise<number | null> {
  const alone = async (node: PoolNode, txHash: string): Promise<number | null> =>
    (await pool.ask(node, receiptQuestion("/wallet", txHash)))?.block ?? null;

  async function answer(
    node: PoolNode,
    waiting: readonly BatchedQuestion<number | null>[],
  ): Promise<void> {
    let left = waiting;
    for (let absent = 0; left.length > 1 && absent < absentMax; ) {
      const [first, ...others] = left as [
        BatchedQuestion<number | null>,
        ...BatchedQuestion<number | null>[],
      ];
      const asked = alone(node, first.txHash);
      first.resolve(asked);
      left = others;
      const number = await asked.catch(nullIfFault);
      const ids = number === null ? null : await idsOf(node, number).catch(nullIfFault);
      if (number === null || ids === null) absent += 1;
      else {
        for (const one of others) if (ids.ids.has(one.txHash)) one.resolve(number);
        left = others.filter(({ txHash }) => !ids.ids.has(txHash));
      }
    }
    for (const { txHash, resolve } of left) resolve(alone(node, txHash));
  }

  return createTurnBatcher(answer);
}

function nullIfFault(fault: unknown): null {
  if (fault instanceof AgentError) return null;
  throw fault;
}
