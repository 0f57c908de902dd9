/**
 * Questions about a chain's present state, as methods with readers of their answers. They go to one
 * node, or to several that must agree.
 */
import { AgentError } from "../../base/fault.ts";
import { type BlockHead, parentHashIn, readData, readHead, readQuantity } from "./answers.ts";
import { gasPriceOracle } from "./data-fee.ts";
import type { NodePool, PoolNode, Question } from "./node-wire.ts";
import { encodeBalanceCall } from "./token-reads.ts";

/**
 * Contract code is at most 24,576 bytes (EIP-170), twice as many characters in hex; call results
 * have the same bound.
 */
export const dataBytesMax = 128 * 1024;

/** The node's newest head. The pool remembers it as the newest that this node showed. */
export async function askHead(pool: NodePool, node: PoolNode): Promise<BlockHead> {
  const read = (result: unknown) => ({ head: readHead(result), parentHash: parentHashIn(result) });
  const { head, parentHash } = await pool.ask(node, {
    method: "eth_getBlockByNumber",
    params: ["latest", false],
    read,
  });
  pool.sawHead(node, head.number, head.timestamp * 1000, { hash: head.hash, parentHash });
  return head;
}

export const tipQuestion: Question<bigint> = {
  method: "eth_maxPriorityFeePerGas",
  params: [],
  read: (result) => readQuantity(result, "priority fee"),
};

export const gasPriceQuestion: Question<bigint> = {
  method: "eth_gasPrice",
  params: [],
  read: (result) => readQuantity(result, "gas price"),
};

export function callQuestion(to: string, data: string, block: number | "latest"): Question<string> {
  const read = (result: unknown): string => readData(result, "call result");
  return {
    method: "eth_call",
    params: [{ to, data }, tagOf(block)],
    answerBytesMax: dataBytesMax,
    read,
  };
}

/** Wei, or base units of the token when `contract` is not "". */
export function balanceQuestion(
  address: string,
  contract: string,
  block: number | "latest",
): Question<bigint> {
  if (contract !== "") {
    const { read, ...call } = callQuestion(contract, encodeBalanceCall(address), block);
    return { ...call, read: (result) => readWord(read(result)) };
  }
  return {
    method: "eth_getBalance",
    params: [address, tagOf(block)],
    read: (result) => readQuantity(result, "balance"),
  };
}

/** One figure of the contract that prices data on an OP Stack chain. */
export function oracleQuestion(call: string): Question<bigint> {
  const { read, ...question } = callQuestion(gasPriceOracle, call, "latest");
  return { ...question, read: (result) => readWord(read(result)) };
}

export function codeQuestion(address: string, block: number | "latest"): Question<string> {
  const read = (result: unknown): string => readData(result, "code");
  return {
    method: "eth_getCode",
    params: [address, tagOf(block)],
    answerBytesMax: dataBytesMax,
    read,
  };
}

/** A call whose gas is to be estimated. */
export interface GasCall {
  readonly from: string;
  readonly to: string;
  readonly valueWei: bigint;
  readonly data: string;
}

export function gasQuestion({ from, to, valueWei, data }: GasCall): Question<bigint> {
  const params = [{ from, to, value: `0x${valueWei.toString(16)}`, data }];
  return {
    method: "eth_estimateGas",
    params,
    read: (result) => readQuantity(result, "gas estimate"),
  };
}

/** The number of transactions of the account at or below the block that `tag` names. */
export function accountTransactionCountQuestion(address: string, tag: string): Question<bigint> {
  const read = (result: unknown): bigint => readQuantity(result, "transaction count");
  return { method: "eth_getTransactionCount", params: [address, tag], read };
}

function readWord(data: string): bigint {
  if (data.length !== 66)
    throw new AgentError("NODE_ANSWER", "none", "the contract's answer is not one word");
  return BigInt(data);
}

function tagOf(block: number | "latest"): string {
  return block === "latest" ? block : `0x${block.toString(16)}`;
}
