/**
 * Asks one node every question that payments and deposits ask, before any process depends on the
 * node. Sends nothing to the chain. Questions without an answer are part of the result.
 */
import type { MissingAnswer } from "../nodes.ts";
import { examineNode, MissingAnswers, type NodeExaminer } from "../providers/node-check.ts";
import type { ServerAddress } from "../providers/server.ts";
import type { LedgerHead } from "./node-answers.ts";
import { askNewestLedger } from "./node-ledgers.ts";
import {
  accountQuestion,
  feeQuestion,
  historyQuestion,
  ledgerQuestion,
  serverQuestion,
  transactionQuestion,
} from "./node-questions.ts";
import { createPool, type NodePool, type PoolNode, type Question } from "./node-wire.ts";

/** The lowest address, whose key nobody has. */
const nobody = "rrrrrrrrrrrrrrrrrrrrrhoLvTp";
/** Ledgers that a gateway may have missed while it stood still: some half an hour. */
const ledgersMin = 500;

/** One server of the XRP Ledger. */
export interface ProbeQuestion {
  readonly url: ServerAddress;
  readonly networkId: number;
  readonly timeoutMs: number; // time limit of one exchange
}

export function examineXrp({ url, networkId, timeoutMs }: ProbeQuestion): NodeExaminer {
  const options = {
    urls: [url],
    networkId,
    timeoutMs,
    patienceMs: timeoutMs,
    log: () => undefined,
  };
  return examineNode<NodePool, PoolNode, LedgerHead>({
    open: () => createPool({ ...options, clock: () => performance.now() }),
    newest: askNewestLedger,
    atMsOf: ({ timestampMs }) => timestampMs,
    hashAt: async (pool, node, number) =>
      (await pool.ask(node, ledgerQuestion(number)))?.hash ?? null,
    lacksOf: findMissingAnswers,
  });
}

/** The questions that the node does not answer at this ledger. Rejects only for bugs. */
export async function findMissingAnswers(
  pool: NodePool,
  { number }: LedgerHead,
): Promise<readonly MissingAnswer[]> {
  const [node] = pool.nodes;
  if (node === undefined) return [];
  const lacks = new MissingAnswers<PoolNode, Question<unknown>>(node, pool.ask);
  const first = Math.max(1, number - ledgersMin);
  await lacks.ask("both", "a ledger by its number", ledgerQuestion(number));
  await lacks.ask("both", "an account at the newest ledger", accountQuestion(nobody, number));
  await lacks.ask(
    "payments",
    "an account with the node's queue",
    accountQuestion(nobody, "current"),
  );
  await lacks.ask("both", "the fee", feeQuestion);
  await lacks.ask("both", "a transaction by its id", transactionQuestion("0".repeat(64)));
  const page = await lacks.ask(
    "both",
    "an account's transactions",
    historyQuestion(nobody, { from: first, to: number }, "oldest first"),
  );
  const server = await lacks.ask("both", "the reserves", serverQuestion);
  const isComplete = server?.ledgers.some(([from, to]) => from <= first && to >= number) ?? true;
  const isSearched = page === null || (page.from <= first && page.to >= number);
  if (!isComplete || !isSearched) {
    const words = `the node does not keep all ledgers from ${first} to ${number}`;
    lacks.found.push({
      question: "the ledgers before the newest",
      neededBy: "both",
      isOptional: true,
      code: "NODE_NO_BLOCK",
      words,
    });
  }
  return lacks.found;
}
