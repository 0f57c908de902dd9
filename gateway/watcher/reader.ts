/**
 * The chain as the watcher reads it. What moves money's state (final blocks and what is in them, logs, receipts, balances) is
 * taken only on the word of min(2, configured) nodes that say the same; what only shows progress is one node's word.
 * Touches chain nodes through chains/evm/node.ts, and nothing else.
 */
import type { Block, BlockHead, PlacedLog, Receipt } from "../../chains/evm/answers.ts";
import { decimalsCall, transferTopic } from "../../chains/evm/erc20.ts";
import { createEvmNodes, type EvmNodes } from "../../chains/evm/node.ts";
import type { BlockId, Counters } from "../../chains/evm/node-finality.ts";
import type { NodeLog, NodeStatus } from "../../chains/evm/node-pool.ts";
import { AgentError } from "../../protocol/fault.ts";
import type { GatewayChain } from "../config.ts";

/** Blocks, and the addresses that may be paid, as `addressTopic` writes them. */
export interface TransferFilter {
  readonly fromBlock: number;
  readonly toBlock: number;
  readonly contracts: readonly string[];
  readonly topics: readonly string[];
}

/** `agreed`: only on the word of min(2, configured) nodes. All reject with the AgentErrors of EvmNodes. */
export interface ChainReader {
  status(): readonly NodeStatus[];
  head(): Promise<BlockHead>;
  finalBlock(): Promise<BlockId>;
  receipt(txHash: string): Promise<Receipt | null>;
  finalReceipt(txHash: string): Promise<Receipt | null>;
  counters(address: string): Promise<Counters>;
  /** With its transactions. */
  block(number: number, agreed: boolean): Promise<Block>;
  /** ERC-20 transfers to the given addresses, in the order of the chain. */
  transfers(filter: TransferFilter, agreed: boolean): Promise<readonly PlacedLog[]>;
  balance(address: string, contract: string, block: number): Promise<bigint>;
  /** Of an account at the end of a block, agreed; "0x" for none. Rejects where the nodes do not keep so old a state. */
  code(address: string, block: number): Promise<string>;
  /** What the token says of itself, agreed. */
  decimals(contract: string): Promise<bigint>;
  /** Seconds since 1970 of a block, one node's word. */
  timestamp(number: number): Promise<number>;
  close(): void;
}

/** Nodes answer a window of logs as one text: blocks with thousands of transactions fit, an endless answer does not. */
const answerBytesMax = 32 * 1024 * 1024;
const timeoutMs = 15_000;

export function createReader(chain: GatewayChain, log: NodeLog): ChainReader {
  const { chainId, confirmations } = chain;
  const open = (urls: readonly string[]): EvmNodes =>
    createEvmNodes({ urls, chainId, confirmations, answerBytesMax, timeoutMs, log });
  const together = open(chain.nodes);
  // One door per node, because agreement on blocks, logs and balances is made here.
  const each = chain.nodes.length === 1 ? [together] : chain.nodes.map((url) => open([url]));

  const block = (number: number, agreed: boolean): Promise<Block> =>
    agreed
      ? agreement(each, (nodes) => nodes.block(number, { full: true }), blockKey, `block ${number}`)
      : together.block(number, { full: true });

  const transfers = (filter: TransferFilter, agreed: boolean): Promise<readonly PlacedLog[]> => {
    const { fromBlock, toBlock, contracts, topics } = filter;
    const asked = { fromBlock, toBlock, address: contracts, topics: [transferTopic, null, topics] };
    if (!agreed) return together.logs(asked);
    return agreement(each, (nodes) => nodes.logs(asked), logsKey, `transfers of blocks ${fromBlock} to ${toBlock}`);
  };

  return {
    status: together.status,
    head: together.head,
    finalBlock: together.finalBlock,
    receipt: together.receipt,
    finalReceipt: together.finalReceipt,
    counters: together.counters,
    block,
    transfers,
    balance: (address, contract, number) =>
      agreement(each, (nodes) => nodes.balance(address, contract, number), String, `balance of ${address}`),
    code: (address, number) => agreement(each, (nodes) => nodes.code(address, number), String, `code of ${address}`),
    decimals: async (contract) => {
      const data = await agreement(
        each,
        (nodes) => nodes.call(contract, decimalsCall, "latest"),
        String,
        `decimals of ${contract}`,
      );
      if (data.length !== 66) throw new AgentError("NODE_ANSWER", "none", "the token does not say its decimals", { contract });
      return BigInt(data);
    },
    timestamp: async (number) => (await together.block(number, { full: false })).timestamp,
    close: () => {
      together.close();
      for (const nodes of each) nodes.close();
    },
  };
}

function blockKey(block: Block): string {
  const { number, hash, parentHash, transactions } = block;
  return JSON.stringify([
    number,
    hash,
    parentHash,
    transactions.map((t) => [t.hash, t.from, `${t.nonce}`, t.to, `${t.valueUnits}`, t.input]),
  ]);
}

function logsKey(logs: readonly PlacedLog[]): string {
  return JSON.stringify(logs.map((log) => [log.blockHash, log.txHash, log.logIndex, log.address, log.topics, log.data]).sort());
}

/**
 * The first answer that min(2, configured) nodes give alike. Asks no more nodes than it needs while they agree.
 * @throws AgentError NODE_DISAGREE, or a node's fault when too few answered.
 */
export async function agreement<N, T>(
  nodes: readonly N[],
  ask: (node: N) => Promise<T>,
  keyOf: (value: T) => string,
  what: string,
): Promise<T> {
  const witnesses = Math.min(2, nodes.length);
  const votes = new Map<string, number>();
  let fault: AgentError | null = null;
  let answered = 0;
  for (let next = 0; next < nodes.length; ) {
    const wave = nodes.slice(next, next === 0 ? witnesses : next + 1);
    next += wave.length;
    for (const settled of await Promise.allSettled(wave.map(ask))) {
      if (settled.status === "rejected") {
        if (!(settled.reason instanceof AgentError)) throw settled.reason;
        fault ??= settled.reason;
        continue;
      }
      answered += 1;
      const key = keyOf(settled.value);
      const count = (votes.get(key) ?? 0) + 1;
      if (count >= witnesses) return settled.value;
      votes.set(key, count);
    }
  }
  if (answered < witnesses && fault !== null) throw fault;
  throw new AgentError("NODE_DISAGREE", "none", `the nodes do not agree on the ${what}`, { what, versions: votes.size });
}
