/**
 * One simulated chain node as JSON-RPC shows it: it may lag behind the chain, answer errors, say
 * nothing for a while, take a transaction and not say so, keep one to itself, and lie. The real
 * pool judges its questions and answers.
 */
import { AgentError } from "../../../base/fault.ts";
import { kernel, note, type RpcEndpoint } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import type { Block, Chain, IncludedTransaction, Purse } from "./chain.ts";
import { type Provider, providerNamed } from "./provider.ts";
import { readRaw, type SignedTransaction } from "./raw.ts";

/** Rates in parts of 10,000, per call. */
export interface NodeFaults {
  error: number;
  silence: number; // no answer before the caller's patience ends
  lie: number; // only one node of several may
  aheadBlocks: number; // that it says its newest block to be, above the true one; the liar's alone
  hides: number; // takes a transaction and does not pass it on
  lagBlocks: number;
  slowMs: number; // most that an answer takes; 0: at once
}

export const noFaults: NodeFaults = {
  error: 0,
  silence: 0,
  lie: 0,
  aheadBlocks: 0,
  hides: 0,
  lagBlocks: 0,
  slowMs: 0,
};

const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const silenceMs = 5_000;
const tipWei = 1_000_000_000n;
/** More calls to one node than any run has that goes on. */
const callsMax = 10_000;
const texts = {
  known: "already known",
  "slot-consumed": "nonce too low",
  underpriced: "replacement transaction underpriced",
  funds: "insufficient funds for gas * price + value",
  intrinsic: "intrinsic gas too low",
  expired: "transaction expired",
} as const;

type Envelope =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly code: number; readonly message: string };

const quantity = (value: bigint | number): string => `0x${value.toString(16)}`;
const word = (value: bigint): string => `0x${value.toString(16).padStart(64, "0")}`;
const topicOf = (address: string): string => `0x${address.slice(2).padStart(64, "0")}`;

export class Node implements RpcEndpoint {
  faults: NodeFaults = { ...noFaults };
  readonly #chain: Chain;
  readonly #rejects: (receiver: string) => boolean;
  readonly #onCircle: (owner: Owner) => void;
  readonly #provider: Provider;
  #hidden: SignedTransaction[] = [];
  #calls = 0;

  constructor(
    chain: Chain,
    rejects: (receiver: string) => boolean,
    onCircle: (owner: Owner) => void,
    provider = providerNamed("evm", ""),
  ) {
    this.#provider = provider;
    this.#chain = chain;
    this.#rejects = rejects;
    this.#onCircle = onCircle;
  }

  call(method: string, params: readonly unknown[], isWrite: boolean): Promise<unknown> {
    const { random, scheduler } = kernel;
    const { error, silence, slowMs } = this.faults;
    const owner = scheduler.current;
    this.#calls += 1;
    // Answers that come at once let a caller ask permanently without time going on.
    if (this.#calls > callsMax) {
      this.#onCircle(owner);
      return new Promise(() => {});
    }
    note(`asks ${method}`, method === "eth_sendRawTransaction" ? String(params[0]).slice(-16) : 0);
    if (error > 0 && random.fault("node error", error)) {
      const isRefused = random.below("refused or failed", 2) === 0;
      if (isRefused)
        return Promise.reject(
          new AgentError("NODE_UNREACHABLE", "none", "no connection: simulated", { method }),
        );
      return Promise.resolve({ ok: false, code: -32000, message: "internal error: simulated" });
    }
    if (silence > 0 && random.fault("node silence", silence)) {
      // Whether the call was carried out before the answer was lost is the caller's question.
      if (random.below("silence after", 2) === 1) this.#answer(method, params);
      return new Promise((_, reject) => {
        scheduler.after(silenceMs, owner, () =>
          reject(
            new AgentError("NODE_TIMEOUT", isWrite ? "unknown" : "none", "no answer: simulated", {
              method,
            }),
          ),
        );
      });
    }
    const answer = (): Promise<Envelope> => this.#provided(method, params, isWrite);
    if (slowMs === 0) return answer();
    return new Promise((resolve) => {
      scheduler.after(random.below("node delay", slowMs), owner, () => resolve(answer()));
    });
  }

