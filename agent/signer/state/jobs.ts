/**
 * Our end of the jobs, which are linked by hash: the newest job and the hashes of earlier ones, to
 * tell a repeat from a fork. Built from REQUESTED and REPEATED records; a recovered ledger begins
 * at another job. Touches nothing. Source: docs/protocol.md section 5.
 */
import { invariant } from "../../../base/fault.ts";
import { zeroHash } from "../../../protocol/identity.ts";

/**
 * The number of jobs back in which a repeat is recognised; an older one is refused without a
 * record.
 */
const rememberedMax = 4_096;

/** A job in the sequence. */
export interface Link {
  readonly hash: string;
  readonly transactionId: string; // "" for the job after which a recovered ledger continues
}

export interface ChainSnapshot {
  readonly sequence: number;
  readonly hash: string;
  readonly links: readonly (readonly [number, string, string])[];
}

/** The jobs as far as the ledger has them. Only `apply` and `restart` change it, from records. */
export class JobSequence {
  #sequence: number;
  #hash: string;
  readonly #links = new Map<number, Link>();

  constructor(snapshot?: ChainSnapshot) {
    this.#sequence = snapshot?.sequence ?? 0;
    this.#hash = snapshot?.hash ?? zeroHash;
    for (const [sequence, hash, transactionId] of snapshot?.links ?? [])
      this.#links.set(sequence, { hash, transactionId });
  }

  /** The newest job's number, 0 before the first. */
  get sequence(): number {
    return this.#sequence;
  }

  /** The newest job's hash, zeros before the first. */
  get hash(): string {
    return this.#hash;
  }

  /** Returns a recorded job; undefined if it is too old or still to come. */
  at(sequence: number): Link | undefined {
    return this.#links.get(sequence);
  }

  apply(record: {
    readonly sequence: number;
    readonly jobHash: string;
    readonly transactionId: string;
  }): void {
    invariant(record.sequence === this.#sequence + 1, "jobs are recorded in order, without gaps");
    this.#sequence = record.sequence;
    this.#hash = record.jobHash;
    this.#links.set(record.sequence, { hash: record.jobHash, transactionId: record.transactionId });
    this.#links.delete(record.sequence - rememberedMax);
  }

  /** Starts the numbers again for another agent id. */
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
