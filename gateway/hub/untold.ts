/**
 * The news for the next acknowledgements of one connection: withdrawals that have ended, and
 * void attempts. An acknowledgement can be lost on an open connection, so each ended one is told
 * twice; the next handshake tells all again. Holds nothing that the database does not have.
 */
import type { Ack } from "../../protocol/messages.ts";
import { endedPerAckMax, voidPerAckMax } from "../../protocol/payloads.ts";

export class UnreportedEnds {
  readonly #ended = new Set<string>();
  #told: string[] = []; // only once so far
  readonly #repeated = new Set<string>(); // to be told a second time
  readonly #commanded = new Set<string>(); // added already
  readonly #voided = new Set<string>(); // hashes

  get hasMore(): boolean {
    return this.#ended.size + this.#voided.size > 0;
  }

  addEnded(ids: Iterable<string>): void {
    for (const id of ids) this.#ended.add(id);
  }

  /** Those that an operator ended by a command, so by another process; each once a connection. */
  addCommanded(ids: Iterable<string>): void {
    for (const id of ids) {
      if (!this.#commanded.has(id)) this.#ended.add(id);
      this.#commanded.add(id);
    }
  }

  addVoid(hashes: Iterable<string>): void {
    for (const txHash of hashes) this.#voided.add(txHash);
  }

  /** The part of the next acknowledgement, which counts as told from now on. */
  take(): Pick<Ack, "ended" | "void"> {
    const ended = [...this.#ended].slice(0, endedPerAckMax);
    for (const id of ended) {
      this.#ended.delete(id);
      if (!this.#repeated.delete(id)) this.#told.push(id);
    }
    const hashes = [...this.#voided].slice(0, voidPerAckMax);
    for (const txHash of hashes) this.#voided.delete(txHash);
    return { ended, ...(hashes.length === 0 ? {} : { void: hashes }) };
  }

  /** The ended ones that were told once come a second time. */
  repeat(): void {
    const again = this.#told;
    this.#told = [];
    for (const id of again) this.#repeated.add(id);
    this.addEnded(again);
  }
}
