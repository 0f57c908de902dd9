/**
 * Payments by the first transaction of a block, the miner's reward. The chain takes its coins only
 * after 100 blocks, and a reorganisation before that makes them worthless. So such an output counts
 * as a payment of the block in which a transaction may first spend it, 100 blocks later, and
 * nothing shows it before. Blocks that were read in this run are kept by their first transaction;
 * for an earlier one, enough nodes name the transaction. Touches nodes only through node-wire.ts.
 */
import { AgentError } from "../../base/fault.ts";
import type { ChainOutput } from "./chain-transaction.ts";
import type { Blocks, NumberedBlock } from "./node-blocks.ts";
import { rewardDepth } from "./node-coins.ts";
import { rewardQuestions } from "./node-questions.ts";
import type { KnownTransactions } from "./node-transactions.ts";
import type { NodePool } from "./node-wire.ts";

export interface Reward {
  readonly txHash: string;
  readonly outputs: readonly ChainOutput[];
}

export interface Rewards {
  /** Keeps the first transaction of an agreed block. */
  keep(block: NumberedBlock): void;
  /** The reward that transactions may spend from this agreed block on; null before there is one. */
  due(number: number): Promise<Reward | null>;
}

/** Somewhat more blocks than a reward waits. */
const keptMax = 2 * rewardDepth;

export function createRewards(
  pool: NodePool,
  blocks: Blocks,
  transactions: KnownTransactions,
): Rewards {
  const kept = new Map<number, Reward>();

  async function ask(number: number): Promise<Reward> {
    const hash = await blocks.agreedHash(number);
    const txHash = await pool.agree(
      (node) => pool.askEither(node, rewardQuestions, hash),
      String,
      `reward of block ${number}`,
    );
    const transaction = await transactions.get(txHash);
    if (transaction?.isReward === true) return transaction;
    throw new AgentError(
      "NODE_ANSWER",
      "none",
      `the first transaction of block ${number} is no reward`,
    );
  }

  return {
    keep: ({ number, transactions: [first] }) => {
      if (first === undefined) return;
      // The scripts are views of the whole block.
      const outputs = first.outputs.map(({ units, script }) => ({
        units,
        script: Uint8Array.from(script),
      }));
      kept.delete(number);
      kept.set(number, { txHash: first.txHash, outputs });
      const oldest = kept.keys().next();
      if (kept.size > keptMax && oldest.done !== true) kept.delete(oldest.value);
    },
    due: async (number) => {
      const made = number - rewardDepth;
      return made < 0 ? null : (kept.get(made) ?? ask(made));
    },
  };
}
