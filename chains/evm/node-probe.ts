/**
 * Asks one node every question that payments and deposits ask, at the same blocks, before any
 * process depends on the node: states at the final block, counts, gas, fees, logs, receipts and
 * batches. Sends nothing to the chain. Questions without an answer are part of the result.
 */
import { AgentError } from "../../base/fault.ts";
import type { MissingAnswer } from "../nodes.ts";
import { examineNode, MissingAnswers, type NodeExaminer } from "../providers/node-check.ts";
import { wordsInBody } from "../providers/node-words.ts";
import { postJson, targetOf } from "../providers/rpc-post.ts";
import type { ServerAddress } from "../providers/server.ts";
import { type BlockHead, readHash, readHead } from "./answers.ts";
import { dataFeeCall } from "./data-fee.ts";
import type { FeeModel } from "./fee-model.ts";
import { gasOfPlainTransfer } from "./gas.ts";
import { blockReceiptsQuestion, receiptQuestion } from "./node-block-receipts.ts";
import { hexOf } from "./node-finality.ts";
import {
  accountTransactionCountQuestion,
  askHead,
  balanceQuestion,
  callQuestion,
  codeQuestion,
  gasQuestion,
  oracleQuestion,
  tipQuestion,
} from "./node-questions.ts";
import { createTipWays } from "./node-tip.ts";
import { createPool, type NodePool, type PoolNode, type Question } from "./node-wire.ts";
import { decimalsCall } from "./token-reads.ts";

/** One server, and the values that the questions use. */
export interface ProbeQuestion {
  readonly url: ServerAddress;
  readonly chainId: number;
  readonly confirmations: number | "finalized";
  readonly contracts: readonly string[];
  readonly feeModel: FeeModel;
  readonly timeoutMs: number;
}

/** An address whose key nobody has. */
const nobody = `0x${"0".repeat(40)}`;
const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const blockBytesMax = 32 * 1024 * 1024;
/** Number of calls that a payment's read of a block has at least. */
const batchCalls = 8;
const batchBytesMax = 64 * 1024;

/** Number of blocks that show a chain's pace. */
const paceBlocks = 20;

export function examineEvm(question: ProbeQuestion): NodeExaminer {
  const { url, chainId, timeoutMs } = question;
  const options = { urls: [url], chainId: BigInt(chainId), timeoutMs, log: () => undefined };
  const headAt = async (
    pool: NodePool,
    node: PoolNode,
    number: number,
  ): Promise<BlockHead | null> => {
    const read = (result: unknown): BlockHead | null =>
      result === null ? null : headOf(result, number);
    return pool.ask(node, {
      method: "eth_getBlockByNumber",
      params: [hexOf(number), false],
      block: number,
      read,
    });
  };
  return examineNode<NodePool, PoolNode, BlockHead>({
    open: () => createPool({ ...options, clock: () => performance.now() }),
    newest: askHead,
    atMsOf: ({ timestamp }) => timestamp * 1000,
    hashAt: async (pool, node, number) => (await headAt(pool, node, number))?.hash ?? null,
    lacksOf: (pool, { number }) => findMissingAnswers(pool, number, question),
    paceOf: async (pool, node, { number, timestamp }) => {
      const before = number < paceBlocks ? null : await headAt(pool, node, number - paceBlocks);
      return before === null || timestamp <= before.timestamp
        ? null
        : ((timestamp - before.timestamp) * 1000) / paceBlocks;
    },
    decimalsOf: async (pool, node, contract) => {
      if ((await pool.ask(node, codeQuestion(contract, "latest"))) === "0x") return -1n;
      const answer = await pool.ask(node, callQuestion(contract, decimalsCall, "latest"));
      return /^0x[0-9a-f]{64}$/.test(answer) ? BigInt(answer) : -1n;
    },
  });
}

function headOf(result: unknown, number: number): BlockHead {
  const head = readHead(result);
  if (head.number === number) return head;
  throw new AgentError("NODE_ANSWER", "none", "the node answered another block", { number });
}

/**
 * The questions that the node does not answer. `head` is its newest block. Rejects only for bugs.
 */
