/**
 * The fee that payments offer now, from the answers of several nodes. Touches nodes only through
 * node-pool.ts. Source: the ledger's documentation of the transaction cost and of `fee`.
 */
import { firstFault } from "../providers/node-pool.ts";
import { graceMs } from "./node-ledgers.ts";
import type { NodePool } from "./node-pool.ts";
import { feeQuestion } from "./node-questions.ts";

/** No market has asked for more for long: a tenth of an XRP. A higher offer is an operator's. */
const feeDropsMax = 100_000n;

/**
 * Drops that put a transaction into the open ledger. The middle of the nodes' figures, of two the
 * lower one, because a node that lies could raise it; a replacement can follow a low one.
 */
export async function feeDropsOf(pool: NodePool): Promise<bigint> {
  const settled = await pool.all((node) => pool.ask(node, feeQuestion), graceMs);
  const answers = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (answers.length < pool.quorumMin) throw firstFault(settled);
  const fees = answers.map(({ baseDrops, openDrops }) => [baseDrops, openDrops].sort(rising)[1] as bigint).sort(rising);
  const middle = fees[Math.floor((fees.length - 1) / 2)] ?? 0n;
  const capped = middle > feeDropsMax ? feeDropsMax : middle;
  return capped > 0n ? capped : 1n;
}

function rising(a: bigint, b: bigint): number {
  return a < b ? -1 : 1;
}
