/**
 * Asks one node every question that payments and deposits ask, before any process depends on the
 * node: accounts and tokens at the solidified block, prices, a trial of a transfer, blocks and
 * receipts. Sends nothing to the chain. Questions without an answer are part of the result.
 */
import { AgentError } from "../../base/fault.ts";
import type { Lack } from "../nodes.ts";
import { readFields } from "./answers.ts";
import { blockQuestion, headQuestion, receiptQuestion } from "./node-blocks.ts";
import type { NodePool, PoolNode, Question } from "./node-pool.ts";
import { accountQuestion, feeScheduleQuestion, tokenBalanceQuestion, trialQuestion } from "./node-questions.ts";
import { encodeTransferCall } from "./trc20.ts";

/** An address whose key nobody has, in the chain's spelling. */
const nobody = "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb";
const blockBytesMax = 16 * 1024 * 1024;
/** Number of contract calls among which at least one has an internal entry. */
const callsMin = 200;
/** Most blocks that are searched for these calls. */
const blocksMax = 20;

/** The questions that the node does not answer. Rejects only for bugs. */
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
  await ask("payments", "the chain's prices", feeScheduleQuestion);
  await ask("both", "a receipt by its id", receiptQuestion("/walletsolidity", "0".repeat(64)));
  for (const contract of contracts) {
    await ask("both", "a token's balance at the solidified block", tokenBalanceQuestion("/walletsolidity", contract, nobody));
    const data = Buffer.from(encodeTransferCall(nobody, 0n)).toString("hex");
    await ask("payments", "a trial of a transfer", trialQuestion("/wallet", nobody, contract, data));
  }
  if (solid !== null) {
    await ask("deposits", "a block with its transactions", blockQuestion("/walletsolidity", solid.number));
    const newest = await ask("deposits", "the receipts of a block", receiptsOf(solid.number));
    const words = newest === null ? "" : await internalLack(pool, node, solid.number, newest);
    if (words !== "")
      lacks.push({
        question: "internal transactions",
        neededBy: "deposits",
        isOptional: false,
        code: "CHECK_INTERNAL",
        words,
      });
  }
  return lacks;
}

/** Counts in a block's receipts: calls of contracts, and receipts with internal entries. */
interface Runs {
  readonly calls: number;
  readonly withEntries: number;
}

/**
 * Text for a node that keeps no internal transactions, else "". No answer of a node names this
 * setting (vm.saveInternalTx), so receipts must show it: on a chain in use, some call of a few
 * hundred has an internal transaction. With fewer calls in these blocks the answer is "". Sources:
 * tronprotocol/java-tron #3064, #3152, #6119, #6284.
 */
async function internalLack(pool: NodePool, node: PoolNode, newest: number, first: Runs): Promise<string> {
  let [calls, runs, number] = [0, first, newest];
  for (;;) {
    if (runs.withEntries > 0) return "";
    calls += runs.calls;
    if (calls >= callsMin) return `none with ${calls} calls of contracts in blocks ${number} to ${newest}: set vm.saveInternalTx`;
    if (newest - number + 1 >= blocksMax || number === 0) return "";
    number -= 1;
    const asked = await pool.ask(node, receiptsOf(number)).catch((error: unknown) => {
      if (error instanceof AgentError) return null;
      throw error;
    });
    if (asked === null) return "";
    runs = asked;
  }
}

function receiptsOf(number: number): Question<Runs> {
  return {
    path: "/walletsolidity/gettransactioninfobyblocknum",
    fields: { num: number },
    answerBytesMax: blockBytesMax,
    read: (value) => {
      if (!Array.isArray(value)) throw new AgentError("NODE_ANSWER", "none", "the receipts of a block are no list");
      const receipts = value.map((one) => readFields(one, "receipt"));
      const isCall = ({ receipt }: (typeof receipts)[number]): boolean =>
        (receipt as { result?: unknown } | undefined)?.result !== undefined;
      const hasEntries = ({ internal_transactions: entries }: (typeof receipts)[number]): boolean =>
        Array.isArray(entries) && entries.length > 0;
      return { calls: receipts.filter(isCall).length, withEntries: receipts.filter(hasEntries).length };
    },
  };
}
