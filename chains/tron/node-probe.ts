/**
 * Puts every question to one node that a payment and a deposit put, before anything depends on it:
 * accounts and tokens at the solidified block, prices, a trial of a transfer, blocks and receipts.
 * Sends nothing to the chain. What the node does not answer is part of the result.
 */
import { AgentError } from "../../protocol/fault.ts";
import type { Lack } from "../nodes.ts";
import { blockQuestion, headQuestion } from "./node-blocks.ts";
import type { NodePool, Question } from "./node-pool.ts";
import { accountQuestion, pricesQuestion, tokenBalanceQuestion, trialQuestion } from "./node-questions.ts";
import { encodeTransferCall } from "./trc20.ts";

/** An address that nobody has the key of, as the chain spells it. */
const nobody = "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb";
const blockBytesMax = 16 * 1024 * 1024;

/** Rejects for bugs alone. */
export async function lacksOf(pool: NodePool, contracts: readonly string[]): Promise<readonly Lack[]> {
  const lacks: Lack[] = [];
  const [node] = pool.nodes;
  if (node === undefined) return lacks;
  const ask = async <T>(neededBy: Lack["neededBy"], what: string, asked: Question<T>): Promise<T | null> => {
    try {
      return await pool.ask(node, asked);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      lacks.push({ question: what, neededBy, isOptional: false, code: error.code, words: error.message });
      return null;
    }
  };
  const solid = await ask("both", "the solidified block", headQuestion("/walletsolidity", null));
  await ask("both", "an account at the solidified block", accountQuestion("/walletsolidity", nobody));
  await ask("payments", "an account", accountQuestion("/wallet", nobody));
  await ask("payments", "the chain's prices", pricesQuestion);
  for (const contract of contracts) {
    await ask("both", "a token's balance at the solidified block", tokenBalanceQuestion("/walletsolidity", contract, nobody));
    const data = Buffer.from(encodeTransferCall(nobody, 0n)).toString("hex");
    await ask("payments", "a trial of a transfer", trialQuestion("/wallet", nobody, contract, data));
  }
  if (solid !== null) {
    await ask("deposits", "a block with its transactions", blockQuestion("/walletsolidity", solid.number));
    await ask("deposits", "the receipts of a block", receiptsOf(solid.number));
  }
  return lacks;
}

function receiptsOf(number: number): Question<null> {
  return {
    ...{ path: "/walletsolidity/gettransactioninfobyblocknum", fields: { num: number }, answerBytesMax: blockBytesMax },
    read: (value) => {
      if (Array.isArray(value)) return null;
      throw new AgentError("NODE_ANSWER", "none", "the receipts of a block are no list");
    },
  };
}
