/**
 * All logs of one block from the receipts of its transactions, with the logs that a list leaves
 * out. Touches nodes only through node-wire.ts. Source: Ethereum execution-apis,
 * eth_getBlockReceipts, which not every node has.
 */
import { AgentError } from "../../base/fault.ts";
import { inWaves } from "../map-limit.ts";
import { type Block, type FoundLog, readReceiptLogs } from "./answers.ts";
import type { NodePool, PoolNode } from "./node-wire.ts";

/** Receipts of calls with many logs reach hundreds of kilobytes. */
const receiptBytesMax = 512 * 1024;
const receiptsAtOnce = 32;

type Logs = ReturnType<typeof readReceiptLogs>;

/**
 * @throws AgentError NODE_NO_BLOCK until the node has each of them in this very block, or a fault
 * of the exchange
 */
export async function logsByReceipts(
  pool: NodePool,
  node: PoolNode,
  block: Block,
  answerBytesMax: number,
): Promise<readonly FoundLog[]> {
  const { number, hash, transactions } = block;
  const together = (await ofBlock(pool, node, number, answerBytesMax)) ?? [];
  // A node without that method, or one that lags, is asked for each receipt.
  const isWhole = together.length >= transactions.length;
  const receipts = isWhole
    ? together
    : await inWaves(transactions, receiptsAtOnce, ({ hash: txHash }) => ofOne(pool, node, txHash));
  const isOfBlock = receipts.every((one) => one !== null && one.blockHash === hash);
  if (isOfBlock) return receipts.flatMap((one) => one?.logs ?? []);
  throw new AgentError("NODE_NO_BLOCK", "none", "the node has not all receipts of the block yet", {
    number,
  });
}

/** Null if the node does not answer this question. */
async function ofBlock(
  pool: NodePool,
  node: PoolNode,
  number: number,
  answerBytesMax: number,
): Promise<readonly Logs[] | null> {
  try {
    return await pool.ask(node, {
      method: "eth_getBlockReceipts",
      params: [`0x${number.toString(16)}`],
      answerBytesMax,
      read: (result) => (Array.isArray(result) ? result.map(readReceiptLogs) : null),
    });
  } catch (fault) {
    if (fault instanceof AgentError && fault.code !== "NODE_CLOSED") return null;
    throw fault;
  }
}

function ofOne(pool: NodePool, node: PoolNode, txHash: string): Promise<Logs | null> {
  const read = (result: unknown): Logs | null => (result === null ? null : readReceiptLogs(result));
  return pool.ask(node, {
    method: "eth_getTransactionReceipt",
    params: [txHash],
    answerBytesMax: receiptBytesMax,
    read,
  });
}
