/**
 * Asks one server for less where it refuses more: smaller parts of a list, smaller pages, fewer
 * calls at once. One rule for every family. The size is halved after a refusal with any text or
 * status, down to one, and grows slowly while the server answers. Touches nothing itself.
 */
import { AgentError } from "../../base/fault.ts";

/** Number of answers to questions of the full size before the next one is larger. */
const answersToGrow = 16;

/**
 * Refusals for which a smaller question may help at once. A time-out or an unreachable server does
 * not show that the size is wrong, and a server at its quota wants no more questions. For these the
 * next call tries a smaller size.
 */
const mendable = new Set([
  "NODE_ERROR",
  "NODE_HTTP",
  "NODE_PATH",
  "NODE_ANSWER",
  "NODE_ANSWER_SIZE",
]);
const suspect = new Set(["NODE_TIMEOUT", "NODE_UNREACHABLE", "NODE_QUOTA"]);

/** Whether a smaller question may help at once. */
export function maySmallerQuestionHelp(fault: unknown): boolean {
  return fault instanceof AgentError && mendable.has(fault.code);
}

/** How much one server answers in one question of one name. */
export class QuestionSize {
  readonly #max: number;
  #now: number;
  #answers = 0;

  constructor(max: number) {
    this.#max = max;
    this.#now = max;
  }

  get now(): number {
    return this.#now;
  }

  answered(asked: number): void {
    if (asked < this.#now || this.#now === this.#max) return;
    this.#answers += 1;
    if (this.#answers < answersToGrow) return;
    this.#answers = 0;
    this.#now = Math.min(this.#max, this.#now + Math.max(1, this.#now >> 2));
  }

  refused(asked: number): void {
    this.#answers = 0;
    this.#now = Math.max(1, Math.min(this.#now, asked) >> 1);
  }

  /**
   * The answer to the largest question that the server answers. Rejects with the fault of the
   * smallest one, or of one for which a smaller one does not help at once. `ask` gets the size.
   */
  async ask<T>(most: number, ask: (size: number) => Promise<T>): Promise<T> {
    for (;;) {
      const size = Math.min(this.#now, most);
      try {
        const answer = await ask(size);
        this.answered(size);
        return answer;
      } catch (fault) {
        if (!(fault instanceof AgentError)) throw fault;
        const isTooLarge = size > 1 && (mendable.has(fault.code) || suspect.has(fault.code));
        if (isTooLarge) this.refused(size);
        if (!isTooLarge || !maySmallerQuestionHelp(fault)) throw fault;
      }
    }
  }

  /** The answers for all items, in order, each in the largest parts that the server answers. */
  async parts<I, T>(
    items: readonly I[],
    job: (part: readonly I[]) => Promise<readonly T[]>,
  ): Promise<readonly T[]> {
    const found: T[] = [];
    for (let at = 0; at < items.length; ) {
      const part = await this.ask(items.length - at, async (size) => {
        const some = items.slice(at, at + size);
        return { count: some.length, answers: await job(some) };
      });
      found.push(...part.answers);
      at += part.count;
    }
    return found;
  }
}

/** The sizes of one question, by server. */
export class QuestionSizes<N extends object> {
  readonly #max: number;
  readonly #byNode = new WeakMap<N, QuestionSize>();

  constructor(max: number) {
    this.#max = max;
  }

  of(node: N): QuestionSize {
    const known = this.#byNode.get(node) ?? new QuestionSize(this.#max);
    this.#byNode.set(node, known);
    return known;
  }
}
