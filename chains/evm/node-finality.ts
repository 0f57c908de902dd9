/**
 * Finds the final state of the chain, by agreement of min(2, configured) nodes: the final block,
 * slot counts of an account, and the receipt of a transaction in a block that is canonical at or
 * below the final one. With less agreement the answer is "not yet" or a fault.
 */
import { AgentError } from "../../base/fault.ts";
import type { BlockId, SlotCounts } from "../nodes.ts";
import {
  agreedValueOrNull,
  createChainBlocks,
  idOf,
  quorumAnswerOf,
} from "../providers/chain-blocks.ts";
import type { SettledAnswer } from "../providers/node-pool.ts";
import { type BlockHead, type BlockPlace, type Receipt, readBlockPlace } from "./answers.ts";
import type { AskReceipt } from "./node-block-receipts.ts";
import { accountTransactionCountQuestion, askHead } from "./node-questions.ts";
import type { NodePool, PoolNode } from "./node-wire.ts";
import type { Rpc } from "./rpc.ts";

const seenMax = 4_096;
const seenLogsMax = 4;

export interface FinalityReader {
  finalBlock(): Promise<BlockId>;
  finalReceipt(txHash: string): Promise<Receipt | null>;
  slotCounts(address: string): Promise<SlotCounts>;
}

/** Receipts that enough nodes recently showed alike to the last field. */
export interface SeenReceipts {
  get(txHash: string): Receipt | undefined;
  put(receipt: Receipt): void;
}

/**
 * A receipt with more logs than a payment has is not kept, nor one with a field that cannot be
 * read; the nodes are asked again.
 */
export function createSeenReceipts(): SeenReceipts {
  const byHash = new Map<string, Receipt>();
  return {
    get: (txHash) => byHash.get(txHash),
    put(receipt) {
      if (receipt.logs.length > seenLogsMax || !isRead(receipt)) return;
      byHash.delete(receipt.txHash);
      byHash.set(receipt.txHash, receipt);
      const oldest = byHash.keys().next();
      if (byHash.size > seenMax && !oldest.done) byHash.delete(oldest.value);
    },
  };
}

/** True if the cost and every log can be read. */
function isRead(receipt: Receipt): boolean {
  try {
    const { oddLogs = [] } = { ...receipt };
    return oddLogs.length === 0;
  } catch (fault) {
    if (fault instanceof AgentError) return false;
    throw fault;
  }
}

/**
 * Makes the interface. With `confirmations` N, the final block is head - N + 1 (genesis is always
 * final); "finalized" takes the final block of the chain itself.
 */
export function createFinalityReader(
  pool: NodePool,
  confirmations: number | "finalized",
  seen: SeenReceipts,
  askReceipt: AskReceipt,
): FinalityReader {
  const at = (node: PoolNode, tag: string, number: number | null): Promise<BlockPlace | null> =>
    pool.ask(node, {
      method: "eth_getBlockByNumber",
      params: [tag, false],
      ...(number === null ? {} : { block: number }),
      read: (result) => (result === null ? null : placeAt(readBlockPlace(result), number)),
    });

  const newest = async (node: PoolNode): Promise<BlockPlace> => {
    const final = await at(node, "finalized", null);
    if (final === null)
      throw new AgentError("NODE_NO_BLOCK", "none", "the node has no finalized block");
    return final;
  };

  const chain = createChainBlocks<Rpc, BlockHead, BlockPlace>(pool, {
    newest: (node) => askHead(pool, node),
    at: (node, number) => at(node, hexOf(number), number),
    final: confirmations === "finalized" ? newest : confirmations,
    timeOf: ({ timestamp }) => timestamp * 1000,
    keyOf: ({ number, hash }) => `${number} ${hash}`,
  });

  const finalBlock = async (): Promise<BlockId> => idOf(await chain.finalHead());
  const hashAt = async (number: number): Promise<string> => (await chain.agreedAt(number)).hash;

  /**
   * Says if the receipt's block is canonical and at or below the final one; "early" while the block
   * is above.
   */
  const standing = async ({
    blockNumber,
    blockHash,
  }: Receipt): Promise<"early" | "final" | "gone"> => {
    const final = await finalBlock();
    if (blockNumber > final.number) return "early";
    const canonical = blockNumber === final.number ? final.hash : await hashAt(blockNumber);
    return canonical === blockHash ? "final" : "gone";
  };

  return {
    finalBlock,
    finalReceipt: async (txHash) => {
      // A block's hash covers its receipts, so a receipt that enough nodes showed alike stays valid
      // while its block stands.
      const known = seen.get(txHash);
      if (known !== undefined && (await standing(known)) === "final") return known;
      const receipt = await agreedReceipt(pool, askReceipt, txHash);
      return receipt !== null && (await standing(receipt)) === "final" ? receipt : null;
    },
    slotCounts: async (address) => {
      const final = await finalBlock();
      const askAll = (node: PoolNode): Promise<bigint[]> =>
        Promise.all(
          ["latest", "pending", hexOf(final.number)].map((tag) =>
            pool.ask(node, accountTransactionCountQuestion(address, tag)),
          ),
        );
      const { quorumMin: quorum } = pool;
      try {
        const counts = await pool.agree(
          askAll,
          (all) => all.join(" "),
          "slot counts of the account",
        );
        const [latest, pending, atFinal] = counts as [bigint, bigint, bigint];
        return { latest, pending, final: atFinal, quorum, isSame: true };
      } catch (error) {
        if (!(error instanceof AgentError) || error.code !== "NODE_DISAGREE") throw error;
        return reached(await pool.all(askAll), quorum, error);
      }
    },
  };
}

/**
 * Heads and mempools differ between nodes for a while, but the final block does not. @throws the
 * fault if the final block differs
 */
function reached(
  settled: readonly SettledAnswer<bigint[]>[],
  quorum: number,
  fault: AgentError,
): SlotCounts {
  const told = settled.flatMap((one) => (one.ok ? [one.value as [bigint, bigint, bigint]] : []));
  const highest = (at: 0 | 1): bigint => {
    const sorted = told.map((all) => all[at]).sort((a, b) => (a < b ? 1 : -1));
    return sorted[quorum - 1] ?? 0n;
  };
  const same = told.find(
    ([, , final]) => told.filter((other) => other[2] === final).length >= quorum,
  );
  if (same === undefined) throw fault;
  return { latest: highest(0), pending: highest(1), final: same[2], quorum, isSame: false };
}

/**
 * Null while too few nodes have a receipt. @throws NODE_DISAGREE if enough have one and no two are
 * the same
 */
async function agreedReceipt(
  pool: NodePool,
  askReceipt: AskReceipt,
  txHash: string,
): Promise<Receipt | null> {
  const found = quorumAnswerOf(
    await pool.all((node) => askReceipt(node, txHash)),
    pool.quorumMin,
    receiptKey,
  );
  return agreedValueOrNull(found, pool.quorumMin, `receipt of ${txHash}`);
}

/** Equal for receipts that are the same to the last field. */
export function receiptKey({ blockNumber, blockHash, status, from, to, logs }: Receipt): string {
  return JSON.stringify([blockNumber, blockHash, status, from, to, logs]);
}

function placeAt(place: BlockPlace, number: number | null): BlockPlace {
  if (number !== null && place.number !== number)
    throw new AgentError("NODE_ANSWER", "none", "the node answered another block");
  return place;
}

export function hexOf(number: number): string {
  return `0x${number.toString(16)}`;
}
