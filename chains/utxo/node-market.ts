/**
 * The rate that payments offer now, from the estimates of several nodes. Touches nodes only through
 * node-pool.ts. Sources: bob-collective/bob #364 (a test network's node estimates only for many
 * blocks); Blockstream/esplora #584 (no estimate below 1 sat for a virtual byte).
 */
import type { FeeMarket } from "../family.ts";
import { firstFault } from "../providers/node-pool.ts";
import type { Rates } from "./answers.ts";
import type { UtxoNetwork } from "./network.ts";
import { graceMs } from "./node-blocks.ts";
import type { NodePool } from "./node-pool.ts";
import { ratesQuestion } from "./node-questions.ts";
import { satPerByteMin } from "./size.ts";

/** Blocks within which a payment should be in the chain. */
const blocksWanted = 3;
const satPerKvBMin = satPerByteMin * 1000n;

/**
 * The middle of the nodes' rates, in sat for each 1,000 vB: of two the lower one where a higher fee
 * can follow, else the higher one.
 */
export async function feeMarketOf(pool: NodePool, { isReplaced }: UtxoNetwork): Promise<FeeMarket> {
  const settled = await pool.all((node) => pool.ask(node, ratesQuestion), graceMs);
  const answers = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (answers.length < pool.quorumMin) throw firstFault(settled);
  const rates = answers.flatMap((answer) => rateIn(answer) ?? []).sort((a, b) => (a < b ? -1 : 1));
  const middle = isReplaced ? Math.floor((rates.length - 1) / 2) : Math.floor(rates.length / 2);
  const rate = rates[middle] ?? 0n;
  const isTooLow = rate < satPerKvBMin;
  return { satPerKvB: isTooLow ? satPerKvBMin : rate };
}

/**
 * The rate for the wanted number of blocks; without one, for the most blocks below, and else for
 * the fewest above. Null if the node estimates nothing.
 */
function rateIn(rates: Rates): bigint | null {
  const targets = [...rates.keys()];
  const target = targets.filter((blocks) => blocks <= blocksWanted).at(-1) ?? targets[0];
  return target === undefined ? null : (rates.get(target) ?? null);
}
