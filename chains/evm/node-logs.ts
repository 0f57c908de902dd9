/**
 * Transfers in a run of blocks from one node, with proof. A list of logs does not show its gaps,
 * and a node that lags, or another machine behind the same address, answers with an empty list. So
 * each list is compared with the blooms of the headers. If a bloom shows logs that the list lacks,
 * the receipts of the block decide. Touches nodes only through node.ts. Sources: EIP-234 (logs by
 * block hash); Ethereum yellow paper, section 4.3.1.
 */
import { AgentError } from "../../base/fault.ts";
import { mapWithLimit } from "../map-limit.ts";
import { maySmallerQuestionHelp, QuestionSize } from "../providers/ask-smaller.ts";
import type { Block, FoundLog } from "./answers.ts";
import { mayBloomHold } from "./bloom.ts";
import type { EvmNodes } from "./node.ts";
import { transferTopic } from "./token-reads.ts";

const blocksMax = 32;
const provenAtOnce = 4;
/**
 * Providers that cut a list without a word cut it at such a length. Source: ethers-io/ethers.js
 * #1389.
 */
const cutLengths = new Set([100, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000]);

/** JSON-RPC 2.0, section 5.1: the method does not exist. */
const methodUnknown = -32_601;

export type ReadTransferLogs = (
  blocks: readonly Block[],
  contracts: readonly string[],
) => Promise<readonly FoundLog[]>;

/**
 * Reads all Transfer events of these contracts in these blocks, which follow one another, to any
 * receiver. So the question is the same for any number of watched addresses.
 * @throws AgentError NODE_NO_BLOCK while the node lags behind the blocks, NODE_DISAGREE for logs of
 * other blocks
 */
export function createTransferLogReader(
  nodes: Pick<EvmNodes, "logs" | "blockLogs">,
): ReadTransferLogs {
  const size = new QuestionSize(blocksMax);
  let isBloomTrue = true; // false on a chain whose headers have no bloom of their logs

  function mayBeIn(block: Block, contract: string): boolean {
    if (block.transactions.length === 0) return false;
    return (
      block.bloom === "" ||
      !isBloomTrue ||
      (mayBloomHold(block.bloom, contract) && mayBloomHold(block.bloom, transferTopic))
    );
  }

  /** Contracts whose logs should be in the list but are not. */
  const missing = (
    block: Block,
    contracts: readonly string[],
    logs: readonly FoundLog[],
  ): readonly string[] =>
    contracts.filter(
      (contract) => mayBeIn(block, contract) && !logs.some(({ address }) => address === contract),
    );

  function isProven(
    block: Block,
    contracts: readonly string[],
    logs: readonly FoundLog[],
  ): boolean {
    for (const { address, blockHash } of logs) {
      if (blockHash !== block.hash) throw blockMismatchFault(block.number, "a log");
      if (block.bloom !== "" && !mayBloomHold(block.bloom, address)) isBloomTrue = false;
    }
    return missing(block, contracts, logs).length === 0 && !cutLengths.has(logs.length);
  }

  async function proofOf(block: Block, contracts: readonly string[]): Promise<readonly FoundLog[]> {
    const byHash = await nodes
      .logs({ blockHash: block.hash, address: contracts, topics: [transferTopic] })
      .catch(unanswered);
    if (byHash !== null && isProven(block, contracts, byHash)) return byHash;
    return ofReceipts(block, contracts);
  }

  async function ofReceipts(
    block: Block,
    contracts: readonly string[],
  ): Promise<readonly FoundLog[]> {
    const all = await nodes.blockLogs(block);
    return all.filter(
      ({ address, topics }) => contracts.includes(address) && topics[0] === transferTopic,
    );
  }

  /** The receipts of a block answer if the node refuses even the list of this one block. */
  async function askOne(block: Block, contracts: readonly string[]): Promise<readonly FoundLog[]> {
    const filter = {
      fromBlock: block.number,
      toBlock: block.number,
      address: contracts,
      topics: [transferTopic],
    };
    try {
      return await nodes.logs(filter);
    } catch (fault) {
      if (!maySmallerQuestionHelp(fault) || isWithoutLogs(fault)) throw fault;
      return ofReceipts(block, contracts).catch((other) => {
        throw unanswered(other) ?? fault;
      });
    }
  }

  async function ask(
    part: readonly Block[],
    contracts: readonly string[],
  ): Promise<readonly FoundLog[]> {
    const [first, last = first] = [part[0], part.at(-1)];
    if (first === undefined || last === undefined) return [];
    if (part.length === 1) return askOne(first, contracts);
    const [fromBlock, toBlock] = [first.number, last.number];
    const logs = await nodes.logs({
      fromBlock,
      toBlock,
      address: contracts,
      topics: [transferTopic],
    });
    if (!cutLengths.has(logs.length)) return logs;
    throw new AgentError(
      "NODE_ERROR",
      "none",
      `the node's list of logs may be cut at ${logs.length}`,
      { fromBlock, toBlock },
    );
  }

  return async (blocks, all) => {
    const contracts = all.map((contract) => contract.toLowerCase());
    const logs = await size.parts(blocks, (part) => ask(part, contracts));
    const byBlock = new Map<number, readonly FoundLog[]>();
    for (const block of blocks)
      byBlock.set(
        block.number,
        logs.filter(({ blockNumber }) => blockNumber === block.number),
      );
    const open = blocks.filter(
      (block) => !isProven(block, contracts, byBlock.get(block.number) ?? []),
    );
    await mapWithLimit(open, provenAtOnce, async (block) =>
      byBlock.set(block.number, await proofOf(block, contracts)),
    );
    return [...byBlock.values()].flat();
  };
}

/** The node may not support the question by hash, or may not have the block. */
function unanswered(fault: unknown): null {
  if (fault instanceof AgentError && fault.code !== "NODE_CLOSED") return null;
  throw fault;
}

/** A node without this method is a fault to report: the receipts of every block cost too much. */
function isWithoutLogs(fault: unknown): boolean {
  return fault instanceof AgentError && fault.context.rpcCode === methodUnknown;
}

export function blockMismatchFault(block: number, what: string): AgentError {
  return new AgentError(
    "NODE_DISAGREE",
    "none",
    `the nodes' block ${block} and ${what} of it do not belong together`,
    { block },
  );
}
