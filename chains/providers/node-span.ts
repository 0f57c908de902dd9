/**
 * How much of a range one node answers in one question: halved when it refuses, whatever its words
 * and status are, down to one; grown slowly while it answers. Touches nothing itself.
 */
import { AgentError } from "../../protocol/fault.ts";

/** Answers to questions of the full size before the next one is larger. */
const answersToGrow = 16;

/**
 * A refusal that a smaller question may mend at once. A node that is silent or away says nothing of
 * sizes, and one that is asked too much wants no more questions; a smaller one is tried there the
 * next time.
 */
const mendable = new Set(["NODE_ERROR", "NODE_HTTP", "NODE_ANSWER", "NODE_ANSWER_SIZE"]);
const suspect = new Set(["NODE_TIMEOUT", "NODE_UNREACHABLE", "NODE_QUOTA"]);

/** @public */
export class Span {
  readonly #max: number;
  #size: number;
  #answers = 0;

  constructor(max: number) {
    this.#max = max;
    this.#size = max;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * The answers for all items, in order, each of the largest parts that the node answers. Rejects
   * with the fault of a part that is one item, or that no smaller part mends.
   */
  async ask<I, T>(items: readonly I[], job: (part: readonly I[]) => Promise<readonly T[]>): Promise<readonly T[]> {
    const found: T[] = [];
    for (let at = 0; at < items.length; ) {
      const part = items.slice(at, at + this.#size);
      try {
        found.push(...(await job(part)));
        at += part.length;
        this.#answered(part.length);
      } catch (fault) {
        if (!(fault instanceof AgentError)) throw fault;
        const isTooLarge = part.length > 1 && (mendable.has(fault.code) || suspect.has(fault.code));
        if (isTooLarge) this.#refused(part.length);
        if (!isTooLarge || !mendable.has(fault.code)) throw fault;
      }
    }
    return found;
  }

  #answered(size: number): void {
    if (size < this.#size || this.#size === this.#max) return;
    this.#answers += 1;
    if (this.#answers < answersToGrow) return;
    this.#answers = 0;
    this.#size = Math.min(this.#max, this.#size + Math.max(1, this.#size >> 2));
  }

  #refused(size: number): void {
    this.#answers = 0;
    this.#size = Math.min(this.#size, size >> 1);
  }
}
