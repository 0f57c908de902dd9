/**
 * The newest head of one node and its movement: height, time of the last rise, and the chain's
 * block time by these heads. Pure: the clock is passed in.
 */
import type { HeadView } from "../nodes.ts";

/**
 * After this time, a highest block that a node has left is forgotten, because its chain has begun
 * again.
 */
const highestMs = 3_600_000;
/**
 * A node whose head is this much older than the best one is asked after the others. Below the
 * shortest limit of a warning.
 */
const behindMs = 30_000;

export class Heads {
  #first: { readonly number: number; readonly atMs: number } | null = null;
  #number = 0;
  #atMs = 0;
  #seenAt = 0;
  #risenAt = 0;
  #highest = 0;
  #highestAt = 0;
  #blockMs: number | null = null;

  /**
   * A head of the node. `atMs` is the block's own time, Unix milliseconds, 0 for unknown; `nowMs`
   * never runs back.
   */
  saw(number: number, atMs: number, nowMs: number): void {
    const isFirst = this.#first === null;
    if (isFirst || number > this.#number) this.#risenAt = nowMs;
    if (isFirst || number < this.#number) this.#first = { number, atMs };
    if (number >= this.#highest || nowMs - this.#highestAt > highestMs) {
      this.#highest = number;
      this.#highestAt = nowMs;
    }
    [this.#number, this.#atMs, this.#seenAt] = [number, atMs, nowMs];
    const { number: from, atMs: fromMs } = this.#first ?? { number, atMs };
    if (number > from && atMs > fromMs && fromMs > 0) this.#blockMs = (atMs - fromMs) / (number - from);
  }

  /** Null before the first head. */
  view(nowMs: number): HeadView | null {
    if (this.#first === null) return null;
    return {
      number: this.#number,
      atMs: this.#atMs,
      seenAgoMs: nowMs - this.#seenAt,
      stoodForMs: this.#seenAt - this.#risenAt,
      highest: this.#highest,
      blockMs: this.#blockMs,
    };
  }

  /** True if another node's head is so much newer that this node is asked after it. */
  isBehind(best: Heads): boolean {
    return this.#first !== null && best.#atMs - this.#atMs > behindMs;
  }

  isNewerThan(other: Heads): boolean {
    return this.#atMs > other.#atMs;
  }

  /** True if the head is known, and not older than `ms`. */
  isKnownSince(ms: number, nowMs: number): boolean {
    return this.#first !== null && nowMs - this.#seenAt <= ms;
  }
}
