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
import type { NodePool, Question } from "./node-pool.ts";
import {
  hashQuestion,
  outspendQuestion,
  ratesQuestion,
  rawBlockQuestion,
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
  const ask = async <T>(neededBy: Lack["neededBy"], question: string, asked: Question<T>): Promise<T | null> => {
    try {
      return await pool.ask(node, asked);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      lacks.push({ question, neededBy, isOptional: false, code: error.code, words: error.message });
      return null;
    }
  };
  const address = addressOfScript(nobody, network) as string;
  await ask("both", "the hash of a block", hashQuestion(head.number));
  await ask("both", "the coins of an address", unspentQuestion(address));
  await ask("deposits", "the use of an address", transactionCountQuestion(address));
  await ask("both", "the market's rates", ratesQuestion);
  const raw = await ask("deposits", "a block's bytes", rawBlockQuestion(head.hash));
  if (raw === null) return lacks;
  const read = readBlock(raw, head.hash);
  const txHash = read.ok ? read.block.transactions[0]?.txHash : undefined;
  if (!read.ok)
    lacks.push({
      question: "a block's bytes",
      neededBy: "deposits",
      isOptional: false,
      code: "NODE_ANSWER",
      words: read.problem,
    });
  if (txHash === undefined) return lacks;
  await ask("both", "a transaction's bytes", { ...transactionQuestion(txHash), absent: undefined });
  await ask("both", "the place of a transaction", { ...statusQuestion(txHash), absent: undefined });
  await ask("deposits", "the spend of a coin", { ...outspendQuestion(`${txHash}:0`), absent: undefined });
  return lacks;
}
