/**
 * A chain written by the test, and nodes that serve it over HTTP; each node may be made to lie
 * about any answer.
 */
import { createHash } from "node:crypto";
import { bloomOf } from "../../chains/evm/bloom.ts";
import { startFakeNode } from "./fake-node.ts";
import { startEvmFront } from "./provider/evm-front.ts";
import type { Profile } from "./provider/profile.ts";

export const fakeChainId = 31337;
const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

export interface FakeTransaction {
  readonly hash: string;
  readonly from: string;
  readonly nonce?: number;
  readonly to: string;
  readonly value?: bigint;
  readonly input?: string;
  readonly status?: 0 | 1;
  readonly transfers?: readonly {
    readonly contract: string;
    readonly from: string;
    readonly to: string;
    readonly units: bigint;
  }[];
}

interface FakeBlock {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly transactions: readonly FakeTransaction[];
}

const quantity = (value: bigint | number): string => `0x${value.toString(16)}`;
const word = (value: bigint): string => `0x${value.toString(16).padStart(64, "0")}`;
const topicOf = (address: string): string =>
  `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;
const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

export function hashOf(text: string): string {
  return `0x${createHash("sha256").update(text).digest("hex")}`;
}

interface LogFilter {
  readonly blockHash?: string;
  readonly fromBlock: string;
  readonly toBlock: string;
  readonly address: string | string[];
  readonly topics: readonly (string | string[] | null)[];
}

type Log = Record<string, unknown> & { address: string; topics: string[] };

export class FakeChain {
  blocks: FakeBlock[] = [];
  /** Coins that appear in an account without a transaction to it. */
  readonly coins: { readonly block: number; readonly address: string; readonly units: bigint }[] =
    [];
  readonly tokens = new Map<string, bigint>(); // by contract and address, lower case
  readonly contracts = new Set<string>(); // addresses with code
  /** Addresses with code from the end of one block on, and without from the end of another. */
  readonly delegations: {
    readonly address: string;
    readonly set: number;
    readonly cleared: number;
  }[] = [];
  #salt = "";
  readonly #firstSeconds: number;
  /** Pauses between two blocks, by the number of the later one. */
  readonly #pauses: { readonly from: number; readonly seconds: number }[] = [];

  /** The first block's own time in seconds since 1970; the others follow a second apart. */
  constructor(firstSeconds = 1000) {
    this.#firstSeconds = firstSeconds;
    this.mine();
  }

  /** The next block comes so much later than a second after the newest one. */
  pause(seconds: number): void {
    this.#pauses.push({ from: this.blocks.length, seconds });
  }

  /** A block's own time in seconds since 1970. */
  #timeOf(number: number): number {
    return this.#pauses.reduce(
      (at, { from, seconds }) => (number >= from ? at + seconds : at),
      this.#firstSeconds + number,
    );
  }

  get top(): number {
    return this.blocks.length - 1;
  }

  mine(...transactions: FakeTransaction[]): number {
    const number = this.blocks.length;
    const parentHash = this.blocks.at(-1)?.hash ?? hashOf("genesis's parent");
    const hash = hashOf(
      `${parentHash}${number}${this.#salt}${transactions.map((one) => one.hash).join()}`,
    );
    this.blocks.push({ number, hash, parentHash, transactions });
    return number;
  }

  mineEmpty(count: number): void {
    for (let block = 0; block < count; block += 1) this.mine();
  }

  /**
   * Leaves a transaction out of the newest blocks, all of which have other hashes then. False where
   * none of the last `depth` has it: nothing is changed.
   */
  dropTransaction(hash: string, depth: number): boolean {
    const newest = this.blocks.slice(-depth);
    if (!newest.some(({ transactions }) => transactions.some((one) => same(one.hash, hash))))
      return false;
    this.dropBlocks(newest.length);
    for (const { transactions } of newest)
      this.mine(...transactions.filter((one) => !same(one.hash, hash)));
    return true;
  }

  /** Drops the newest blocks; what is mined next has other hashes. */
  dropBlocks(count: number): void {
    this.blocks = this.blocks.slice(0, this.blocks.length - count);
    this.#salt += "x";
  }

  answer(method: string, params: readonly unknown[]): unknown {
    switch (method) {
      case "eth_chainId":
        return quantity(fakeChainId);
      case "eth_blockNumber":
        return quantity(this.top);
      case "eth_getBlockByNumber":
        return this.#block(this.#numberOf(params[0]), params[1] === true);
      case "eth_getTransactionReceipt":
        return this.#receipt(String(params[0]));
      case "eth_getBlockReceipts":
        return (
          this.blocks[this.#numberOf(params[0])]?.transactions.map(({ hash }) =>
            this.#receipt(hash),
          ) ?? null
        );
      case "eth_getLogs":
        return this.#logs(params[0] as LogFilter);
      case "eth_getBalance":
        return quantity(this.#balance(String(params[0]), this.#numberOf(params[1])));
      case "eth_getTransactionCount":
        return quantity(this.#count(String(params[0]), this.#numberOf(params[1])));
      case "eth_getCode":
        return this.#code(String(params[0]), this.#numberOf(params[1]));
      case "eth_call": {
        const { to, data } = params[0] as { to: string; data: string };
        if (data === "0x313ce567") return word(6n);
        return word(this.tokens.get(`${to} 0x${data.slice(34)}`.toLowerCase()) ?? 0n);
      }
      default:
        throw new Error(`the fake chain does not know ${method}`);
    }
  }

  #numberOf(tag: unknown): number {
    if (tag === "latest" || tag === "pending") return this.top;
    return Number(BigInt(String(tag)));
  }

  #block(number: number, full: boolean): unknown {
    const block = this.blocks[number];
    if (block === undefined) return null;
    const logs = block.transactions.flatMap((one) => logsOf(block, one));
    return {
      number: quantity(number),
      hash: block.hash,
      parentHash: block.parentHash,
      timestamp: quantity(this.#timeOf(number)),
      baseFeePerGas: "0x1",
      logsBloom: `0x${bloomOf(logs.flatMap(({ address, topics }) => [address, ...topics]))}`,
      transactions: full
        ? block.transactions.map(asJson)
        : block.transactions.map((one) => one.hash),
    };
  }

  #receipt(hash: string): unknown {
    for (const block of this.blocks) {
      const one = block.transactions.find((each) => same(each.hash, hash));
      if (one === undefined) continue;
      return {
        transactionHash: one.hash,
        blockNumber: quantity(block.number),
        blockHash: block.hash,
        status: quantity(one.status ?? 1),
        from: one.from,
        to: one.to,
        gasUsed: quantity(21000),
        effectiveGasPrice: quantity(10),
        logs: logsOf(block, one),
      };
    }
    return null;
  }

  #logs(filter: LogFilter): Log[] {
    const named = this.blocks.find(({ hash }) => hash === filter.blockHash)?.number ?? -1;
    const [from, to] =
      filter.blockHash === undefined
        ? [this.#numberOf(filter.fromBlock), this.#numberOf(filter.toBlock)]
        : [named, named];
    if (from < 0) throw new Error("unknown block");
    const addresses = [filter.address].flat();
    const wanted = filter.topics.map((topic) => (topic === null ? null : [topic].flat()));
    const inRange = this.blocks
      .slice(from, to + 1)
      .flatMap((block) => block.transactions.flatMap((one) => logsOf(block, one)));
    return inRange.filter(
      (log) =>
        addresses.some((address) => same(address, log.address)) &&
        wanted.every(
          (topics, index) => topics === null || topics.includes(log.topics[index] ?? ""),
        ),
    );
  }

  #balance(address: string, number: number): bigint {
    const paid = this.blocks
      .slice(0, number + 1)
      .flatMap((block) => block.transactions)
      .filter((one) => same(one.to, address) && one.status !== 0);
    const extra = this.coins.filter((coin) => coin.block <= number && same(coin.address, address));
    return (
      paid.reduce((sum, one) => sum + (one.value ?? 0n), 0n) +
      extra.reduce((sum, coin) => sum + coin.units, 0n)
    );
  }

  #code(address: string, number: number): string {
    const isDelegated = this.delegations.some(
      ({ address: other, set, cleared }) =>
        same(other, address) && set <= number && number < cleared,
    );
    if (isDelegated) return `0xef0100${"ab".repeat(20)}`;
    return this.contracts.has(address) ? "0x6000" : "0x";
  }

  #count(address: string, number: number): number {
    const used = this.blocks
      .slice(0, number + 1)
      .flatMap((block) => block.transactions.filter((one) => same(one.from, address)));
    return used.reduce((most, one) => Math.max(most, (one.nonce ?? 0) + 1), 0);
  }
}

