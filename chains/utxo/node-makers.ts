/**
 * Whether nodes show the transaction that made a coin, in a block or a mempool. Any one node's
 * bytes prove it by their id; that none has it needs as many answers as must agree. Touches nodes
 * only through node-wire.ts.
 */

import { slowNodeGraceMs } from "../providers/chain-blocks.ts";
import { firstFault } from "../providers/node-pool.ts";
import { readWholeTransaction } from "./chain-transaction.ts";
import { transactionQuestion } from "./node-questions.ts";
import type { NodePool } from "./node-wire.ts";

/** `coin`: txHash:output. @throws NODE_* if no node shows it and too few answer */
export async function isCoinTransactionShown(pool: NodePool, coin: string): Promise<boolean> {
  const [txHash = ""] = coin.split(":");
  const settled = await pool.all(
    (node) => pool.ask(node, transactionQuestion(txHash)),
    slowNodeGraceMs,
  );
  const answers = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (answers.some((bytes) => bytes !== null && readWholeTransaction(bytes)?.txHash === txHash))
    return true;
  if (answers.filter((bytes) => bytes === null).length < pool.quorumMin) throw firstFault(settled);
  return false;
}
