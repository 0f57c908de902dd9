/**
 * A sliding window: the sum of the amounts recorded within the last `spanMs` of ledger time, and of
 * those that can still be paid however old they are. The sum is a running total, so that a question
 * costs the same however many there are. A cache of the ledger, rebuilt by folding it. Touches
 * nothing.
 */
import { invariant } from "../../../protocol/fault.ts";

/**
 * How an amount counts. `spent`: for the span of the window, from its own time on. `payable`: until
 * it is said to be something else, and for the span at least. `back`: it was given back, and counts
 * among `backAt` for the span.
 * @public
 */
export type Standing = "spent" | "payable" | "back";

interface Entry {
  readonly id: string;
  readonly atMs: number;
  units: bigint; // 0 once removed
  standing: Standing;
}

/** `[id, ledger time, units]`, oldest first; the standing where it is not `spent`. */
export type WindowEntries = readonly (readonly [string, number, string, Standing?])[];

/** At most one amount an id. */
export class SlidingWindow {
  readonly #spanMs: number;
  readonly #byId = new Map<string, Entry>();
  /** Payable amounts that are older than the span, oldest first. */
  readonly #overdue = new Set<Entry>();
  #entries: Entry[] = [];
  #first = 0;
  #sum = 0n;
  #back = 0n;

  constructor(spanMs: number, entries: WindowEntries = []) {
    this.#spanMs = spanMs;
    for (const [id, atMs, units, standing = "spent"] of entries) this.add(id, atMs, BigInt(units), standing);
  }

  /**
   * Adds an amount. A bug: an id that counts already, or a time before the last one, since ledger
   * time never goes back.
   */
  add(id: string, atMs: number, units: bigint, standing: Standing = "spent"): void {
    invariant(!this.#byId.has(id), "one id counts once in a window");
    const last = this.#entries[this.#entries.length - 1];
    invariant(last === undefined || last.atMs <= atMs, "ledger time never goes back");
    this.#prune(atMs);
    const entry = { id, atMs, units, standing };
    this.#entries.push(entry);
    this.#byId.set(id, entry);
    this.#count(entry, units);
  }

  /** Removes an amount; an id that is unknown or has left the window is harmless. */
  remove(id: string): void {
    const entry = this.#byId.get(id);
    if (entry === undefined) return;
    this.#byId.delete(id);
    this.#overdue.delete(entry);
    this.#count(entry, -entry.units);
    entry.units = 0n;
  }

  /**
   * Lets an amount count otherwise from now on. One that is not here any more, and can be paid
   * after all, counts again from `atMs`; twice is harmless.
   */
  stand(id: string, standing: Standing, { atMs, units }: { readonly atMs: number; readonly units: bigint }): void {
    const entry = this.#byId.get(id);
    if (entry === undefined) {
      if (standing === "payable") this.add(id, atMs, units, standing);
      return;
    }
    if (entry.standing === standing) return;
    if (this.#overdue.has(entry)) {
      this.remove(id);
      return;
    }
    this.#count(entry, -entry.units);
    entry.standing = standing;
    this.#count(entry, entry.units);
  }

  /** The sum as of `nowMs`, without what was given back. */
  sumAt(nowMs: number): bigint {
    return this.#sum - this.#goneAt(nowMs, "spent");
  }

  /** The sum of what was given back, as of `nowMs`. */
  backAt(nowMs: number): bigint {
    return this.#back - this.#goneAt(nowMs, "back");
  }

  /** The amount of one id as of `nowMs`, 0 when it does not count or was given back. */
  unitsOf(id: string, nowMs: number): bigint {
    const entry = this.#byId.get(id);
    if (entry === undefined || entry.standing === "back") return 0n;
    return entry.standing === "payable" || entry.atMs > nowMs - this.#spanMs ? entry.units : 0n;
  }

  /** Every amount that still counts at `nowMs`, and drops the others. */
  entriesAt(nowMs: number): WindowEntries {
    this.#prune(nowMs);
    const live = this.#entries.slice(this.#first).filter((entry) => this.#byId.get(entry.id) === entry);
    return [...this.#overdue, ...live].map(({ id, atMs, units, standing }) => {
      const said = [id, atMs, units.toString()] as const;
      return standing === "spent" ? said : [...said, standing];
    });
  }

  #count({ standing }: Entry, units: bigint): void {
    if (standing === "back") this.#back += units;
    else this.#sum += units;
  }

  /** Entries older than the span at `nowMs` that were not dropped yet. */
  #goneAt(nowMs: number, standing: Standing): bigint {
    let units = 0n;
    for (let i = this.#first; i < this.#entries.length; i++) {
      const entry = this.#entries[i] as Entry;
      if (entry.atMs > nowMs - this.#spanMs) break;
      if (entry.standing === standing) units += entry.units;
    }
    return units;
  }

  #prune(nowMs: number): void {
    while (this.#first < this.#entries.length) {
      const entry = this.#entries[this.#first] as Entry;
      if (entry.atMs > nowMs - this.#spanMs) break;
      const isHere = this.#byId.get(entry.id) === entry;
      if (isHere && entry.standing === "payable") this.#overdue.add(entry);
      else {
        if (isHere) this.#byId.delete(entry.id);
        this.#count(entry, -entry.units);
      }
      this.#first += 1;
    }
    // The list is cut only now and then, so that leaving the window costs a constant on average.
    if (this.#first > 1024 && this.#first * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#first);
      this.#first = 0;
    }
  }
}
