/**
 * A simulated EVM chain with one account that matters: blocks with base fee, a pool with the
 * replacement rule, transactions that pay or revert, reorganisations above finality. A final block
 * never leaves again. Shows nothing; `node.ts` is what others see.
 */
import { createHash } from "node:crypto";
import { kernel, note } from "../kernel/kernel.ts";
import type { SignedTransaction } from "./raw.ts";

export interface IncludedTransaction {
  readonly transaction: SignedTransaction;
  readonly status: 0 | 1;
  readonly gasUsed: bigint;
  readonly gasPriceWei: bigint;
}

/** Balance and count of a deposit address. */
export interface Purse {
  readonly nonce: number;
  readonly nativeWei: bigint;
  readonly tokenUnits: bigint;
}

export interface Block {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestamp: number;
  readonly baseFeeWei: bigint;
  readonly included: readonly IncludedTransaction[];
  /** The account's state after this block. */
  readonly nonce: number;
  readonly nativeWei: bigint;
  readonly tokenUnits: bigint;
  readonly purses: ReadonlyMap<string, Purse>; // by address, lower case
}

/** The rules of a family for what a transaction costs and which one takes another's place. */
export interface ChainRules {
  readonly gasNative: bigint;
  readonly gasToken: bigint;
  /** The least gas limit that a pool takes for a token's call, roughly. */
  readonly gasIntrinsic: bigint;
  isHigher(next: SignedTransaction, before: SignedTransaction): boolean;
  gasPriceOf(transaction: SignedTransaction, baseFeeWei: bigint): bigint;
}

export interface ChainOptions {
  readonly rules?: ChainRules; // those of an EVM chain unless told
  readonly chainId: number;
  readonly account: string; // lower case
  readonly contract: string; // the token's, lower case
  readonly confirmations: number;
  readonly nonce: number;
  readonly nativeWei: bigint;
  readonly tokenUnits: bigint;
  readonly baseFeeWei: bigint;
  readonly startedAt: number; // milliseconds
}

const gasRules: ChainRules = {
  ...{ gasNative: 21_000n, gasToken: 52_000n, gasIntrinsic: 22_000n },
  isHigher,
  gasPriceOf: ({ feeMaxWei, tipWei }, baseFeeWei) =>
    baseFeeWei + smaller(feeMaxWei - baseFeeWei, tipWei),
};

/** The pool's answer to a transaction. */
type PoolAnswer =
  | "accepted"
  | "known"
  | "slot-consumed"
  | "underpriced"
  | "funds"
  | "intrinsic"
  | "expired";

export class Chain {
  readonly options: ChainOptions;
  readonly #rules: ChainRules;
  readonly blocks: Block[] = [];
  readonly pool = new Map<number, SignedTransaction>(); // by nonce
  /** Transactions of deposit addresses, by address and nonce. */
  readonly pools = new Map<string, SignedTransaction>();
  /** Payments from outside that no block has yet. */
  #incoming: SignedTransaction[] = [];
  readonly outside = new Set<string>(); // their hashes
  /** Those that others took the place of in the pool; some miner has them still. */
  readonly #replaced = new Map<number, SignedTransaction[]>();
  /** Every transaction that ever was in a block, with the newest block that held it. */
  readonly placeOf = new Map<string, number>();
  #baseFeeWei: bigint;
  /** The highest base fee so far, also of a moment in which no block was made. */
  dearestWei: bigint;
  /** Parts of 10,000. */
  revertRate = 0;
  skipRate = 0;
  staleRate = 0;
  topEver = 0;
  /** Called for each block that is added, and with `null` when blocks are taken away. */
  onBlock: (block: Block | null) => void = () => {};
  #salt = 0;

  constructor(options: ChainOptions) {
    this.options = options;
    this.#rules = options.rules ?? gasRules;
    this.#baseFeeWei = options.baseFeeWei;
    this.dearestWei = options.baseFeeWei;
    const { nonce, nativeWei, tokenUnits } = options;
    for (let number = 0; number <= options.confirmations; number += 1)
      this.#add([], { nonce, nativeWei, tokenUnits, purses: new Map() });
  }

  get baseFeeWei(): bigint {
    return this.#baseFeeWei;
  }

