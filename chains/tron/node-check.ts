/**
 * Examines one node before any process depends on it: its chain, its height, the time of its
 * blocks, and the decimals of the tokens. Bounded in time and questions. A question without an
 * answer is part of the view, never an error.
 */
import { AgentError } from "../../base/fault.ts";
import type { NodeView } from "../nodes.ts";
import type { ServerAddress } from "../providers/server.ts";
import { headQuestion } from "./node-blocks.ts";
import { createPool, type NodePool } from "./node-pool.ts";
import { lacksOf } from "./node-probe.ts";
import { decimalsQuestion } from "./node-questions.ts";

export interface NodeQuestion {
  readonly url: ServerAddress;
  readonly chainId: string; // as readChainId spells it
  readonly contracts: readonly string[];
  readonly timeoutMs: number; // time limit of one exchange
}

const decimalsMax = 255n;

/** Asks one node. Rejects only for bugs. */
export async function lookAtNode({ contracts, ...question }: NodeQuestion): Promise<NodeView> {
  const pool = openOne(question);
  const shown = pool.status()[0]?.url ?? "";
  try {
    const head = await pool.first((node) => pool.ask(node, headQuestion("/wallet", null)));
    const answers = await Promise.all(contracts.map((contract) => decimalsOf(pool, contract)));
    const tokens = contracts.flatMap((contract, at) => {
      const decimals = answers[at] ?? null;
      return decimals === null ? [] : [{ contract, decimals }];
    });
    const lacks = await lacksOf(pool, contracts);
    const { number: block = 0, timestampMs: blockAtMs = 0 } = head ?? {};
    return { url: shown, code: "", detail: "", block, blockAtMs, blockMs: null, lacks, tokens };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const detail = pool.status()[0]?.detail.replace(/^[A-Z_]+: /, "") || error.message;
    return { url: shown, code: error.code, detail, block: 0, blockAtMs: 0, blockMs: null, lacks: [], tokens: [] };
  } finally {
    pool.close();
  }
}

/**
 * The id of the block that all of these nodes should share; "" if this node gives none. Rejects
 * only for bugs.
 */
export async function blockHashAt(question: Omit<NodeQuestion, "contracts">, number: number): Promise<string> {
  const pool = openOne(question);
  try {
    return (await pool.first((node) => pool.ask(node, headQuestion("/wallet", number))))?.hash ?? "";
  } catch (error) {
    if (error instanceof AgentError) return "";
    throw error;
  } finally {
    pool.close();
  }
}

function openOne({ url, chainId, timeoutMs }: Omit<NodeQuestion, "contracts">): NodePool {
  const clock = (): number => performance.now();
  return createPool({ urls: [url], chainId, timeoutMs, patienceMs: timeoutMs, log: () => undefined, clock });
}

/** Null if the node did not answer; -1 if the answer is no number of decimals. */
async function decimalsOf(pool: NodePool, contract: string): Promise<number | null> {
  try {
    const decimals = await pool.first((node) => pool.ask(node, decimalsQuestion("/walletsolidity", contract)));
    return decimals !== null && decimals <= decimalsMax ? Number(decimals) : -1;
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    // A node's error about this call is the contract's answer; any other error is a failure of the
    // node.
    return error.code === "NODE_ERROR" ? -1 : null;
  }
}