  /** As the provider has it: a fault of HTTP rejects. */
  async #provided(method: string, params: readonly unknown[], isWrite: boolean): Promise<Envelope> {
    this.#provider.begin(method, isWrite);
    const refused = this.#provider.refusal(method, params);
    if (refused !== null) return refused;
    const refusedSend = isWrite ? this.#provider.send() : null;
    if (refusedSend?.isTaken === false) return refusedSend.answer();
    const answer = this.#answer(method, params);
    if (refusedSend !== null) return refusedSend.answer();
    return answer.ok
      ? this.#provider.envelope(method, params, answer.result, this.#top.number)
      : answer;
  }

  /** The transactions that it kept to itself reach the others. */
  passOn(): void {
    for (const transaction of this.#hidden.splice(0)) this.#chain.offer(transaction);
  }

  get #top(): Block {
    const { blocks } = this.#chain;
    const head = blocks.length - 1;
    return blocks[Math.max(0, head - this.faults.lagBlocks - this.#provider.behind(head))] as Block;
  }

  #answer(method: string, params: readonly unknown[]): Envelope {
    if (method === "eth_sendRawTransaction") return this.#send(String(params[0]));
    const { lie, aheadBlocks } = this.faults;
    const isLie = lie > 0 && kernel.random.fault("node lie", lie);
    if (method === "eth_estimateGas") {
      return isLie
        ? lieAboutGas()
        : this.#estimate(params[0] as { to: string; value: string; data: string });
    }
    const honest = this.#read(method, params);
    if (isLie) return { ok: true, result: this.#lie(method, params, honest) };
    const isAhead =
      aheadBlocks > 0 &&
      method === "eth_getBlockByNumber" &&
      (params[0] === "latest" || params[0] === "finalized");
    return {
      ok: true,
      result: isAhead ? numberedHigher(honest as Record<string, unknown>, aheadBlocks) : honest,
    };
  }

  #read(method: string, params: readonly unknown[]): unknown {
    switch (method) {
      case "eth_chainId":
        return quantity(this.#chain.options.chainId);
      case "eth_getBlockByNumber":
        return blockJson(this.#blockAt(params[0]), params[1] === true);
      case "eth_getTransactionReceipt":
        return this.#receipt(String(params[0]));
      case "eth_getTransactionCount":
        return quantity(this.#count(String(params[0]).toLowerCase(), params[1]));
      case "eth_getBalance":
        return quantity(this.#purseOf(String(params[0]), params[1]).nativeWei);
      case "eth_getCode":
        return this.#rejects(String(params[0]).toLowerCase()) ? "0x6000" : "0x";
      case "eth_call":
        return this.#view(params[0] as { data: string }, params[1]);
      case "eth_maxPriorityFeePerGas":
        return quantity(tipWei);
      case "eth_gasPrice":
        return quantity(this.#top.baseFeeWei + tipWei);
      case "eth_feeHistory":
        return { gasUsedRatio: [0.5], reward: [[quantity(tipWei)]] };
      case "eth_getLogs":
        return this.#logs(params[0] as { readonly fromBlock: string; readonly toBlock: string });
      default:
        return [];
    }
  }

  #purseOf(address: string, tag: unknown): Purse {
    return this.#chain.purseOf(address.toLowerCase(), this.#blockAt(tag) ?? this.#top);
  }

  /** Transfers of the token, whomever they pay. */
  #logs({ fromBlock, toBlock }: { fromBlock: string; toBlock: string }): readonly unknown[] {
    const found: unknown[] = [];
    for (
      let number = Number(fromBlock);
      number <= Math.min(Number(toBlock), this.#top.number);
      number += 1
    ) {
      const block = this.#chain.blocks[number];
      for (const one of block?.included ?? []) {
        found.push(...placedLogsOf(block as Block, one));
      }
    }
    return found;
  }

  #blockAt(tag: unknown): Block | null {
    const top = this.#top;
    if (tag === "latest" || tag === "pending") return top;
    const isFinal = tag === "finalized";
    const number = isFinal
      ? Math.max(0, top.number - this.#chain.options.confirmations + 1)
      : Number(tag);
    return number > top.number ? null : (this.#chain.blocks[number] ?? null);
  }

  #count(address: string, tag: unknown): number {
    const top = this.#top;
    if (tag !== "pending") return this.#purseOf(address, tag).nonce;
    const isHotWallet = address === this.#chain.options.account;
    let { nonce } = this.#chain.purseOf(address, top);
    while (isHotWallet ? this.#chain.pool.has(nonce) : this.#chain.pools.has(`${address} ${nonce}`))
      nonce += 1;
    return nonce;
  }

  #view({ data }: { readonly data: string }, tag: unknown): string {
    if (data.startsWith("0x313ce567")) return word(6n);
    return word(this.#purseOf(`0x${data.slice(-40)}`, tag).tokenUnits);
  }

  #receipt(hash: string): unknown {
    const outsider = this.#provider.outsider(hash);
    if (outsider !== null) {
      const theirs = blockJson(this.#blockAt(outsider.number), false);
      return theirs === null
        ? null
        : outsider.receiptIn(theirs as Readonly<Record<string, unknown>>);
    }
    const block = this.#chain.includedIn(hash);
    if (block === null || block.number > this.#top.number) return null;
    return receiptJson(
      block,
      block.included.find((each) => each.transaction.hash === hash) as IncludedTransaction,
    );
  }

  #send(raw: string): Envelope {
    const transaction = readRaw(raw);
    if (transaction === null) return { ok: false, code: -32000, message: "invalid transaction" };
    if (this.faults.hides > 0 && kernel.random.fault("node hides", this.faults.hides)) {
      this.#hidden.push(transaction);
      return { ok: true, result: transaction.hash };
    }
    const answer = this.#chain.offer(transaction);
    note("offered", answer, () => `nonce ${transaction.nonce} ${answer}`);
    return answer === "accepted"
      ? { ok: true, result: transaction.hash }
      : { ok: false, code: -32000, message: texts[answer] };
  }

  #estimate({ to, data }: { readonly to: string; readonly data: string }): Envelope {
    const receiver = data === "0x" ? to.toLowerCase() : `0x${data.slice(34, 74)}`;
    if (this.#rejects(receiver)) return { ok: false, code: 3, message: "execution reverted" };
    return { ok: true, result: quantity(data === "0x" ? 21_000 : 52_000) };
  }

  /** Something else in the same shape. */
  #lie(method: string, params: readonly unknown[], honest: unknown): unknown {
    const turn = kernel.random.below("lie", 4);
    if (honest === null)
      return method === "eth_getTransactionReceipt" ? this.#invented(String(params[0])) : null;
    if (method === "eth_getTransactionCount")
      return quantity(
        Number(honest) + (turn === 0 ? 40 : turn === 1 ? 1 : -1 * Math.min(1, Number(honest))),
      );
    if (method === "eth_getBalance") return quantity(turn < 2 ? 10n ** 24n : 0n);
    if (method === "eth_maxPriorityFeePerGas")
      return quantity(kernel.random.pick("tip", [10n ** 13n, 40n * 10n ** 9n, 0n]));
    if (method === "eth_gasPrice")
      return quantity(kernel.random.pick("gas price", [10n ** 13n, 40n * 10n ** 9n, 0n]));
    if (method === "eth_getCode") return honest === "0x" ? "0x6000" : "0x";
    if (method === "eth_call") return word(turn < 2 ? 10n ** 24n : 0n);
    if (method === "eth_getTransactionReceipt")
      return lieAboutReceipt(honest as Record<string, unknown>, turn);
    if (method !== "eth_getBlockByNumber") return honest;
    const block = honest as Record<string, unknown>;
    if (turn === 0)
      return {
        ...block,
        baseFeePerGas: quantity(kernel.random.pick("base fee", [10n ** 13n, 1n])),
      };
    if (turn === 1) return { ...block, hash: `0x${"ab".repeat(32)}` };
    if (turn === 3) return { ...block, transactions: [] };
    return numberedHigher(block, kernel.random.pick("ahead by", [1, 2, 50]));
  }

  /** Transactions of the pool, shown as if they were in the newest block. */
  #invented(hash: string): unknown {
    const transaction = [...this.#chain.pool.values()].find((one) => one.hash === hash);
    if (transaction === undefined) return null;
    const { gasLimit, feeMaxWei } = transaction;
    return receiptJson(this.#top, {
      transaction,
      status: 1,
      gasUsed: gasLimit,
      gasPriceWei: feeMaxWei,
    });
  }
}

function receiptJson(block: Block, one: IncludedTransaction): object {
  const { hash, from, to } = one.transaction;
  return {
    ...{
      transactionHash: hash,
      blockNumber: quantity(block.number),
      blockHash: block.hash,
      status: quantity(one.status),
    },
    ...{ from, to, gasUsed: quantity(one.gasUsed), effectiveGasPrice: quantity(one.gasPriceWei) },
    logs: placedLogsOf(block, one),
  };
}

/**
 * Too little to be mined, too little to be carried out, far too much, or a call that would fail.
 */
function lieAboutGas(): Envelope {
  const gas = kernel.random.pick("gas", [21_000, 30_000, 41_000, 5_000_000, 0]);
  return gas === 0
    ? { ok: false, code: 3, message: "execution reverted" }
    : { ok: true, result: quantity(gas) };
}

function numberedHigher(block: Record<string, unknown>, blocks: number): unknown {
  return { ...block, number: quantity(Number(block.number) + blocks) };
}

function lieAboutReceipt(receipt: Record<string, unknown>, turn: number): unknown {
  if (turn === 0) return null;
  if (turn === 1) return { ...receipt, status: receipt.status === "0x1" ? "0x0" : "0x1", logs: [] };
  if (turn === 2) return { ...receipt, blockNumber: "0x1" };
  return { ...receipt, blockHash: `0x${"cd".repeat(32)}` };
}

const told = { full: new WeakMap<Block, object>(), light: new WeakMap<Block, object>() };

/** Each block is put into words once. */
function blockJson(block: Block | null, full: boolean): unknown {
  if (block === null) return null;
  const kept = full ? told.full : told.light;
  const known = kept.get(block) ?? wordsOf(block, full);
  kept.set(block, known);
  return known;
}

function wordsOf(block: Block, full: boolean): object {
  const transactions = block.included.map(({ transaction: one }) => {
    const { hash, from, to, nonce, valueWei, data } = one;
    return full
      ? { hash, from, to, nonce: quantity(nonce), value: quantity(valueWei), input: data }
      : hash;
  });
  const { number, hash, parentHash, timestamp, baseFeeWei } = block;
  // One token is all that there is: a bloom of nothing, or of everything.
  const logsBloom = `0x${(block.included.some((one) => logsOf(one).length > 0) ? "f" : "0").repeat(512)}`;
  return {
    ...{
      number: quantity(number),
      hash,
      parentHash,
      timestamp: quantity(timestamp),
      baseFeePerGas: quantity(baseFeeWei),
    },
    ...{ logsBloom, transactions },
  };
}

/** As a list and a receipt show them. */
function placedLogsOf(block: Block, one: IncludedTransaction): readonly unknown[] {
  const place = {
    blockNumber: quantity(block.number),
    blockHash: block.hash,
    transactionHash: one.transaction.hash,
  };
  return (logsOf(one) as object[]).map((log) => ({
    ...log,
    ...place,
    transactionIndex: "0x0",
    removed: false,
  }));
}

function logsOf({ transaction, status }: IncludedTransaction): readonly unknown[] {
  const { payment, from } = transaction;
  if (status === 0 || payment === null || payment.contract === "") return [];
  const topics = [transferTopic, topicOf(from), topicOf(payment.receiver)];
  return [{ address: payment.contract, topics, data: word(payment.units), logIndex: "0x0" }];
}
