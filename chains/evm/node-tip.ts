/**
 * Reads the tip that payments offer now from one node. Not every node answers the question for the
 * tip. From others the tip comes from the gas price, or from the rewards of the newest blocks, as
 * wallets do it. Source: Ethereum execution-apis (eth_maxPriorityFeePerGas, eth_gasPrice,
 * eth_feeHistory); reported at ethereum/go-ethereum #23479, ethers-io/ethers.js #4490,
 * floating/frame #659.
 */
import { AgentError } from "../../base/fault.ts";
import { FigureWays, isUnsupportedQuestion, middleOf } from "../providers/market.ts";
import { type BlockHead, readQuantity } from "./answers.ts";
import { gasPriceQuestion, tipQuestion } from "./node-questions.ts";
import type { NodePool, PoolNode, Question } from "./node-wire.ts";

/**
 * Number of blocks whose rewards are asked for, and the percentile of a block's transactions that
 * gives its reward.
 */
const historyBlocks = 10;
const historyPercentile = 50;
/** The rewards of the blocks with transactions, wei per gas, rising. An empty block is left out. */
const historyQuestion: Question<readonly bigint[]> = {
  method: "eth_feeHistory",
  params: [`0x${historyBlocks.toString(16)}`, "latest", [historyPercentile]],
  read: readRewards,
};

/** Wei per gas, from one node, whose newest block is the context. */
export type TipWays = FigureWays<PoolNode, Promise<BlockHead>, bigint>;

/** Not every node answers the plain question; the others are wallets' ways. */
export function createTipWays(pool: NodePool): TipWays {
  const byHistory = async (node: PoolNode): Promise<bigint> =>
    middleOf(await pool.ask(node, historyQuestion), "lower");
  const byPrice = async (node: PoolNode, head: Promise<BlockHead>): Promise<bigint> => {
    const [gasPrice, { baseFeePerGas }] = await Promise.all([
      pool.ask(node, gasPriceQuestion),
      head,
    ]);
    if (gasPrice > baseFeePerGas) return gasPrice - baseFeePerGas;
    // A gas price without a tip in it is only the base fee.
    try {
      return await byHistory(node);
    } catch (error) {
      if (isUnsupportedQuestion(error)) return 0n;
      throw error;
    }
  };
  return new FigureWays([(node) => pool.ask(node, tipQuestion), byPrice, byHistory]);
}

function readRewards(result: unknown): readonly bigint[] {
  const { reward, gasUsedRatio } = (result ?? {}) as {
    readonly reward?: unknown;
    readonly gasUsedRatio?: unknown;
  };
  if (!Array.isArray(reward))
    throw new AgentError("NODE_ANSWER", "none", "the node's history of fees has no rewards");
  const ratios: readonly unknown[] = Array.isArray(gasUsedRatio) ? gasUsedRatio : [];
  const inUse = (reward as readonly unknown[])
    .slice(0, historyBlocks)
    .filter((_, at) => ratios[at] !== 0);
  return inUse
    .map((one) => readQuantity(Array.isArray(one) ? one[0] : one, "reward"))
    .sort((a, b) => (a < b ? -1 : 1));
}
