/**
 * The chain of a desk's world where versions end by waiting: a block each three seconds by the
 * chain's own clock, halts, a forgetful mempool, and reorganisations of what is not final. A block
 * takes what has not ended by the time of the block before it, as java-tron does.
 */
import type { Luck } from "./desk-world-chain.ts";

export const slotMs = 3_000;
export const startMs = 1_790_000_000_000;
export const finalDepth = 6;
export const feeSun = 268_000n;

/** Bytes that a node took, of the withdrawal `id`. */
export interface Offered {
  readonly id: string;
  readonly txHash: string;
  readonly untilMs: number;
  readonly amountSun: bigint;
}

interface Block {
  readonly number: number;
  readonly hash: string;
  readonly atMs: number; // chain time
  readonly incomeSun: bigint;
  readonly taken: readonly Offered[];
}

export class WaitingChain {
  readonly #luck: Luck;
  readonly #blocks: Block[] = [{ number: 0, hash: "genesis", atMs: startMs, incomeSun: 0n, taken: [] }];
  readonly #mempool = new Map<string, Offered>();
  readonly #everTaken = new Set<string>();
  #final = 0;
  #haltedUntilMs = 0;

  constructor(luck: Luck) {
    this.#luck = luck;
  }

  get number(): number {
    return this.#blocks.length - 1;
  }

  get finalNumber(): number {
    this.#final = Math.max(this.#final, this.number - finalDepth);
    return this.#final;
  }

  /** The time of the final block. */
  get finalMs(): number {
    return this.#blocks[this.finalNumber]!.atMs;
  }

  hashOf(number: number): string | undefined {
    return this.#blocks[number]?.hash;
  }

  offer(offered: Offered): void {
    this.#mempool.set(offered.txHash, offered);
  }

  isPast(untilMs: number): boolean {
    return this.#blocks.at(-1)!.atMs > untilMs;
  }

  placed(txHashes: readonly string[]) {
    for (const block of this.#blocks) {
      const found = block.taken.find((one) => txHashes.includes(one.txHash));
      if (found !== undefined) return { txHash: found.txHash, block: block.number, blockHash: block.hash };
    }
    return null;
  }

  /** Also in a block that a reorganisation took away. */
  hasTaken(txHash: string): boolean {
    return this.#everTaken.has(txHash);
  }

  /** So many transactions of a withdrawal are in blocks. */
  payments(id: string): number {
    return this.#blocks.flatMap(({ taken }) => taken).filter((one) => one.id === id).length;
  }

  balanceAt(number: number): bigint {
    let balance = 0n;
    for (const block of this.#blocks.slice(0, number + 1)) {
      balance += block.incomeSun;
      for (const one of block.taken) balance -= one.amountSun + feeSun;
    }
    return balance;
  }

  /** One more block at the world's time, unless the chain stands still. */
  mine(nowMs: number): void {
    if (nowMs < this.#haltedUntilMs) return;
    if (this.#luck.chance(0.004)) this.#haltedUntilMs = nowMs + Math.floor(this.#luck.random() * 900_000);
    if (this.#luck.chance(0.03)) this.#reorganise();
    if (this.#luck.chance(0.03)) this.#mempool.clear();
    const before = this.#blocks.at(-1)!;
    const taken: Offered[] = [];
    for (const [txHash, one] of this.#mempool) {
      if (before.atMs > one.untilMs) this.#mempool.delete(txHash);
      else if (this.placed([txHash]) === null && this.#luck.random() < 0.7) {
        taken.push(one);
        this.#everTaken.add(txHash);
        this.#mempool.delete(txHash);
      }
    }
    const incomeSun = this.#luck.random() < 0.3 ? BigInt(Math.floor(this.#luck.random() * 10)) * 1_000_000n : 0n;
    const number = this.#blocks.length;
    this.#blocks.push({ number, hash: `${number}-${this.#luck.random()}`, atMs: startMs + nowMs, incomeSun, taken });
  }

  /** Blocks that are not final vanish; most of what they held is offered again. */
  #reorganise(): void {
    const depth = Math.min(1 + Math.floor(this.#luck.random() * finalDepth), this.number - this.finalNumber);
    for (const block of this.#blocks.splice(this.#blocks.length - depth, depth)) {
      for (const one of block.taken) if (this.#luck.random() < 0.7) this.offer(one);
    }
  }
}
