/**
 * Receipts of transactions from one node: one by its id, or all that are wanted of a block in one
 * answer. Such an answer never says that a receipt is absent: what it lacks is asked for alone.
 * Touches nodes only through node-wire.ts.
 */
import { AgentError } from "../../base/fault.ts";
import { type BatchedQuestion, createTurnBatcher } from "../providers/by-turn.ts";
import { type CanonicalText, requireCanonicalText } from "../providers/canonical-text.ts";
import { type Block, type Receipt, readReceipt, readReceipts } from "./answers.ts";
import type { NodePool, PoolNode, Question } from "./node-wire.ts";

/** The head's side of the API, and that of solidified blocks. */
export type ApiSide = "/wallet" | "/walletsolidity";

/**
 * Bounds: a full block has some thousand transactions of a few hundred bytes, and receipts are
 * somewhat larger.
 */
export const blockBytesMax = 32 * 1024 * 1024;
const receiptBytesMax = 2 * 1024 * 1024;
/**
 * Receipts of a block that may be read for each wanted one. A receipt has some 600 bytes, so a
 * wanted one costs at most 5 KiB.
 */
const readForOneMax = 8;
/** Time for which a node that did not answer for a block is asked for each receipt. */
const lackingMs = 600_000;

/** The receipt of one transaction in a solidified block by one node; null if the node has none. */
export type AskReceipt = (node: PoolNode, txHash: string) => Promise<Receipt | null>;

export interface ReceiptTools {
  /** The block that has a transaction, as far as it is known; no more than a hint. */
  readonly blockOf: (txHash: string) => number | undefined;
  /** @throws NODE_NO_BLOCK, or a fault of the exchange */
  readonly solidBlock: (number: number) => Promise<Block>;
  readonly clock: () => number; // milliseconds, never running back
}

/** Gathers the receipts that are asked for in one turn of the event loop. */
export function createReceiptReader(
  pool: NodePool,
  { blockOf, solidBlock, clock }: ReceiptTools,
): AskReceipt {
  const lackingUntil = new Map<PoolNode, number>();

  const alone: AskReceipt = (node, txHash) =>
    pool.ask(node, receiptQuestion("/walletsolidity", txHash));

  /** Empty if one by one is cheaper, or if the node does not answer. */
  async function ofBlock(
    node: PoolNode,
    number: number,
    wanted: ReadonlySet<string>,
  ): Promise<ReadonlyMap<string, Receipt>> {
    if (wanted.size < 2 || (lackingUntil.get(node) ?? 0) > clock()) return new Map();
    try {
      const { transactions } = await solidBlock(number);
      if (transactions.length > wanted.size * readForOneMax) return new Map();
    } catch (fault) {
      if (fault instanceof AgentError) return new Map();
      throw fault;
    }
    try {
      return await pool.ask(node, wantedReceiptsQuestion(number, wanted));
    } catch (fault) {
      if (!(fault instanceof AgentError)) throw fault;
      lackingUntil.set(node, clock() + lackingMs);
      return new Map();
    }
  }

  async function answerFrom(
    node: PoolNode,
    number: number,
    waiting: readonly BatchedQuestion<Receipt | null>[],
  ): Promise<void> {
    const found = await ofBlock(node, number, new Set(waiting.map(({ txHash }) => txHash)));
    for (const { txHash, resolve } of waiting) resolve(found.get(txHash) ?? alone(node, txHash));
  }

  async function answer(
    node: PoolNode,
    waiting: readonly BatchedQuestion<Receipt | null>[],
  ): Promise<void> {
    const byBlock = new Map<number, BatchedQuestion<Receipt | null>[]>();
    for (const one of waiting) {
      const number = blockOf(one.txHash);
      if (number === undefined) one.resolve(alone(node, one.txHash));
      else byBlock.set(number, [...(byBlock.get(number) ?? []), one]);
    }
    await Promise.all([...byBlock].map(([number, some]) => answerFrom(node, number, some)));
  }

  return createTurnBatcher(answer);
}

const idOfText = (text: string): CanonicalText =>
  requireCanonicalText(text, /^[0-9a-f]{64}$/, "hash");

export function receiptQuestion(side: ApiSide, txHash: string): Question<Receipt | null> {
  const read = (value: unknown): Receipt | null => {
    const receipt = readReceipt(value);
    if (receipt === null || receipt.txHash === txHash) return receipt;
    throw new AgentError("NODE_ANSWER", "none", "the receipt is of another transaction");
  };
  return {
    path: `${side}/gettransactioninfobyid`,
    fields: { value: idOfText(txHash) },
    answerBytesMax: receiptBytesMax,
    read,
  };
}

/** All receipts of a block. */
export function receiptsQuestion(side: ApiSide, number: number): Question<readonly Receipt[]> {
  return ofBlockNumber(side, number, readReceipts);
}

/** The wanted receipts by hash. One that cannot be read is left out, and so is asked for alone. */
function wantedReceiptsQuestion(
  number: number,
  wanted: ReadonlySet<string>,
): Question<ReadonlyMap<string, Receipt>> {
  return ofBlockNumber("/walletsolidity", number, (value) => {
    const found = new Map<string, Receipt>();
    for (const one of Array.isArray(value) ? value : []) {
      const id = (one as { readonly id?: unknown } | null)?.id;
      if (typeof id !== "string" || !wanted.has(id)) continue;
      try {
        const receipt = readReceipt(one);
        if (receipt?.block === number) found.set(id, receipt);
      } catch (fault) {
        if (!(fault instanceof AgentError)) throw fault;
      }
    }
    return found;
  });
}

function ofBlockNumber<T>(side: ApiSide, number: number, read: (value: unknown) => T): Question<T> {
  const path = `${side}/gettransactioninfobyblocknum`;
  return { path, fields: { num: number }, answerBytesMax: blockBytesMax, isOfOthers: true, read };
}
