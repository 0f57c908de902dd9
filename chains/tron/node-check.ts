/**
 * One node, looked at by itself before anything depends on it: which chain it serves, how far it
 * is, what its blocks' clock says, and how the tokens on it count. Bounded in time and questions;
 * whatever does not answer is part of the view, never an error.
 */
import { AgentError } from "../../protocol/fault.ts";
import type { NodeView } from "../nodes.ts";
import { headQuestion } from "./node-blocks.ts";
import { createPool, type NodePool } from "./node-pool.ts";
import { lacksOf } from "./node-probe.ts";
import { decimalsQuestion } from "./node-questions.ts";

/** @public */
export interface NodeQuestion {
  readonly url: string;
  readonly chainId: string; // as readChainId spells it
  readonly contracts: readonly string[];
  readonly timeoutMs: number; // of one exchange
}

const decimalsMax = 255n;

/**
 * Asks one node. Rejects for bugs alone.
 * @public
 */
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
 * The id of the block that every one of these nodes should have alike; "" where this one does not
 * say. Rejects for bugs alone.
 * @public
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

/** Null when the node did not say; -1 when what it says is no count of decimals. */
async function decimalsOf(pool: NodePool, contract: string): Promise<number | null> {
  try {
    const decimals = await pool.first((node) => pool.ask(node, decimalsQuestion("/walletsolidity", contract)));
    return decimals !== null && decimals <= decimalsMax ? Number(decimals) : -1;
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    // An error of the node's own about this call is the contract's answer; anything else is the
    // node's trouble.
    return error.code === "NODE_ERROR" ? -1 : null;
  }
}
