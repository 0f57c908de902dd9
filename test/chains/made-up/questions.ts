/** The made-up family's questions, and those that the check asks. */
import { AgentError } from "../../../base/fault.ts";
import type { MissingAnswer } from "../../../chains/nodes.ts";
import { MissingAnswers } from "../../../chains/providers/node-check.ts";
import type { NodePool, PoolNode, Question } from "./wire.ts";

export interface Block {
  readonly chain: string;
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestampMs: number;
}

function readBlock(value: unknown): Block {
  const block = value as Block;
  if (typeof block.number === "number" && typeof block.hash === "string") return block;
  throw new AgentError("NODE_ANSWER", "none", "the answer is no block");
}

export const headQuestion: Question<Block> = { path: "/head", read: readBlock };
export const priceQuestion: Question<bigint> = {
  path: "/price",
  read: (value) => BigInt(String(value)),
};

export const blockQuestion = (number: number): Question<Block | null> => ({
  path: `/block/${number}`,
  read: (value) => (value === null ? null : readBlock(value)),
});

export async function askNewest(pool: NodePool, node: PoolNode): Promise<Block> {
  const head = await pool.ask(node, headQuestion);
  pool.sawHead(node, head.number, head.timestampMs, head);
  return head;
}

/** The questions that the node does not answer. */
export async function lacksOf(
  pool: NodePool,
  { number }: Block,
): Promise<readonly MissingAnswer[]> {
  const [node] = pool.nodes;
  if (node === undefined) return [];
  const lacks = new MissingAnswers<PoolNode, Question<unknown>>(node, pool.ask);
  await lacks.ask("both", "a block by its number", blockQuestion(number));
  await lacks.ask("payments", "the price", priceQuestion);
  return lacks.found;
}
