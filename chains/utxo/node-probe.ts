/**
 * Asks one node every question that payments and deposits ask, before any process depends on the
 * node. Sends nothing to the chain. Questions without an answer are part of the result.
 */
import { AgentError } from "../../base/fault.ts";
import type { MissingAnswer } from "../nodes.ts";
import { examineNode, MissingAnswers, type NodeExaminer } from "../providers/node-check.ts";
import type { ServerAddress } from "../providers/server.ts";
import { addressOfScript } from "./address.ts";
import type { BlockHead } from "./answers.ts";
import { readBlock } from "./block.ts";
import type { UtxoNetwork } from "./network.ts";
import { createNewestHeadReader } from "./node-blocks.ts";
import { createRateWays } from "./node-market.ts";
import {
  hashQuestion,
  historyQuestion,
  mempoolTransactionsQuestion,
  newestTransactionsQuestion,
  outspendQuestions,
  rawBlockQuestion,
  rewardQuestions,
  transactionCountQuestion,
  transactionPlaceQuestion,
  transactionQuestion,
  unspentQuestion,
} from "./node-questions.ts";
import {
  createPool,
  type NodePool,
  type PoolNode,
  type Question,
  type UtxoQuestionAlternatives,
} from "./node-wire.ts";

/** A P2WPKH script whose key nobody has, to which nobody pays. */
const nobody = Uint8Array.of(0, 20, ...Buffer.from("no key has this hash", "latin1"));

/** One server of a coin's network. */
export interface ProbeQuestion {
  readonly url: ServerAddress;
  readonly network: UtxoNetwork;
  readonly timeoutMs: number; // time limit of one exchange
}

export function examineUtxo({ url, network, timeoutMs }: ProbeQuestion): NodeExaminer {
  const options = { urls: [url], network, timeoutMs, patienceMs: timeoutMs, log: () => undefined };
  return examineNode<NodePool, PoolNode, BlockHead>({
    open: () => createPool({ ...options, clock: () => performance.now() }),
    newest: (pool, node) => createNewestHeadReader(pool)(node),
    atMsOf: ({ timestampMs }) => timestampMs,
    hashAt: (pool, node, number) => pool.ask(node, hashQuestion(number)),
    lacksOf: (pool, head) => findMissingAnswers(pool, network, head),
  });
}

/** The questions that the node does not answer at this head. Rejects only for bugs. */
export async function findMissingAnswers(
  pool: NodePool,
  network: UtxoNetwork,
  head: BlockHead,
): Promise<readonly MissingAnswer[]> {
  const [node] = pool.nodes;
  if (node === undefined) return [];
  const lacks = new MissingAnswers<PoolNode, Question<unknown>>(node, pool.ask);
  /** Nothing is missing where the node answers in the other way. */
  const either = async <T>(
    neededBy: MissingAnswer["neededBy"],
    question: string,
    { usual, other }: UtxoQuestionAlternatives<T>,
    id: string,
  ) => {
    const known = lacks.found.length;
    const answer = await lacks.ask(neededBy, question, { ...usual(id), absent: undefined });
    if (answer !== null) return answer;
    const byOther = await lacks.ask(neededBy, question, { ...other(id), absent: undefined });
    lacks.found.splice(byOther === null ? known + 1 : known);
    return byOther;
  };
  const address = addressOfScript(nobody, network) as string;
  await lacks.ask("both", "the hash of a block", hashQuestion(head.number));
  await lacks.ask("both", "the coins of an address", unspentQuestion(address));
  await lacks.ask("deposits", "the use of an address", transactionCountQuestion(address));
  for (const [question, asked] of [
    ["the newest transactions of an address", newestTransactionsQuestion(address)],
    ["the transactions of an address", historyQuestion(address)],
    ["the transactions of an address that no block has", mempoolTransactionsQuestion(address)],
  ] as const)
    await lacks.ask("both", question, asked);
  const { rateWithoutEstimate } = network;
  await lacks.put(
    "both",
    "the market's rates",
    () => ratedBy(pool, node),
    rateWithoutEstimate !== null,
  );
  const reward = await either("deposits", "the id of a block's reward", rewardQuestions, head.hash);
  const raw = await lacks.ask("deposits", "a block's bytes", rawBlockQuestion(head.hash));
  const read = raw === null ? null : readBlock(raw, head.hash);
  if (read?.ok === false) {
    const lack = {
      question: "a block's bytes",
      neededBy: "deposits",
      isOptional: false,
      code: "NODE_ANSWER",
    } as const;
    lacks.found.push({ ...lack, words: read.problem });
  }
  const txHash = read?.ok === true ? read.block.transactions[0]?.txHash : (reward ?? undefined);
  if (txHash === undefined) return lacks.found;
  await lacks.ask("both", "a transaction's bytes", {
    ...transactionQuestion(txHash),
    absent: undefined,
  });
  await lacks.ask("both", "the place of a transaction", {
    ...transactionPlaceQuestion(txHash),
    absent: undefined,
  });
  await either("deposits", "the spend of a coin", outspendQuestions, `${txHash}:0`);
  return lacks.found;
}

/**
 * @throws AgentError NODE_NO_RATE for a node that answers, and names no rate for the next blocks
 */
async function ratedBy(pool: NodePool, node: PoolNode): Promise<bigint> {
  const rate = await createRateWays(pool).ask(node, undefined);
  if (rate !== null) return rate;
  throw new AgentError("NODE_NO_RATE", "none", "the node names no fee for the next blocks");
}
