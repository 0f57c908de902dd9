/**
 * Receipts of many transactions from one node. From some number on, one question for all receipts
 * of a block stands in the place of a question for each. An answer for a block never says that a
 * receipt is absent: what it lacks is asked for alone. Touches nodes only through node-wire.ts.
 * Source: Ethereum execution-apis, eth_getBlockReceipts, which not every node has.
 */
import { AgentError } from "../../base/fault.ts";
import { type BatchedQuestion, createTurnBatcher } from "../providers/by-turn.ts";
import { requireCanonicalText } from "../providers/canonical-text.ts";
import { type Receipt, readReceipt } from "./answers.ts";
import type { NodePool, PoolNode, Question } from "./node-wire.ts";

/** Receipts of calls with many logs (disperse contracts, exchanges) reach hundreds of kilobytes. */
const receiptBytesMax = 512 * 1024;
const blockReceiptsBytesMax = 16 * 1024 * 1024;
/** A full block is much to read for fewer receipts than this. */
const togetherMin = 8;
/** Time for which a node that did not answer for a block is asked for each receipt. */
const lackingMs = 600_000;

/** The receipt of one transaction by one node; null if the node has none. */
export type AskReceipt = (node: PoolNode, txHash: string) => Promise<Receipt | null>;

/** Gathers the receipts that are asked for in one turn of the event loop. */
export function createReceiptReader(pool: NodePool, clock: () => number): AskReceipt {
  const lackingUntil = new Map<PoolNode, number>();

  const alone: AskReceipt = (node, txHash) => pool.ask(node, receiptQuestion(txHash));

  async function ofBlock(
    node: PoolNode,
    number: number,
    wanted: ReadonlySet<string>,
  ): Promise<ReadonlyMap<string, Receipt>> {
    try {
      return await pool.ask(node, blockReceiptsQuestion(number, wanted));
    } catch (fault) {
      if (!(fault instanceof AgentError)) throw fault;
      lackingUntil.set(node, clock() + lackingMs);
      return new Map();
    }
  }

  /**
   * The first receipt names a block, whose other receipts follow in one answer, and so on while
   * that saves questions.
   */
  async function answer(
    node: PoolNode,
    waiting: readonly BatchedQuestion<Receipt | null>[],
  ): Promise<void> {
    let left = waiting;
    while (left.length >= togetherMin && (lackingUntil.get(node) ?? 0) <= clock()) {
      const [first, ...others] = left as [
        BatchedQuestion<Receipt | null>,
        ...BatchedQuestion<Receipt | null>[],
      ];
      const asked = alone(node, first.txHash);
      first.resolve(asked);
      left = others;
      const receipt = await asked.catch(nullIfFault);
      if (receipt === null) break;
      const found = await ofBlock(
        node,
        receipt.blockNumber,
        new Set(others.map(({ txHash }) => txHash.toLowerCase())),
      );
      if (found.size === 0) break;
      left = others.filter(({ txHash, resolve }) => {
        const one = found.get(txHash.toLowerCase());
        if (one !== undefined) resolve(one);
        return one === undefined;
      });
    }
    for (const { txHash, resolve } of left) resolve(alone(node, txHash));
  }

  return createTurnBatcher(answer);
}

function nullIfFault(fault: unknown): null {
  if (fault instanceof AgentError) return null;
  throw fault;
}

export function receiptQuestion(txHash: string): Question<Receipt | null> {
  return {
    method: "eth_getTransactionReceipt",
    params: [requireCanonicalText(txHash.toLowerCase(), /^0x[0-9a-f]{64}$/, "hash")],
    answerBytesMax: receiptBytesMax,
    read: (result) => {
      if (result === null) return null;
      const receipt = readReceipt(result);
      if (receipt.txHash !== txHash.toLowerCase())
        throw new AgentError("NODE_ANSWER", "none", "the receipt is of another transaction");
      return receipt;
    },
  };
}

/** The wanted receipts by hash. One that cannot be read is left out, and so is asked for alone. */
export function blockReceiptsQuestion(
  number: number,
  wanted: ReadonlySet<string>,
): Question<ReadonlyMap<string, Receipt>> {
  const read = (result: unknown): ReadonlyMap<string, Receipt> => {
    const found = new Map<string, Receipt>();
    for (const one of Array.isArray(result) ? result : []) {
      const hash = (one as { readonly transactionHash?: unknown } | null)?.transactionHash;
      if (typeof hash !== "string" || !wanted.has(hash.toLowerCase())) continue;
      try {
        const receipt = readReceipt(one);
        if (receipt.blockNumber === number) found.set(receipt.txHash, receipt);
      } catch (fault) {
        if (!(fault instanceof AgentError)) throw fault;
      }
    }
    return found;
  };
  const params = [`0x${number.toString(16)}`];
  return { method: "eth_getBlockReceipts", params, answerBytesMax: blockReceiptsBytesMax, read };
}
