/**
 * The balances of an account, by agreement of enough nodes. A node gives balances only of its
 * newest solidified block. Two nodes at two blocks differ about an account that often receives
 * payments, and are asked again. Reaches the network only through its callers.
 */
import { AgentError } from "../../base/fault.ts";
import type { NodePool, PoolNode } from "./node-wire.ts";

const triesMax = 4;

/** @throws AgentError NODE_DISAGREE if the nodes differ each time, or a node's fault */
export async function agreedBalance(
  pool: NodePool,
  ask: (node: PoolNode) => Promise<bigint>,
  what: string,
): Promise<bigint> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await pool.agree(ask, String, what);
    } catch (error) {
      if (tries === triesMax || !(error instanceof AgentError) || error.code !== "NODE_DISAGREE")
        throw error;
    }
  }
}
