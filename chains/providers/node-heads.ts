/**
 * The newest head of one node and its movement: height, time of the last rise, and the chain's
 * block time by these heads. Heads are compared by height, and at one height by the blocks below
 * them. Pure: the clock is passed in.
 */
import type { HeadView } from "../nodes.ts";

/**
 * After this time, a highest block that a node has left is forgotten, because its chain has begun
 * again.
 */
const highestMs = 3_600_000;
/**
 * A node that lacks the blocks of this time is asked after the others. Below the shortest limit of
 * a warning.
 */
const behindMs = 30_000;
/** Time between two blocks before a node's heads have shown it. */
const blockMsUnknown = 12_000;
/** Blocks of which a node's hashes are remembered. */
const linksMax = 16;

/** A head's own hash, and that of its parent; "" for unknown. */
export interface HeadHashes {
  readonly hash: string;
  readonly parentHash: string;
}

export class NodeHeads {
  #first: { readonly number: number; readonly atMs: number } | null = null;
  #number = 0;
  #atMs = 0;
  #seenAt = 0;
  #risenAt = 0;
  #highest = 0;
  #highestAt = 0;
  #blockMs: number | null = null;
  #link: HeadHashes = { hash: "", parentHash: "" };
  readonly #shown = new Set<string>(); // hashes, the oldest first

  /**
   * A head of the node. `atMs` is the block's own time, Unix milliseconds, 0 for unknown; `nowMs`
   * never runs back.
   */
  saw(
    number: number,
    atMs: number,
    nowMs: number,
    link: HeadHashes = { hash: "", parentHash: "" },
  ): void {
    this.#link = link;
    for (const hash of [link.parentHash, link.hash]) if (hash !== "") this.#shown.add(hash);
    for (const hash of this.#shown) {
      if (this.#shown.size <= linksMax) break;
      this.#shown.delete(hash);
    }
    const isFirst = this.#first === null;
    if (isFirst || number > this.#number) this.#risenAt = nowMs;
    if (isFirst || number < this.#number) this.#first = { number, atMs };
    if (number >= this.#highest || nowMs - this.#highestAt > highestMs) {
      this.#highest = number;
      this.#highestAt = nowMs;
    }
    [this.#number, this.#atMs, this.#seenAt] = [number, atMs, nowMs];
    const { number: from, atMs: fromMs } = this.#first ?? { number, atMs };
    if (number > from && atMs > fromMs && fromMs > 0)
      this.#blockMs = (atMs - fromMs) / (number - from);
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

  /** Null before the first head. */
  get number(): number | null {
    return this.#first === null ? null : this.#number;
  }

  /** Time between two blocks by these heads, null before the head rose. */
  get blockMs(): number | null {
    return this.#blockMs;
  }

  /** True if so many blocks are missing up to a height that this node is asked after others. */
  isBehind(height: number, blockMs: number | null): boolean {
    return this.#first !== null && (height - this.#number) * (blockMs ?? blockMsUnknown) > behindMs;
  }

  /** True if the other node has shown this head, or the block below it. */
  isJoinedTo(other: NodeHeads): boolean {
    const { hash, parentHash } = this.#link;
    return (
      (hash !== "" && other.#shown.has(hash)) || (parentHash !== "" && other.#shown.has(parentHash))
    );
  }

  /** True if the head is known, and not older than `ms`. */
  isKnownSince(ms: number, nowMs: number): boolean {
    return this.#first !== null && nowMs - this.#seenAt <= ms;
  }
}
