/**
 * Transactions of an account in the mempools of nodes. Any node's word counts, and none proves that
 * there are no others: nodes forget, and bytes can wait elsewhere. Touches nodes only through
 * node-wire.ts.
 */
import { AgentError } from "../../base/fault.ts";
import type { UnconfirmedTransaction } from "../nodes.ts";
import { graceMs } from "../providers/chain-blocks.ts";
import { firstFault } from "../providers/node-pool.ts";
import { receiverOf } from "./found.ts";
import type { UtxoNetwork } from "./network.ts";
import { addressOf } from "./node-coins.ts";
import { historyLimits } from "./node-history.ts";
import { poolQuestion, spentInPoolQuestion } from "./node-questions.ts";
import type { NodePool, PoolNode } from "./node-wire.ts";

/** @throws NODE_* if too few nodes answer, or if one shows fewer spent coins than it counts */
export async function unconfirmedOf(
  pool: NodePool,
  account: string,
  network: UtxoNetwork,
): Promise<readonly UnconfirmedTransaction[]> {
  const { script } = addressOf(account, network);
  const settled = await pool.all(
    (node) => outgoingBy(pool, node, { account, script, network }),
    graceMs,
  );
  const shown = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (shown.length < pool.quorumMin) throw firstFault(settled);
  return [...new Map(shown.flat().map((one) => [one.txHash, one])).values()];
}

interface AccountScript {
  readonly account: string;
  readonly script: string; // hex
  readonly network: UtxoNetwork;
}

async function outgoingBy(
  pool: NodePool,
  node: PoolNode,
  asked: AccountScript,
): Promise<readonly UnconfirmedTransaction[]> {
  const { account, script, network } = asked;
  const list = await pool.ask(node, poolQuestion(account));
  const mine = list.map((one) => ({
    ...one,
    own: one.inputs.filter((input) => input.script === script),
  }));
  const own = mine.filter((one) => one.own.length > 0 && one.place === null);
  if (list.length >= historyLimits.pool) {
    // Anybody can fill the list with payments to the account, so the node's own count decides.
    const counted = await pool.ask(node, spentInPoolQuestion(account));
    const listed = own.reduce((sum, one) => sum + one.own.length, 0);
    if (listed < counted) {
      const context = { node: node.rpc.origin, listed, counted };
      throw new AgentError(
        "NODE_ANSWER_SIZE",
        "none",
        "the node's list of the mempool is cut off",
        context,
      );
    }
  }
  return own.map(({ txHash, outputs }) => {
    const made = outputs.map(({ units, script: hex }) => ({
      units,
      script: Buffer.from(hex, "hex"),
    }));
    return { account, txHash, tag: "", contract: "", ...receiverOf(account, made, network) };
  });
}
