/**
 * Asks one node every question that payments and deposits ask, before any process depends on the
 * node. Sends nothing to the chain. Questions without an answer are part of the result.
 */
import { AgentError } from "../../base/fault.ts";
import type { Lack } from "../nodes.ts";
import type { LedgerHead } from "./node-answers.ts";
import type { NodePool, Question } from "./node-pool.ts";
import {
  accountQuestion,
  feeQuestion,
  historyQuestion,
  ledgerQuestion,
  serverQuestion,
  transactionQuestion,
} from "./node-questions.ts";

/** The lowest address, whose key nobody has. */
const nobody = "rrrrrrrrrrrrrrrrrrrrrhoLvTp";
/** Ledgers that a gateway may have missed while it stood still: some half an hour. */
const ledgersMin = 500;

/** The questions that the node does not answer at this ledger. Rejects only for bugs. */
export async function lacksOf(pool: NodePool, { number }: LedgerHead): Promise<readonly Lack[]> {
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
  const first = Math.max(1, number - ledgersMin);
  await ask("both", "a ledger by its number", ledgerQuestion(number));
  await ask("both", "an account at the newest ledger", accountQuestion(nobody, number));
  await ask("payments", "an account with the node's queue", accountQuestion(nobody, "current"));
  await ask("both", "the fee", feeQuestion);
  await ask("both", "a transaction by its id", transactionQuestion("0".repeat(64)));
  const page = await ask(
    "both",
    "an account's transactions",
    historyQuestion(nobody, { from: first, to: number }, "oldest first"),
  );
  const server = await ask("both", "the reserves", serverQuestion);
  const isComplete = server?.ledgers.some(([from, to]) => from <= first && to >= number) ?? true;
  const isSearched = page === null || (page.from <= first && page.to >= number);
  if (!isComplete || !isSearched) {
    const words = `the node does not keep all ledgers from ${first} to ${number}`;
    lacks.push({ question: "the ledgers before the newest", neededBy: "both", isOptional: true, code: "NODE_NO_BLOCK", words });
  }
  return lacks;
}