  set baseFeeWei(wei: bigint) {
    this.#baseFeeWei = wei;
    if (wei > this.dearestWei) this.dearestWei = wei;
  }

  get top(): Block {
    return this.blocks[this.blocks.length - 1] as Block;
  }

  /** The newest block that never leaves the chain. */
  get finalNumber(): number {
    return Math.max(0, this.topEver - this.options.confirmations + 1);
  }

  /** Balance and count of an address after a block. */
  purseOf(address: string, block = this.top): Purse {
    if (address === this.options.account) return block;
    return block.purses.get(address) ?? { nonce: 0, nativeWei: 0n, tokenUnits: 0n };
  }

  /** Payments from outside that no block has yet. */
  get incoming(): number {
    return this.#incoming.length;
  }

  /** Somebody pays a deposit address, with the next block. */
  payIn(hash: string, receiver: string, contract: string, units: bigint): void {
    this.outside.add(hash);
    const from = `0x${"0d".repeat(20)}`;
    const payment = { contract, receiver, units };
    const fees = { tipWei: 0n, feeMaxWei: 10n ** 15n, gasLimit: this.#rules.gasToken };
    const [to, valueWei, data] =
      contract === "" ? [receiver, units, "0x"] : [contract, 0n, "0xa9059cbb"];
    this.#incoming.push({
      hash,
      from,
      chainId: this.options.chainId,
      nonce: 0,
      ...fees,
      to,
      valueWei,
      data,
      payment,
    });
  }

  #offerFrom(address: string, transaction: SignedTransaction): PoolAnswer {
    const { nonce, hash } = transaction;
    const purse = this.purseOf(address);
    const key = `${address} ${nonce}`;
    const before = this.pools.get(key);
    if (this.includedIn(hash) !== null || before?.hash === hash) return "known";
    if (nonce < purse.nonce) return "slot-consumed";
    if (this.#isShort(transaction)) return "intrinsic";
    if (before !== undefined && !this.#rules.isHigher(transaction, before)) return "underpriced";
    if (transaction.gasLimit * transaction.feeMaxWei + transaction.valueWei > purse.nativeWei)
      return "funds";
    this.pools.set(key, transaction);
    return "accepted";
  }

  #isShort({ gasLimit, data }: SignedTransaction): boolean {
    const { gasNative, gasIntrinsic } = this.#rules;
    return gasLimit < (data === "0x" ? gasNative : gasIntrinsic);
  }

  /** No block takes it any more. */
  #isExpired({ lastBlock }: SignedTransaction): boolean {
    return lastBlock !== undefined && lastBlock <= this.top.number;
  }

  /** Whether a block has it, or may still take it: always, if it names no last block. */
  canTake({ hash, lastBlock }: SignedTransaction): boolean {
    const isPast = lastBlock !== undefined && lastBlock <= this.finalNumber;
    return !isPast || this.includedIn(hash) !== null;
  }

  /** A transaction reaches the network. */
  offer(transaction: SignedTransaction): PoolAnswer {
    if (transaction.from !== this.options.account)
      return this.#offerFrom(transaction.from, transaction);
    const { nonce, hash } = transaction;
    if (this.includedIn(hash) !== null || this.pool.get(nonce)?.hash === hash) return "known";
    if (nonce < this.top.nonce) return "slot-consumed";
    if (this.#isExpired(transaction)) return "expired";
    if (this.#isShort(transaction)) return "intrinsic";
    const before = this.pool.get(nonce);
    if (before !== undefined && !this.#rules.isHigher(transaction, before)) return "underpriced";
    if (transaction.gasLimit * transaction.feeMaxWei + transaction.valueWei > this.top.nativeWei)
      return "funds";
    if (before !== undefined)
      this.#replaced.set(nonce, [...(this.#replaced.get(nonce) ?? []), before]);
    this.pool.set(nonce, transaction);
    return "accepted";
  }

  /** Takes what the pool has into a block. */
  mine(): Block {
    const { random } = kernel;
    let { nonce, nativeWei, tokenUnits } = this.top;
    const included: IncludedTransaction[] = [];
    const purses = new Map(this.top.purses);
    for (const [at, waiting] of this.pool) if (this.#isExpired(waiting)) this.pool.delete(at);
    for (const transaction of this.#incoming.splice(0)) {
      included.push({ transaction, status: 1, gasUsed: 0n, gasPriceWei: this.baseFeeWei });
      receive(purses, transaction, this.options.contract);
    }
    for (;;) {
      const transaction = this.#chosen(nonce);
      if (transaction === undefined || transaction.feeMaxWei < this.baseFeeWei) break;
      if (random.fault("block without it", this.skipRate)) break;
      const one = this.#carryOut(transaction, nativeWei, tokenUnits);
      if (one === null) break;
      this.pool.delete(nonce);
      included.push(one);
      nonce += 1;
      nativeWei -= one.gasUsed * one.gasPriceWei;
      if (one.status === 0) continue;
      nativeWei -= transaction.valueWei;
      if (transaction.payment?.contract === this.options.contract)
        tokenUnits -= transaction.payment.units;
      receive(purses, transaction, this.options.contract);
    }
    const swept = this.#mineDeposits(purses, included);
    return this.#add(included, {
      ...{
        nonce,
        nativeWei: nativeWei + swept.nativeWei,
        tokenUnits: tokenUnits + swept.tokenUnits,
        purses,
      },
    });
  }

  /**
   * Applies the transactions of deposit addresses. @returns the part of it that reaches the hot
   * wallet
   */
  #mineDeposits(
    purses: Map<string, Purse>,
    included: IncludedTransaction[],
  ): { nativeWei: bigint; tokenUnits: bigint } {
    const got = { nativeWei: 0n, tokenUnits: 0n };
    for (const address of [...purses.keys()]) {
      for (;;) {
        const purse = purses.get(address) as Purse;
        const transaction = this.pools.get(`${address} ${purse.nonce}`);
        if (transaction === undefined || transaction.feeMaxWei < this.baseFeeWei) break;
        if (kernel.random.fault("block without a sweep", this.skipRate)) break;
        const one = this.#carryOut(transaction, purse.nativeWei, purse.tokenUnits);
        if (one === null) break;
        this.pools.delete(`${address} ${purse.nonce}`);
        included.push(one);
        const { payment, valueWei } = transaction;
        const isToken = one.status === 1 && payment?.contract === this.options.contract;
        const spentWei = one.status === 1 ? valueWei : 0n;
        const units = isToken ? (payment?.units ?? 0n) : 0n;
        purses.set(address, {
          nonce: purse.nonce + 1,
          nativeWei: purse.nativeWei - one.gasUsed * one.gasPriceWei - spentWei,
          tokenUnits: purse.tokenUnits - units,
        });
        if (one.status === 0) continue;
        if (payment?.receiver !== this.options.account)
          receive(purses, transaction, this.options.contract);
        else if (isToken) got.tokenUnits += units;
        else got.nativeWei += spentWei;
      }
    }
    return got;
  }

  #chosen(nonce: number): SignedTransaction | undefined {
    const newest = this.pool.get(nonce);
    const before = (this.#replaced.get(nonce) ?? []).filter(
      (one) => one.feeMaxWei >= this.baseFeeWei && !this.#isExpired(one),
    );
    if (newest === undefined || before.length === 0) return newest;
    const isStale = kernel.random.fault("a block takes what was replaced", this.staleRate);
    return isStale ? kernel.random.pick("which of the replaced", before) : newest;
  }

  /**
   * Takes the newest blocks away, their transactions back to the pool or out of it, and builds on
   * from there.
   */
  reorganise(depth: number): void {
    const { random } = kernel;
    const most = Math.min(depth, this.top.number - this.finalNumber);
    if (most <= 0) return;
    const gone = this.blocks.splice(this.blocks.length - most);
    this.#salt += 1;
    note("reorganisation", most);
    this.onBlock(null);
    for (const { transaction } of gone.flatMap((block) => block.included)) {
      if (this.outside.has(transaction.hash)) {
        this.#incoming.push(transaction);
        continue;
      }
      if (transaction.from !== this.options.account) {
        const key = `${transaction.from} ${transaction.nonce}`;
        if (!this.pools.has(key)) this.pools.set(key, transaction);
        continue;
      }
      const isForgotten = random.fault("forgotten in a reorganisation", this.skipRate);
      if (!isForgotten && !this.pool.has(transaction.nonce))
        this.pool.set(transaction.nonce, transaction);
    }
    for (let count = 0; count < most; count += 1) this.mine();
  }

  /** Somebody else with the same key uses the next nonce for something else. */
  mineForeign(transaction: SignedTransaction): void {
    const { nonce, nativeWei, tokenUnits, purses } = this.top;
    const { gasNative } = this.#rules;
    this.pool.delete(nonce);
    this.#add([{ transaction, status: 1, gasUsed: gasNative, gasPriceWei: this.baseFeeWei }], {
      ...{
        nonce: nonce + 1,
        nativeWei: nativeWei - gasNative * this.baseFeeWei,
        tokenUnits,
        purses,
      },
    });
  }

  forget(nonce: number): void {
    this.pool.delete(nonce);
  }

  /** The block of the present chain that holds a transaction. */
  includedIn(hash: string): Block | null {
    const block = this.blocks[this.placeOf.get(hash) ?? -1];
    return block?.included.some((one) => one.transaction.hash === hash) ? block : null;
  }

  #carryOut(
    transaction: SignedTransaction,
    nativeWei: bigint,
    tokenUnits: bigint,
  ): IncludedTransaction | null {
    const { payment, feeMaxWei, gasLimit, valueWei } = transaction;
    const { gasNative, gasToken } = this.#rules;
    const gasUsed = payment?.contract === "" ? gasNative : gasToken;
    const gasPriceWei = this.#rules.gasPriceOf(transaction, this.baseFeeWei);
    if (gasLimit * feeMaxWei + valueWei > nativeWei) return null;
    const isShort = payment?.contract === this.options.contract && payment.units > tokenUnits;
    const reverts = isShort || gasLimit < gasUsed || kernel.random.fault("revert", this.revertRate);
    return {
      transaction,
      status: reverts ? 0 : 1,
      gasUsed: smaller(gasUsed, gasLimit),
      gasPriceWei,
    };
  }

  #add(
    included: readonly IncludedTransaction[],
    after: Pick<Block, "nonce" | "nativeWei" | "tokenUnits" | "purses">,
  ): Block {
    const number = this.blocks.length;
    const parentHash = number === 0 ? "0".repeat(64) : this.top.hash.slice(2);
    const text = `${number} ${parentHash} ${this.#salt} ${included.map((one) => `${one.transaction.hash}${one.status}`).join()}`;
    const block: Block = {
      ...{
        number,
        hash: `0x${createHash("sha256").update(text).digest("hex")}`,
        parentHash: `0x${parentHash}`,
      },
      timestamp: Math.floor((this.options.startedAt + kernel.scheduler.nowMs) / 1000),
      ...{ baseFeeWei: this.baseFeeWei, included, ...after },
    };
    this.blocks.push(block);
    this.topEver = Math.max(this.topEver, number);
    for (const { transaction } of included) this.placeOf.set(transaction.hash, number);
    note(
      "block",
      included.length,
      () =>
        `${number} ${included.map((one) => `nonce ${one.transaction.nonce} ${one.status}`).join()}`,
    );
    this.onBlock(block);
    return block;
  }
}

/** An address that is paid has it; the hot wallet's own is counted beside. */
function receive(
  purses: Map<string, Purse>,
  { payment }: SignedTransaction,
  contract: string,
): void {
  if (payment === null || (payment.contract !== "" && payment.contract !== contract)) return;
  const { nonce, nativeWei, tokenUnits } = purses.get(payment.receiver) ?? {
    nonce: 0,
    nativeWei: 0n,
    tokenUnits: 0n,
  };
  const isToken = payment.contract === contract;
  purses.set(payment.receiver, {
    nonce,
    nativeWei: nativeWei + (isToken ? 0n : payment.units),
    tokenUnits: tokenUnits + (isToken ? payment.units : 0n),
  });
}

/** Both fees a tenth higher at least, as the nodes ask of a replacement. */
function isHigher(next: SignedTransaction, before: SignedTransaction): boolean {
  return next.feeMaxWei * 10n >= before.feeMaxWei * 11n && next.tipWei * 10n >= before.tipWei * 11n;
}

function smaller(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}
