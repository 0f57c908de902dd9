/**
 * The chain of a desk's world: blocks with fees and income, a forgetful mempool, and
 * reorganisations of blocks that are not final. The given luck decides all that happens in it.
 */
import { gwei } from "./desk-views.ts";

export const coin = 10n ** 18n;
export const gasUsed = 21_000n;
const finalDepth = 3;

export interface Luck {
  /** Whether things may still go wrong. */
  readonly isFaulty: boolean;
  /** 0 … 1, without 1 */
  random(): number;
  /** True for that share of the times it is asked, and never once nothing goes wrong any more. */
  chance(share: number): boolean;
}

/** Bytes that a node took, of the withdrawal `id`. */
export interface Taken {
  readonly id: string;
  readonly txHash: string;
  readonly nonce: number;
  readonly maxFeePerGas: bigint;
  readonly amountWei: bigint;
}

interface Mined extends Taken {
  readonly costWei: bigint;
}

interface Block {
  readonly number: number;
  readonly hash: string;
  readonly incomeWei: bigint;
  readonly mined: readonly Mined[];
}

export class WorldChain {
  baseFee = 10n * gwei;
  readonly #luck: Luck;
  readonly #blocks: Block[] = [{ number: 0, hash: "genesis", incomeWei: 0n, mined: [] }];
  readonly #mempool = new Map<string, Taken>();
  #forks = 0;
  #final = 0;

  constructor(luck: Luck) {
    this.#luck = luck;
  }

  get number(): number {
    return this.#blocks.length - 1;
  }

  /** A final block stays final while a reorganisation leaves the chain shorter for a moment. */
  get finalNumber(): number {
    this.#final = Math.max(this.#final, this.#blocks.length - 1 - finalDepth);
    return this.#final;
  }

  hashOf(number: number): string | undefined {
    return this.#blocks[number]?.hash;
  }

  take(taken: Taken): void {
    this.#mempool.set(taken.txHash, taken);
  }

  /** Whether the chain as it stands has used this nonce. */
  hasUsed(nonce: number): boolean {
    return this.#used().has(nonce);
  }

  /** Transactions of the account in the blocks up to this one. */
  count(upTo: number): bigint {
    return BigInt(this.#blocks.slice(0, upTo + 1).reduce((sum, block) => sum + block.mined.length, 0));
  }

  placed(id: string) {
    for (const block of this.#blocks) {
      const mined = block.mined.find((one) => one.id === id);
      if (mined !== undefined) return { txHash: mined.txHash, block: block.number, blockHash: block.hash };
    }
    return null;
  }

  isFinal(txHash: string): boolean {
    const at = this.#blocks.find((block) => block.mined.some((one) => one.txHash === txHash));
    return at !== undefined && at.number <= this.finalNumber;
  }

  balanceAt(number: number): bigint {
    let balance = 0n;
    for (const block of this.#blocks.slice(0, number + 1)) {
      balance += block.incomeWei;
      for (const one of block.mined) balance -= one.costWei;
    }
    return balance;
  }

  /**
   * Makes one more block: it takes the payments with a sufficient fee, in order of nonce, and
   * income now and then.
   */
  mine(): void {
    const { isFaulty } = this.#luck;
    this.baseFee = (this.baseFee * BigInt(80 + Math.floor(this.#luck.random() * 41))) / 100n;
    if (this.baseFee < gwei) this.baseFee = gwei;
    if (this.#luck.chance(0.02)) this.baseFee *= 8n;
    if (this.baseFee > 100n * gwei && !isFaulty) this.baseFee = 20n * gwei;
    if (this.#luck.chance(0.05)) this.#reorganise();
    if (this.#luck.chance(0.05)) this.#mempool.clear();
    const mined: Mined[] = [];
    let nonce = this.#used().size;
    for (;;) {
      const next = [...this.#mempool.values()].filter((one) => one.nonce === nonce);
      const best = next.sort((a, b) => (a.maxFeePerGas < b.maxFeePerGas ? 1 : -1))[0];
      if (best === undefined || best.maxFeePerGas < this.baseFee || this.#luck.random() < 0.1) break;
      mined.push({ ...best, costWei: best.amountWei + gasUsed * this.baseFee });
      for (const one of next) this.#mempool.delete(one.txHash);
      nonce += 1;
    }
    const number = this.#blocks.length;
    const incomeWei = this.#luck.random() < 0.3 ? coin * BigInt(Math.floor(this.#luck.random() * 10)) : 0n;
    this.#blocks.push({ number, hash: `${number}-${this.#forks}-${this.#luck.random()}`, incomeWei, mined });
  }

  /**
   * Removes some of the blocks that are not final; most of their transactions are back in the
   * mempool.
   */
  #reorganise(): void {
    const depth = Math.min(1 + Math.floor(this.#luck.random() * finalDepth), this.number - this.finalNumber);
    for (const block of this.#blocks.splice(this.#blocks.length - depth, depth)) {
      for (const one of block.mined) if (this.#luck.random() < 0.7) this.take(one);
    }
    this.#forks += 1;
  }

  #used(): ReadonlySet<number> {
    return new Set(this.#blocks.flatMap((block) => block.mined.map((one) => one.nonce)));
  }
}
