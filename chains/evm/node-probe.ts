/**
 * Asks one node every question that payments and deposits ask, at the same blocks, before any
 * process depends on the node: states at the final block, counts, gas, fees, logs, receipts and
 * batches. Sends nothing to the chain. Questions without an answer are part of the result.
 */
import { AgentError } from "../../base/fault.ts";
import type { Lack } from "../nodes.ts";
import { wordsInBody } from "../providers/node-words.ts";
import { post, targetOf } from "../providers/rpc-post.ts";
import type { ServerAddress } from "../providers/server.ts";
import { readHash } from "./answers.ts";
import { dataFeeCall } from "./data-fee.ts";
import type { FeeModel } from "./fee-model.ts";
import { gasPlain } from "./gas.ts";
import { blockReceiptsQuestion, receiptQuestion } from "./node-block-receipts.ts";
import { hexOf } from "./node-finality.ts";
import type { NodePool, Question } from "./node-pool.ts";
import {
  askHead,
  balanceQuestion,
  codeQuestion,
  countQuestion,
  gasQuestion,
  oracleQuestion,
  tipQuestion,
} from "./node-questions.ts";
import { createTips } from "./node-tip.ts";

/** The values that the questions use, and their chain. */
export interface ProbeQuestion {
  readonly url: ServerAddress;
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

type Need = Lack["neededBy"];

/**
 * The questions that the node does not answer. `head` is its newest block. Rejects only for bugs.
 */
export async function lacksOf(pool: NodePool, head: number, question: ProbeQuestion): Promise<readonly Lack[]> {
  const lacks: Lack[] = [];
  const [node] = pool.nodes;
  if (node === undefined) return lacks;
  const ask = async <T>(neededBy: Need, what: string, asked: Question<T>, isOptional = false): Promise<T | null> => {
    try {
      return await pool.ask(node, asked);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      lacks.push({ question: what, neededBy, isOptional, code: error.code, words: error.message });
      return null;
    }
  };
  const { confirmations, contracts, feeModel } = question;
  const final =
    confirmations === "finalized" ? await ask("both", "the final block", finalQuestion) : Math.max(0, head - confirmations + 1);
  if (final !== null) {
    await ask("both", "a balance at the final block", balanceQuestion(nobody, "", final));
    for (const contract of contracts)
      await ask("both", `a token's balance at the final block`, balanceQuestion(nobody, contract, final));
    await ask("payments", "a count at the final block", countQuestion(nobody, hexOf(final)));
    await ask("deposits", "logs of the final block", logsQuestion(final, contracts));
    const txHash = await ask("deposits", "the final block with its transactions", blockQuestion(final));
    if (typeof txHash === "string" && txHash !== "") await ask("both", "a receipt of the final block", receiptQuestion(txHash));
    await ask("both", "the receipts of a block together", blockReceiptsQuestion(final, new Set()), true);
  }
  await ask("payments", "a count with the pool", countQuestion(nobody, "pending"));
  await ask("payments", "the code of an address", codeQuestion(nobody, "latest"));
  const gas = await ask("payments", "an estimate of gas", gasQuestion({ from: nobody, to: nobody, valueWei: 0n, data: "0x" }));
  if (gas !== null && gas > gasPlain && feeModel !== "arbitrum") {
    const words = `a plain payment takes ${gas} gas there, and is offered ${gasPlain}`;
    lacks.push({ question: "a plain payment's gas", neededBy: "payments", isOptional: false, code: "CHAIN_PLAIN_GAS", words });
  }
  await ask("payments", "a tip", tipQuestion, await createTips(pool).hasOther(node, askHead(pool, node)));
  if (feeModel === "op-stack") await ask("payments", "the fee for data", oracleQuestion(dataFeeCall));
  const refused = await batchRefusal(question);
  if (refused !== "")
    lacks.push({ question: "questions together", neededBy: "both", isOptional: true, code: "CHECK_BATCH", words: refused });
  return lacks;
}

const finalQuestion: Question<number> = {
  method: "eth_getBlockByNumber",
  params: ["finalized", false],
  read: (result) => {
    if (result === null) throw new AgentError("NODE_NO_BLOCK", "none", "the node has no finalized block");
    return Number(BigInt(String(fieldsOf(result).number)));
  },
};

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null) return value as Readonly<Record<string, unknown>>;
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
  return { method: "eth_getLogs", params: [filter], answerBytesMax: blockBytesMax, read: () => null };
}

/** The node's text if it refuses batches; "" if it answers them, or does not answer at all. */
function batchRefusal({ url, timeoutMs }: ProbeQuestion): Promise<string> {
  const calls = Array.from({ length: batchCalls }, (_, at) => ({
    jsonrpc: "2.0",
    id: at + 1,
    method: "eth_chainId",
    params: [],
  }));
  const target = targetOf(url);
  return new Promise((resolve) => {
    post({ target, body: JSON.stringify(calls), bytesMax: batchBytesMax, timeoutMs }, (outcome) => {
      target.close();
      if (!outcome.ok) {
        resolve(outcome.code === "NODE_TIMEOUT" ? "" : outcome.message);
        return;
      }
      const { status, body } = outcome;
      const isAnswered = status === 200 && (body.match(/"result"/g) ?? []).length === batchCalls;
      resolve(isAnswered ? "" : `HTTP status ${status}: ${wordsInBody(body)}`);
    });
  });
}
