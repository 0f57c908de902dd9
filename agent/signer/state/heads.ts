/**
 * The ledger's head, and the hashes from the newest acknowledged record on, with which the
 * gateway's heads are compared. Built from records. Touches nothing.
 */
import { zeroHash } from "../../../protocol/identity.ts";
import type { Head } from "../../../protocol/messages.ts";

/** `from` is the seq of the first hash. */
export interface HeadsSnapshot {
  readonly acked: Head;
  readonly from: number;
  readonly hashes: readonly string[];
  readonly at: number;
}

/** Our head, and the newest head that the gateway has acknowledged. */
export class Heads {
  #acked: Head;
  #from: number;
  #first = 0;
  #hashes: string[];
  #at: number;

  constructor(snapshot?: HeadsSnapshot) {
    this.#acked = snapshot?.acked ?? { seq: 0, hash: zeroHash };
    this.#from = snapshot?.from ?? 1;
    this.#hashes = [...(snapshot?.hashes ?? [])];
    this.#at = snapshot?.at ?? 0;
  }

  /** The newest record, durable or about to be. Seq 0 before the first. */
  get head(): Head {
    const last = this.#hashes.length - 1;
    return last < this.#first
      ? this.#acked
      : { seq: this.#from + last - this.#first, hash: this.#hashes[last] as string };
  }

  /** The newest head that the gateway has acknowledged. */
  get acked(): Head {
    return this.#acked;
  }

  /** Ledger time: the time of the newest record. */
  get at(): number {
    return this.#at;
  }

  /** Returns the hash of a record; null if it is in the future or before the acknowledged one. */
  hashAt(seq: number): string | null {
    if (seq === this.#acked.seq) return this.#acked.hash;
    return seq < this.#from ? null : (this.#hashes[this.#first + seq - this.#from] ?? null);
  }

  apply(record: { readonly seq: number; readonly hash: string; readonly at: number }): void {
    if (this.#hashes.length === this.#first) this.#from = record.seq;
    this.#hashes.push(record.hash);
    this.#at = record.at;
  }

  acknowledge(acked: Head): void {
    this.#acked = acked;
    const known = this.#hashes.length - this.#first;
    const gone = Math.min(Math.max(acked.seq + 1 - this.#from, 0), known);
    this.#first += gone;
    this.#from += gone;
    if (this.#first > 1024 && this.#first * 2 > this.#hashes.length) {
      this.#hashes = this.#hashes.slice(this.#first);
      this.#first = 0;
    }
  }

  snapshot(): HeadsSnapshot {
    return {
      acked: this.#acked,
      from: this.#from,
      hashes: this.#hashes.slice(this.#first),
      at: this.#at,
    };
  }
}