function asJson(one: FakeTransaction): unknown {
  const { hash, from, to } = one;
  return {
    hash,
    from,
    to,
    nonce: quantity(one.nonce ?? 0),
    value: quantity(one.value ?? 0n),
    input: one.input ?? "0x",
  };
}

function logsOf(block: FakeBlock, one: FakeTransaction): Log[] {
  if (one.status === 0) return [];
  return (one.transfers ?? []).map((transfer, index) => ({
    address: transfer.contract,
    topics: [transferTopic, topicOf(transfer.from), topicOf(transfer.to)],
    data: word(transfer.units),
    logIndex: quantity(block.transactions.indexOf(one) * 100 + index),
    blockNumber: quantity(block.number),
    blockHash: block.hash,
    transactionHash: one.hash,
  }));
}

/** An answer that is the node's error, with its words. */
export class NodeErrorAnswer {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** Changes an honest answer; what it returns is sent. */
export type Lie = (method: string, params: readonly unknown[], honest: unknown) => unknown;

export interface ChainNode {
  readonly url: string;
  chain: FakeChain;
  lie: Lie | null;
  isDown: boolean;
  isHung: boolean; // takes questions and never answers
  isPruned: boolean; // knows the code of accounts as it is now, and of no block before
  close(): Promise<void>;
}

/** Serves a chain on a loopback port, behind a provider where a profile is given. */
export async function serveChain(chain: FakeChain, profile?: Profile): Promise<ChainNode> {
  const node = await servePlainly(chain);
  if (profile === undefined) return node;
  const front = await startEvmFront({ profile, chain: node.url });
  const { close } = node;
  return Object.assign(node, {
    url: front.url,
    close: async () => {
      await front.close();
      await close();
    },
  });
}

async function servePlainly(chain: FakeChain): Promise<ChainNode> {
  const fake = await startFakeNode({
    answer: ({ method, params }) => {
      const isOld = method === "eth_getCode" && params[1] !== "latest";
      if (node.isPruned && isOld) return { error: { code: -32000, message: "missing trie node" } };
      const honest = node.chain.answer(method, params);
      const told = node.lie === null ? honest : node.lie(method, params, honest);
      return told instanceof NodeErrorAnswer
        ? { error: { code: 3, message: told.message } }
        : { result: told };
    },
    hijack: (_calls, response) => {
      if (node.isDown) response.destroy();
      return node.isDown || node.isHung;
    },
  });
  const node: ChainNode = {
    url: fake.url,
    chain,
    lie: null,
    isDown: false,
    isHung: false,
    isPruned: false,
    close: fake.close,
  };
  return node;
}
