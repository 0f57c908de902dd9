/**
 * The rate that payments offer now, from the estimates of several nodes. Touches nodes only through
 * node-wire.ts. Sources: bob-collective/bob #364 (a test network's node estimates only for many
 * blocks); bitcoindevkit/bdk #1962 (mempool's server lacks /fee-estimates);
 * lightningdevkit/ldk-node #1028 (an empty estimate taken for the lowest).
 */
import type { FeeMarket } from "../family.ts";
import { slowNodeGraceMs } from "../providers/chain-blocks.ts";
import { createAgreedFeeRates, FigureWays, middleOf } from "../providers/market.ts";
import type { FeeRates } from "./answers.ts";
import type { UtxoNetwork } from "./network.ts";
import { ratesQuestion, recommendedQuestion } from "./node-questions.ts";
import type { NodePool, PoolNode } from "./node-wire.ts";
import { satPerByteMin } from "./size.ts";

/** Blocks within which a payment should be in the chain. */
const blocksWanted = 3;
/** A rate for more blocks says nothing of the next ones. */
const blocksMost = 12;
const satPerKvBMin = satPerByteMin * 1000n;

/** One node's rate for the wanted number of blocks, in sat for each 1,000 vB; null for none. */
export type RateWays = FigureWays<PoolNode, undefined, bigint>;

export function createRateWays(pool: NodePool): RateWays {
  return new FigureWays([
    async (node) => rateIn(await pool.ask(node, ratesQuestion)),
    (node) => pool.ask(node, recommendedQuestion),
  ]);
}

/**
 * The middle of the nodes' rates, in sat for each 1,000 vB: of two the lower one where a higher fee
 * can follow, else the higher one.
 */
export function createFeeMarket(
  pool: NodePool,
  network: UtxoNetwork,
  clock: () => number,
): () => Promise<FeeMarket> {
  const ways = createRateWays(pool);
  const price = createAgreedFeeRates({
    quorumMin: pool.quorumMin,
    clock,
    withoutEstimate: network.rateWithoutEstimate,
  });
  return async () => {
    const rates = price.figures(
      await pool.all((node) => ways.ask(node, undefined), slowNodeGraceMs),
    );
    const rate = middleOf(rates, network.isReplaced ? "lower" : "higher");
    const isTooLow = rate < satPerKvBMin;
    return { satPerKvB: isTooLow ? satPerKvBMin : rate };
  };
}

/**
 * The rate for the wanted number of blocks; without one, for the most blocks below, and else for
 * the fewest above, if those are few.
 */
function rateIn(rates: FeeRates): bigint | null {
  const targets = [...rates.keys()].filter((blocks) => blocks <= blocksMost);
  const target = targets.filter((blocks) => blocks <= blocksWanted).at(-1) ?? targets[0];
  return target === undefined ? null : (rates.get(target) ?? null);
}
