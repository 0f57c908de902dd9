/**
 * Learns how large a part of a range one node answers in one question. The size is halved after a
 * refusal with any text or status, down to one, and grows slowly while the node answers. Touches
 * nothing itself.
 */
import { AgentError } from "../../base/fault.ts";

/** Number of answers to questions of the full size before the next one is larger. */
const answersToGrow = 16;

/**
 * Refusals for which a smaller question may help at once. A time-out or an unreachable node does
 * not show that the size is wrong, and a node at its quota wants no more questions. For these the
 * next call tries a smaller size.
 */
const mendable = new Set(["NODE_ERROR", "NODE_HTTP", "NODE_ANSWER", "NODE_ANSWER_SIZE"]);
const suspect = new Set(["NODE_TIMEOUT", "NODE_UNREACHABLE", "NODE_QUOTA"]);

/** Whether a smaller question may help at once. */
export function isRefusedSize(fault: unknown): boolean {
  return fault instanceof AgentError && mendable.has(fault.code);
}

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
   * The answers for all items, in order, each in the largest parts that the node answers. Rejects
   * with the fault of a part with one item, or of a part for which a smaller one does not help.
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
        if (!isTooLarge || !isRefusedSize(fault)) throw fault;
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
