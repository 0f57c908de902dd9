/**
 * The parts of a chain's state, each an answer of its own: one that cannot be read costs only what
 * needs it. Pure.
 */
import type { AgentError } from "../base/fault.ts";
import { resultOf } from "../base/result.ts";
import type { StatePart } from "./chain-state.ts";

export class StatePartReader {
  readonly #unread = new Map<StatePart, AgentError>();

  /** The part; null after a fault, which is kept. @throws AgentError NODE_CLOSED */
  async read<T>(part: StatePart, job: () => Promise<T>): Promise<T | null> {
    const told = await resultOf(job);
    if (told.ok) return told.value;
    if (!this.#unread.has(part)) this.#unread.set(part, told.fault);
    return null;
  }

  /** For the chain's state: nothing if every part was read. */
  told(): { readonly unread?: ReadonlyMap<StatePart, AgentError> } {
    return this.#unread.size === 0 ? {} : { unread: this.#unread };
  }
}
