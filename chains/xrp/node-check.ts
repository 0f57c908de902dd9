/**
 * Examines one node before any process depends on it: its network, its newest ledger, and the
 * questions that it answers. Bounded in time and questions. A question without an answer is part of
 * the view, never an error.
 */
import { AgentError } from "../../base/fault.ts";
import type { NodeView } from "../nodes.ts";
import type { ServerAddress } from "../providers/server.ts";
import { newestOf } from "./node-ledgers.ts";
import { createPool, type NodePool } from "./node-pool.ts";
import { lacksOf } from "./node-probe.ts";
import { ledgerQuestion } from "./node-questions.ts";

export interface NodeQuestion {
  readonly url: ServerAddress;
  readonly networkId: number;
  readonly timeoutMs: number; // time limit of one exchange
}

/** Asks one node. Rejects only for bugs. */
export async function lookAtNode(question: NodeQuestion): Promise<NodeView> {
  const pool = openOne(question);
  const url = pool.status()[0]?.url ?? "";
  try {
    const head = await pool.first((node) => newestOf(pool, node));
    if (head === null) throw new AgentError("NODE_NO_BLOCK", "none", "the node has no validated ledger");
    const lacks = await lacksOf(pool, head);
    const { number: block, timestampMs: blockAtMs } = head;
    return { url, code: "", detail: "", block, blockAtMs, blockMs: null, lacks, tokens: [] };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const detail = pool.status()[0]?.detail.replace(/^[A-Z_]+: /, "") || error.message;
    return { url, code: error.code, detail, block: 0, blockAtMs: 0, blockMs: null, lacks: [], tokens: [] };
  } finally {
    pool.close();
  }
}

/**
 * The hash of the ledger that all of these nodes should share; "" if this node gives none. Rejects
 * only for bugs.
 */
export async function blockHashAt(question: NodeQuestion, number: number): Promise<string> {
  const pool = openOne(question);
  try {
    return (await pool.first((node) => pool.ask(node, ledgerQuestion(number))))?.hash ?? "";
  } catch (error) {
    if (error instanceof AgentError) return "";
    throw error;
  } finally {
    pool.close();
  }
}

function openOne({ url, networkId, timeoutMs }: NodeQuestion): NodePool {
  const clock = (): number => performance.now();
  return createPool({ urls: [url], networkId, timeoutMs, patienceMs: timeoutMs, log: () => undefined, clock });
}
