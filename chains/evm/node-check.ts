/**
 * Examines one node before any process depends on it: its chain, its height, the time of its
 * blocks, and the decimals of the tokens. Bounded in time and questions. A question without an
 * answer is part of the view, never an error.
 */
import { AgentError } from "../../base/fault.ts";
import type { Lack, NodeView } from "../nodes.ts";
import type { ServerAddress } from "../providers/server.ts";
import type { FeeModel } from "./fee-model.ts";
import { createEvmNodes, type EvmNodes } from "./node.ts";
import { createPool } from "./node-pool.ts";
import { lacksOf } from "./node-probe.ts";
import { decimalsCall } from "./token-reads.ts";

export interface NodeQuestion {
  readonly url: ServerAddress;
  readonly chainId: number;
  readonly confirmations: number | "finalized";
  readonly feeModel: FeeModel;
  readonly contracts: readonly string[];
  readonly timeoutMs: number; // time limit of one exchange
}

const decimalsMax = 255n;
/** Number of blocks that show a chain's pace. */
const paceBlocks = 20;

/** Asks one node. Rejects only for bugs. */
export async function lookAtNode(question: NodeQuestion): Promise<NodeView> {
  const { url, chainId, contracts, timeoutMs } = question;
  const nodes = createEvmNodes({ urls: [url], chainId, confirmations: 1, timeoutMs });
  const shown = nodes.status()[0]?.url ?? "";
  try {
    const head = await nodes.head();
    const answers = await Promise.all(contracts.map((contract) => decimalsOf(nodes, contract)));
    const tokens = contracts.flatMap((contract, at) => {
      const decimals = answers[at] ?? null;
      return decimals === null ? [] : [{ contract, decimals }];
    });
    const [lacks, blockMs] = await Promise.all([probed(question, head.number), paceOf(nodes, head)]);
    return { url: shown, code: "", detail: "", block: head.number, blockAtMs: head.timestamp * 1000, blockMs, lacks, tokens };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const detail = nodes.status()[0]?.detail.replace(/^[A-Z_]+: /, "") || error.message;
    return { url: shown, code: error.code, detail, block: 0, blockAtMs: 0, blockMs: null, lacks: [], tokens: [] };
  } finally {
    nodes.close();
  }
}

/**
 * Uses a pool of its own, because limits that the other pool learned of the node must not hide a
 * gap.
 */
async function probed(question: NodeQuestion, head: number): Promise<readonly Lack[]> {
  const { url, chainId, timeoutMs } = question;
  const options = { urls: [url], chainId: BigInt(chainId), timeoutMs, log: () => undefined };
  const pool = createPool({ ...options, clock: () => performance.now() });
  try {
    return await lacksOf(pool, head, question);
  } finally {
    pool.close();
  }
}

/** Milliseconds between two blocks by the newest ones; null if the node does not say. */
async function paceOf(nodes: EvmNodes, { number, timestamp }: { number: number; timestamp: number }): Promise<number | null> {
  if (number < paceBlocks) return null;
  try {
    const before = await nodes.block(number - paceBlocks, { full: false });
    return timestamp > before.timestamp ? ((timestamp - before.timestamp) * 1000) / paceBlocks : null;
  } catch (error) {
    if (error instanceof AgentError) return null;
    throw error;
  }
}

/**
 * The hash of the block that all of these nodes should share, by address as `lookAtNode` shows it;
 * "" if a node gives none. Rejects only for bugs.
 */
export async function blockHashAt(
  question: Pick<NodeQuestion, "url" | "chainId" | "timeoutMs">,
  number: number,
): Promise<string> {
  const { url, chainId, timeoutMs } = question;
  const nodes = createEvmNodes({ urls: [url], chainId, confirmations: 1, timeoutMs });
  try {
    return (await nodes.block(number, { full: false })).hash;
  } catch (error) {
    if (error instanceof AgentError) return "";
    throw error;
  } finally {
    nodes.close();
  }
}

/** Null if the node did not answer; -1 if the answer is no number of decimals. */
async function decimalsOf(nodes: EvmNodes, contract: string): Promise<number | null> {
  try {
    if ((await nodes.code(contract, "latest")) === "0x") return -1;
    const answer = await nodes.call(contract, decimalsCall, "latest");
    const decimals = /^0x[0-9a-f]{64}$/.test(answer) ? BigInt(answer) : -1n;
    return decimals >= 0n && decimals <= decimalsMax ? Number(decimals) : -1;
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    // A node's error about this call is the contract's answer; any other error is a failure of the
    // node.
    return error.code === "NODE_ERROR" ? -1 : null;
  }
}
