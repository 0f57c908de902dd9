/**
 * Reads the tip that payments offer now from one node. Not every node answers the question for the
 * tip. From others the tip comes from the gas price, or from the rewards of the newest blocks, as
 * wallets do it. Source: Ethereum execution-apis (eth_maxPriorityFeePerGas, eth_gasPrice,
 * eth_feeHistory); reported at ethereum/go-ethereum #23479, ethers-io/ethers.js #4490,
 * floating/frame #659.
 */
import { AgentError } from "../../base/fault.ts";
import { type BlockHead, readQuantity } from "./answers.ts";
import type { NodePool, PoolNode, Question } from "./node-pool.ts";
import { askHead, gasPriceQuestion, tipQuestion } from "./node-questions.ts";

/**
 * Number of blocks whose rewards are asked for, and the percentile of a block's transactions that
 * gives its reward.
 */
const historyBlocks = 10;
const historyPercentile = 50;
/** The rewards of the blocks with transactions, wei per gas. An empty block is left out. */
const historyQuestion: Question<readonly bigint[]> = {
  method: "eth_feeHistory",
  params: [`0x${historyBlocks.toString(16)}`, "latest", [historyPercentile]],
  read: readRewards,
};

/** A node that refuses a question by a status or with an odd answer does not support it either. */
const lackingCodes: ReadonlySet<string> = new Set(["NODE_ERROR", "NODE_HTTP", "NODE_ANSWER"]);
/** After this number of tips by another way, the node is asked for the tip itself again. */
const plainAgainAfter = 64;

type Way = (pool: NodePool, node: PoolNode, head: Promise<BlockHead>) => Promise<bigint>;

const byPrice: Way = async (pool, node, head) => {
  const [gasPrice, { baseFeePerGas }] = await Promise.all([pool.ask(node, gasPriceQuestion), head]);
  if (gasPrice > baseFeePerGas) return gasPrice - baseFeePerGas;
  // A gas price without a tip in it is only the base fee.
  try {
    return await byHistory(pool, node, head);
  } catch (error) {
    if (isLacking(error)) return 0n;
    throw error;
  }
};
const byHistory: Way = async (pool, node) => middleOf(await pool.ask(node, historyQuestion));
const ways: readonly Way[] = [(pool, node) => pool.ask(node, tipQuestion), byPrice, byHistory];

/**
 * Remembers the way by which each node answers, so an unsupported question is not asked every time.
 */
export class Tips {
  readonly #taken = new Map<PoolNode, { readonly way: number; times: number }>();

  /**
   * Wei per gas, from one node. `head` is its newest block.
   * @throws AgentError the fault of the plain question if the node answers in no other way
   */
  async ask(pool: NodePool, node: PoolNode, head: Promise<BlockHead>): Promise<bigint> {
    const taken = this.#taken.get(node);
    const isKnown = taken !== undefined && taken.times < plainAgainAfter;
    const first = isKnown ? taken.way : 0;
    let fault: unknown = null;
    for (const way of [first, ...ways.keys()].filter((one, at) => at === 0 || one !== first)) {
      try {
        const tip = await (ways[way] as Way)(pool, node, head);
        this.#keep(node, way, isKnown && way === first);
        return tip;
      } catch (error) {
        if (!isLacking(error)) throw error;
        fault ??= error;
      }
    }
    this.#taken.delete(node);
    throw fault;
  }

  #keep(node: PoolNode, way: number, isSame: boolean): void {
    const times = isSame ? (this.#taken.get(node)?.times ?? 0) + 1 : 1;
    if (way === 0) this.#taken.delete(node);
    else this.#taken.set(node, { way, times });
  }
}

/** True if the node gives a tip in any way other than the plain question. Rejects only for bugs. */
export async function hasOtherTip(pool: NodePool, node: PoolNode): Promise<boolean> {
  for (const way of ways.slice(1)) {
    try {
      await way(pool, node, askHead(pool, node));
      return true;
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
    }
  }
  return false;
}

function isLacking(error: unknown): boolean {
  return error instanceof AgentError && lackingCodes.has(error.code);
}

function readRewards(result: unknown): readonly bigint[] {
  const { reward, gasUsedRatio } = (result ?? {}) as { readonly reward?: unknown; readonly gasUsedRatio?: unknown };
  if (!Array.isArray(reward)) throw new AgentError("NODE_ANSWER", "none", "the node's history of fees has no rewards");
  const ratios: readonly unknown[] = Array.isArray(gasUsedRatio) ? gasUsedRatio : [];
  const inUse = (reward as readonly unknown[]).slice(0, historyBlocks).filter((_, at) => ratios[at] !== 0);
  return inUse.map((one) => readQuantity(Array.isArray(one) ? one[0] : one, "reward"));
}

/** The median; the lower of two middle values, 0 for an empty list. */
function middleOf(values: readonly bigint[]): bigint {
  const sorted = [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0n;
}
