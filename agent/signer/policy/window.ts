/**
 * A sliding window: the sum of the amounts recorded within the last `spanMs` of ledger time, kept
 * as a running total so that a question costs the same however many there are. A cache of the
 * ledger, rebuilt by folding it. Touches nothing.
 */
import { invariant } from "../../../protocol/fault.ts";

interface Entry {
  readonly id: string;
  readonly atMs: number;
  units: bigint; // 0 once removed
}

/** `[id, ledger time, units]`, oldest first. */
export type WindowEntries = readonly (readonly [string, number, string])[];

/** At most one amount an id; the amounts recorded later than now - spanMs count. */
export class SlidingWindow {
  readonly #spanMs: number;
  readonly #byId = new Map<string, Entry>();
  #entries: Entry[] = [];
  #first = 0;
  #sum = 0n;

  constructor(spanMs: number, entries: WindowEntries = []) {
    this.#spanMs = spanMs;
    for (const [id, atMs, units] of entries) this.add(id, atMs, BigInt(units));
  }

  /**
   * Adds an amount. A bug: an id that counts already, or a time before the last one, since ledger
   * time never goes back.
   */
  add(id: string, atMs: number, units: bigint): void {
    invariant(!this.#byId.has(id), "one id counts once in a window");
    const last = this.#entries[this.#entries.length - 1];
    invariant(last === undefined || last.atMs <= atMs, "ledger time never goes back");
    this.#prune(atMs);
    const entry = { id, atMs, units };
    this.#entries.push(entry);
    this.#byId.set(id, entry);
    this.#sum += units;
  }

  /** Removes an amount; an id that is unknown or has left the window is harmless. */
  remove(id: string): void {
    const entry = this.#byId.get(id);
    if (entry === undefined) return;
    this.#byId.delete(id);
    this.#sum -= entry.units;
    entry.units = 0n;
  }

  /** The sum as of `nowMs`. */
  sumAt(nowMs: number): bigint {
    let sum = this.#sum;
    for (let i = this.#first; i < this.#entries.length; i++) {
      const entry = this.#entries[i] as Entry;
      if (entry.atMs > nowMs - this.#spanMs) break;
      sum -= entry.units;
    }
    return sum;
  }

  /** The amount of one id as of `nowMs`, 0 when it does not count. */
  unitsOf(id: string, nowMs: number): bigint {
    const entry = this.#byId.get(id);
    return entry !== undefined && entry.atMs > nowMs - this.#spanMs ? entry.units : 0n;
  }

  /** Every amount that still counts at `nowMs`, and drops the others. */
  entriesAt(nowMs: number): WindowEntries {
    this.#prune(nowMs);
    const live = this.#entries.slice(this.#first).filter((entry) => this.#byId.get(entry.id) === entry);
    return live.map((entry) => [entry.id, entry.atMs, entry.units.toString()]);
  }

  #prune(nowMs: number): void {
    while (this.#first < this.#entries.length) {
      const entry = this.#entries[this.#first] as Entry;
      if (entry.atMs > nowMs - this.#spanMs) break;
      if (this.#byId.get(entry.id) === entry) this.#byId.delete(entry.id);
      this.#sum -= entry.units;
      this.#first += 1;
    }
    // The list is cut only now and then, so that leaving the window costs a constant on average.
    if (this.#first > 1024 && this.#first * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#first);
      this.#first = 0;
    }
  }
}
