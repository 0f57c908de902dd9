/**
 * Answers that could not be read. An answer about transactions of others is a server's failure
 * only if another server reads its own answer to the same question: else the item is odd, and not
 * the server. Touches nothing itself.
 */
import type { AgentError } from "../../base/fault.ts";

type AnswerSettlement = { readonly ok: true } | { readonly ok: false; readonly error: AgentError };

/** Faults of an answer that came. */
const ofAnswer: ReadonlySet<string> = new Set(["NODE_ANSWER", "CHAIN_NO_EIP1559"]);

export class UnreadAnswers<N> {
  readonly #fail: (node: N, error: AgentError) => void;
  readonly #unread = new WeakMap<AgentError, N>();

  constructor(fail: (node: N, error: AgentError) => void) {
    this.#fail = fail;
  }

  /** Takes the fault of a reader, and returns it. */
  take(node: N, error: AgentError, isOfOthers: boolean): AgentError {
    if (!ofAnswer.has(error.code)) return error;
    if (isOfOthers) this.#unread.set(error, node);
    else this.#fail(node, error);
    return error;
  }

  /** Another node has read its answer: each of these faults is its node's failure. */
  blame(faults: readonly AgentError[]): void {
    for (const fault of faults) {
      const node = this.#unread.get(fault);
      if (node !== undefined) this.#fail(node, fault);
      this.#unread.delete(fault);
    }
  }

  /** Settles the blame when all nodes have answered. A bug is the caller's. */
  async settle(answers: readonly Promise<AnswerSettlement>[]): Promise<void> {
    const all = await Promise.allSettled(answers);
    const settled = all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    if (settled.some(({ ok }) => ok))
      this.blame(settled.flatMap((one) => (one.ok ? [] : [one.error])));
  }
}
