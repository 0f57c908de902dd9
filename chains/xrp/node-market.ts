/**
 * The fee that payments offer now, from the answers of several nodes. Touches nodes only through
 * node-wire.ts. Source: the ledger's documentation of the transaction cost and of `fee`.
 */
import { slowNodeGraceMs } from "../providers/chain-blocks.ts";
import { createAgreedFeeRates, middleOf } from "../providers/market.ts";
import { feeQuestion } from "./node-questions.ts";
import type { NodePool } from "./node-wire.ts";

/** No market has asked for more for long: a tenth of an XRP. A higher offer is an operator's. */
const feeDropsMax = 100_000n;

/**
 * Drops that put a transaction into the open ledger. The middle of the nodes' figures, of two the
 * lower one, because a node that lies could raise it; a replacement can follow a low one.
 */
export function createFeeDrops(pool: NodePool, clock: () => number): () => Promise<bigint> {
  const price = createAgreedFeeRates({ quorumMin: pool.quorumMin, clock });
  return async () => {
    const settled = await pool.all(async (node) => {
      const { baseDrops, openDrops } = await pool.ask(node, feeQuestion);
      const isOpenHigher = openDrops > baseDrops;
      return isOpenHigher ? openDrops : baseDrops;
    }, slowNodeGraceMs);
    const middle = middleOf(price.figures(settled), "lower");
    const capped = middle > feeDropsMax ? feeDropsMax : middle;
    return capped > 0n ? capped : 1n;
  };
}
