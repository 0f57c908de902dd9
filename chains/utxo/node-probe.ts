/**
 * Asks one node every question that payments and deposits ask, before any process depends on the
 * node. Sends nothing to the chain. Questions without an answer are part of the result.
 */
import { AgentError } from "../../base/fault.ts";
import type { Lack } from "../nodes.ts";
import { addressOfScript } from "./address.ts";
import type { BlockHead } from "./answers.ts";
import { readBlock } from "./block.ts";
import type { UtxoNetwork } from "./network.ts";
import { createRateWays } from "./node-market.ts";
import type { Either, NodePool, PoolNode, Question } from "./node-pool.ts";
import {
  hashQuestion,
  historyQuestion,
  newestQuestion,
  outspendQuestions,
  poolQuestion,
  rawBlockQuestion,
  rewardQuestions,
  statusQuestion,
  transactionCountQuestion,
  transactionQuestion,
  unspentQuestion,
} from "./node-questions.ts";

/** A P2WPKH script whose key nobody has, to which nobody pays. */
const nobody = Uint8Array.of(0, 20, ...Buffer.from("no key has this hash", "latin1"));

/** The questions that the node does not answer at this head. Rejects only for bugs. */
export async function lacksOf(pool: NodePool, network: UtxoNetwork, head: BlockHead): Promise<readonly Lack[]> {
  const lacks: Lack[] = [];
  const [node] = pool.nodes;
  if (node === undefined) return lacks;
  const put = async <T>(neededBy: Lack["neededBy"], question: string, asked: () => Promise<T>, isOptional = false) => {
    try {
      return await asked();
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      lacks.push({ question, neededBy, isOptional, code: error.code, words: error.message });
      return null;
    }
  };
  const ask = <T>(neededBy: Lack["neededBy"], question: string, asked: Question<T>): Promise<T | null> =>
    put(neededBy, question, () => pool.ask(node, asked));
  /** Nothing is missing where the node answers in the other way. */
  const either = async <T>(neededBy: Lack["neededBy"], question: string, { usual, other }: Either<T>, id: string) => {
    const known = lacks.length;
    const answer = await ask(neededBy, question, { ...usual(id), absent: undefined });
    if (answer !== null) return answer;
    const byOther = await ask(neededBy, question, { ...other(id), absent: undefined });
    lacks.splice(byOther === null ? known + 1 : known);
    return byOther;
  };
  const address = addressOfScript(nobody, network) as string;
  await ask("both", "the hash of a block", hashQuestion(head.number));
  await ask("both", "the coins of an address", unspentQuestion(address));
  await ask("deposits", "the use of an address", transactionCountQuestion(address));
  for (const [question, asked] of [
    ["the newest transactions of an address", newestQuestion(address)],
    ["the transactions of an address", historyQuestion(address)],
    ["the transactions of an address that no block has", poolQuestion(address)],
  ] as const)
    await ask("both", question, asked);
  const { rateWithoutEstimate } = network;
  await put("both", "the market's rates", () => ratedBy(pool, node), rateWithoutEstimate !== null);
  const reward = await either("deposits", "the id of a block's reward", rewardQuestions, head.hash);
  const raw = await ask("deposits", "a block's bytes", rawBlockQuestion(head.hash));
  const read = raw === null ? null : readBlock(raw, head.hash);
  if (read?.ok === false) {
    const lack = { question: "a block's bytes", neededBy: "deposits", isOptional: false, code: "NODE_ANSWER" } as const;
    lacks.push({ ...lack, words: read.problem });
  }
  const txHash = read?.ok === true ? read.block.transactions[0]?.txHash : (reward ?? undefined);
  if (txHash === undefined) return lacks;
  await ask("both", "a transaction's bytes", { ...transactionQuestion(txHash), absent: undefined });
  await ask("both", "the place of a transaction", { ...statusQuestion(txHash), absent: undefined });
  await either("deposits", "the spend of a coin", outspendQuestions, `${txHash}:0`);
  return lacks;
}

/**
 * @throws AgentError NODE_NO_RATE for a node that answers, and names no rate for the next blocks
 */
async function ratedBy(pool: NodePool, node: PoolNode): Promise<bigint> {
  const rate = await createRateWays(pool).ask(node, undefined);
  if (rate !== null) return rate;
  throw new AgentError("NODE_NO_RATE", "none", "the node names no fee for the next blocks");
}
