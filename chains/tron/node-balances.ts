/**
 * What an account holds, on the word of enough nodes. A node tells it of its newest solidified
 * block alone; two nodes that stand at two blocks say two things of an account that much is paid
 * to, and are asked again. Reaches the network through its callers alone.
 */
import { AgentError } from "../../protocol/fault.ts";
import type { NodePool, PoolNode } from "./node-pool.ts";

const triesMax = 4;

/** @throws AgentError NODE_DISAGREE when the nodes differ each time, or a node's fault */
export async function agreedBalance(pool: NodePool, ask: (node: PoolNode) => Promise<bigint>, what: string): Promise<bigint> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await pool.agree(ask, String, what);
    } catch (error) {
      if (tries === triesMax || !(error instanceof AgentError) || error.code !== "NODE_DISAGREE") throw error;
    }
  }
}
