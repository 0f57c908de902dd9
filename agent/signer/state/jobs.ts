/**
 * Our end of the chain of jobs: the newest one and the hashes of those before it, so that a repeat
 * is told from a fork. Folded from REQUESTED and REPEATED records; an opened ledger begins with
 * another. Touches nothing. Source: docs/protocol.md section 5.
 */
import { invariant } from "../../../protocol/fault.ts";
import { zeroHash } from "../../../protocol/identity.ts";

/** How many jobs back a repeat is still recognised; an older one is refused without a record. */
const rememberedMax = 4_096;

/**
 * A job's place, by its sequence.
 * @public
 */
export interface Link {
  readonly hash: string;
  readonly transactionId: string; // "" for the one that an opened ledger goes on from
}

/** @public */
export interface ChainSnapshot {
  readonly sequence: number;
  readonly hash: string;
  readonly links: readonly (readonly [number, string, string])[];
}

/**
 * The chain as far as the ledger has it. Only `fold` and `restart` change it, from records.
 * @public
 */
export class JobChain {
  #sequence: number;
  #hash: string;
  readonly #links = new Map<number, Link>();

  constructor(snapshot?: ChainSnapshot) {
    this.#sequence = snapshot?.sequence ?? 0;
    this.#hash = snapshot?.hash ?? zeroHash;
    for (const [sequence, hash, transactionId] of snapshot?.links ?? []) this.#links.set(sequence, { hash, transactionId });
  }

  /** The newest job's number, 0 before the first. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Its hash, zeros before the first. */
  get hash(): string {
    return this.#hash;
  }

  /** A job that was recorded, undefined when it is too long ago or still to come. */
  at(sequence: number): Link | undefined {
    return this.#links.get(sequence);
  }

  fold(record: { readonly sequence: number; readonly jobHash: string; readonly transactionId: string }): void {
    invariant(record.sequence === this.#sequence + 1, "jobs are recorded in order, without gaps");
    this.#sequence = record.sequence;
    this.#hash = record.jobHash;
    this.#links.set(record.sequence, { hash: record.jobHash, transactionId: record.transactionId });
    this.#links.delete(record.sequence - rememberedMax);
  }

  /** Another agent id has another chain. */
  restart(): void {
    this.#sequence = 0;
    this.#hash = zeroHash;
    this.#links.clear();
  }

  snapshot(): ChainSnapshot {
    return {
      sequence: this.#sequence,
      hash: this.#hash,
      links: [...this.#links].map(([sequence, link]) => [sequence, link.hash, link.transactionId]),
    };
  }
}