export async function findMissingAnswers(
  pool: NodePool,
  head: number,
  question: Omit<ProbeQuestion, "chainId">,
): Promise<readonly MissingAnswer[]> {
  const [node] = pool.nodes;
  if (node === undefined) return [];
  const lacks = new MissingAnswers<PoolNode, Question<unknown>>(node, pool.ask);
  const { confirmations, contracts, feeModel } = question;
  const final =
    confirmations === "finalized"
      ? await lacks.ask("both", "the final block", finalQuestion)
      : Math.max(0, head - confirmations + 1);
  if (final !== null) {
    await lacks.ask("both", "a balance at the final block", balanceQuestion(nobody, "", final));
    for (const contract of contracts)
      await lacks.ask(
        "both",
        `a token's balance at the final block`,
        balanceQuestion(nobody, contract, final),
      );
    await lacks.ask(
      "deposits",
      "the code of an address at the final block",
      codeQuestion(nobody, final),
      true,
    );
    await lacks.ask(
      "payments",
      "a count at the final block",
      accountTransactionCountQuestion(nobody, hexOf(final)),
    );
    await lacks.ask("deposits", "logs of the final block", logsQuestion(final, contracts));
    const txHash = await lacks.ask(
      "deposits",
      "the final block with its transactions",
      blockQuestion(final),
    );
    if (typeof txHash === "string" && txHash !== "")
      await lacks.ask("both", "a receipt of the final block", receiptQuestion(txHash));
    await lacks.ask(
      "both",
      "the receipts of a block together",
      blockReceiptsQuestion(final, new Set()),
      true,
    );
  }
  await lacks.ask(
    "payments",
    "a count with the pool",
    accountTransactionCountQuestion(nobody, "pending"),
  );
  await lacks.ask("payments", "the code of an address", codeQuestion(nobody, "latest"));
  const gas = await lacks.ask(
    "payments",
    "an estimate of gas",
    gasQuestion({ from: nobody, to: nobody, valueWei: 0n, data: "0x" }),
  );
  if (gas !== null && gas > gasOfPlainTransfer && feeModel !== "arbitrum") {
    const words = `a plain payment takes ${gas} gas there, and is offered ${gasOfPlainTransfer}`;
    lacks.found.push({
      question: "a plain payment's gas",
      neededBy: "payments",
      isOptional: false,
      code: "CHAIN_PLAIN_GAS",
      words,
    });
  }
  await lacks.ask(
    "payments",
    "a tip",
    tipQuestion,
    await createTipWays(pool).hasOther(node, askHead(pool, node)),
  );
  if (feeModel === "op-stack")
    await lacks.ask("payments", "the fee for data", oracleQuestion(dataFeeCall));
  const refused = await batchRefusal(question);
  if (refused !== "")
    lacks.found.push({
      question: "questions together",
      neededBy: "both",
      isOptional: true,
      code: "CHECK_BATCH",
      words: refused,
    });
  return lacks.found;
}

const finalQuestion: Question<number> = {
  method: "eth_getBlockByNumber",
  params: ["finalized", false],
  read: (result) => {
    if (result === null)
      throw new AgentError("NODE_NO_BLOCK", "none", "the node has no finalized block");
    return Number(BigInt(String(fieldsOf(result).number)));
  },
};

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null)
    return value as Readonly<Record<string, unknown>>;
  throw new AgentError("NODE_ANSWER", "none", "the node answered no object");
}

/** The hash of one of the block's transactions, "" if the block has none. */
function blockQuestion(number: number): Question<string> {
  return {
    method: "eth_getBlockByNumber",
    params: [hexOf(number), true],
    answerBytesMax: blockBytesMax,
    read: (result) => {
      const { transactions } = fieldsOf(result);
      const [first] = Array.isArray(transactions) ? (transactions as readonly unknown[]) : [];
      return first === undefined ? "" : readHash(fieldsOf(first).hash, "transaction.hash");
    },
  };
}

function logsQuestion(number: number, contracts: readonly string[]): Question<null> {
  const address = contracts.length === 0 ? nobody : [...contracts];
  const filter = {
    fromBlock: hexOf(number),
    toBlock: hexOf(number),
    address,
    topics: [transferTopic, null, [`0x${"0".repeat(64)}`]],
  };
  return {
    method: "eth_getLogs",
    params: [filter],
    answerBytesMax: blockBytesMax,
    read: () => null,
  };
}

/** The node's text if it refuses batches; "" if it answers them, or does not answer at all. */
function batchRefusal({
  url,
  timeoutMs,
}: Pick<ProbeQuestion, "url" | "timeoutMs">): Promise<string> {
  const calls = Array.from({ length: batchCalls }, (_, at) => ({
    jsonrpc: "2.0",
    id: at + 1,
    method: "eth_chainId",
    params: [],
  }));
  const target = targetOf(url);
  return new Promise((resolve) => {
    postJson(
      { target, body: JSON.stringify(calls), bytesMax: batchBytesMax, timeoutMs },
      (outcome) => {
        target.close();
        if (!outcome.ok) {
          resolve(outcome.code === "NODE_TIMEOUT" ? "" : outcome.message);
          return;
        }
        const { status, body } = outcome;
        const isAnswered = status === 200 && (body.match(/"result"/g) ?? []).length === batchCalls;
        resolve(isAnswered ? "" : `HTTP status ${status}: ${wordsInBody(body)}`);
      },
    );
  });
}
