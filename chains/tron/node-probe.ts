/**
 * Asks one node every question that payments and deposits ask, before any process depends on the
 * node: accounts and tokens at the solidified block, prices, a trial of a transfer, blocks and
 * receipts. Sends nothing to the chain. Questions without an answer are part of the result.
 */
import { AgentError } from "../../base/fault.ts";
import type { MissingAnswer } from "../nodes.ts";
import { examineNode, MissingAnswers, type NodeExaminer } from "../providers/node-check.ts";
import type { ServerAddress } from "../providers/server.ts";
import { type BlockHead, readFields } from "./answers.ts";
import { blockQuestion, headQuestion } from "./node-blocks.ts";
import {
  accountQuestion,
  decimalsQuestion,
  feeScheduleQuestion,
  tokenBalanceQuestion,
  trialQuestion,
} from "./node-questions.ts";
import { type ApiSide, receiptQuestion } from "./node-receipts.ts";
import { createPool, type NodePool, type PoolNode, type Question } from "./node-wire.ts";
import { encodeTransferCall } from "./trc20.ts";

/** An address whose key nobody has, in the chain's spelling. */
const nobody = "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb";
const blockBytesMax = 16 * 1024 * 1024;
/** Number of contract calls among which at least one has an internal entry. */
const callsMin = 200;
/** Most blocks that are searched for these calls. */
const blocksMax = 20;

/** One server of Tron. */
export interface ProbeQuestion {
  readonly url: ServerAddress;
  readonly chainId: string; // as readChainId spells it
  readonly contracts: readonly string[];
  readonly timeoutMs: number; // time limit of one exchange
}

export function examineTron({ url, chainId, contracts, timeoutMs }: ProbeQuestion): NodeExaminer {
  const options = { urls: [url], chainId, timeoutMs, patienceMs: timeoutMs, log: () => undefined };
  return examineNode<NodePool, PoolNode, BlockHead>({
    open: () => createPool({ ...options, clock: () => performance.now() }),
    newest: (pool, node) => pool.ask(node, headQuestion("/wallet", null)),
    atMsOf: ({ timestampMs }) => timestampMs,
    hashAt: async (pool, node, number) =>
      (await pool.ask(node, headQuestion("/wallet", number))).hash,
    lacksOf: (pool) => findMissingAnswers(pool, contracts),
    decimalsOf: (pool, node, contract) =>
      pool.ask(node, decimalsQuestion("/walletsolidity", contract)),
  });
}

/** The questions that the node does not answer. Rejects only for bugs. */
export async function findMissingAnswers(
  pool: NodePool,
  contracts: readonly string[],
): Promise<readonly MissingAnswer[]> {
  const [node] = pool.nodes;
  if (node === undefined) return [];
  const lacks = new MissingAnswers<PoolNode, Question<unknown>>(node, pool.ask);
  const solid = await lacks.ask(
    "both",
    "the solidified block",
    headQuestion("/walletsolidity", null),
  );
  await lacks.ask(
    "both",
    "an account at the solidified block",
    accountQuestion("/walletsolidity", nobody),
  );
  await lacks.ask("payments", "an account", accountQuestion("/wallet", nobody));
  await lacks.ask("payments", "the chain's prices", feeScheduleQuestion);
  await lacks.ask(
    "both",
    "a receipt by its id",
    receiptQuestion("/walletsolidity", "0".repeat(64)),
  );
  await lacks.ask(
    "both",
    "a receipt by its id before it is solidified",
    receiptQuestion("/wallet", "0".repeat(64)),
  );
  for (const contract of contracts) {
    await lacks.ask(
      "both",
      "a token's balance at the solidified block",
      tokenBalanceQuestion("/walletsolidity", contract, nobody),
    );
    const data = Buffer.from(encodeTransferCall(nobody, 0n)).toString("hex");
    await lacks.ask(
      "payments",
      "a trial of a transfer",
      trialQuestion("/wallet", nobody, contract, data),
    );
  }
  if (solid !== null) {
    await lacks.ask(
      "deposits",
      "a block with its transactions",
      blockQuestion("/walletsolidity", solid.number),
    );
    const newest = await lacks.ask(
      "deposits",
      "the receipts of a block",
      receiptsOf("/walletsolidity", solid.number),
    );
    await lacks.ask(
      "deposits",
      "a block before it is solidified",
      blockQuestion("/wallet", solid.number),
    );
    await lacks.ask(
      "deposits",
      "the receipts of a block before it is solidified",
      receiptsOf("/wallet", solid.number),
    );
    const words = newest === null ? "" : await internalLack(pool, node, solid.number, newest);
    if (words !== "")
      lacks.found.push({
        question: "internal transactions",
        neededBy: "deposits",
        isOptional: false,
        code: "CHECK_INTERNAL",
        words,
      });
  }
  return lacks.found;
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
async function internalLack(
  pool: NodePool,
  node: PoolNode,
  newest: number,
  first: Runs,
): Promise<string> {
  let [calls, runs, number] = [0, first, newest];
  for (;;) {
    if (runs.withEntries > 0) return "";
    calls += runs.calls;
    if (calls >= callsMin)
      return `none with ${calls} calls of contracts in blocks ${number} to ${newest}: set vm.saveInternalTx`;
    if (newest - number + 1 >= blocksMax || number === 0) return "";
    number -= 1;
    const asked = await pool
      .ask(node, receiptsOf("/walletsolidity", number))
      .catch((error: unknown) => {
        if (error instanceof AgentError) return null;
        throw error;
      });
    if (asked === null) return "";
    runs = asked;
  }
}

function receiptsOf(side: ApiSide, number: number): Question<Runs> {
  return {
    path: `${side}/gettransactioninfobyblocknum`,
    fields: { num: number },
    answerBytesMax: blockBytesMax,
    read: (value) => {
      if (!Array.isArray(value))
        throw new AgentError("NODE_ANSWER", "none", "the receipts of a block are no list");
      const receipts = value.map((one) => readFields(one, "receipt"));
      const isCall = ({ receipt }: (typeof receipts)[number]): boolean =>
        (receipt as { result?: unknown } | undefined)?.result !== undefined;
      const hasEntries = ({ internal_transactions: entries }: (typeof receipts)[number]): boolean =>
        Array.isArray(entries) && entries.length > 0;
      return {
        calls: receipts.filter(isCall).length,
        withEntries: receipts.filter(hasEntries).length,
      };
    },
  };
}
