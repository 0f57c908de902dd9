/**
 * A sliding window: the sum of the amounts recorded within the last `spanMs` of ledger time, and of
 * older amounts that can still be paid. The sum is a running total, so a question has the same cost
 * for any number of amounts. An amount whose withdrawal is over needs no id: such amounts of one
 * minute become one, which counts to the end of that minute plus the span. So the window's size
 * grows with what is open and with time, not with the day's payouts. A cache of the ledger, rebuilt
 * by replay. Touches nothing.
 */
import { invariant } from "../../../base/fault.ts";

/**
 * The way an amount counts. `spent`: for the span of the window, from its own time on. `payable`:
 * until its standing changes, and at least for the span. `back`: the amount was given back, and
 * counts in `backAt` for the span.
 */
export type AmountStanding = "spent" | "payable" | "back";

interface CountedAmount {
  id: string; // "" once settled
  atMs: number; // of a settled amount the end of its minute
  units: bigint; // 0 once removed
  standing: AmountStanding;
}

const minuteMs = 60_000;
/** Settled amounts are gathered when the list has doubled since, and is not short. */
const gatheredMin = 512;

/**
 * `[id, ledger time, units]`, in the order in which they were added; the standing is added if it is
 * not `spent`. The id of settled amounts is "".
 */
export type WindowEntries = readonly (readonly [string, number, string, AmountStanding?])[];

/** Holds at most one amount for each id. */
export class SlidingWindow {
  readonly #spanMs: number;
  readonly #byId = new Map<string, CountedAmount>();
  /** Payable amounts that are older than the span, oldest first. */
  readonly #overdue = new Set<CountedAmount>();
  #entries: CountedAmount[] = [];
  #first = 0;
  #gatherAt = gatheredMin;
  #lastMs = Number.NEGATIVE_INFINITY;
  #sum = 0n;
  #back = 0n;

  constructor(spanMs: number, entries: WindowEntries = []) {
    this.#spanMs = spanMs;
    for (const [id, atMs, units, standing = "spent"] of entries)
      if (id === "") this.#push({ id, atMs, units: BigInt(units), standing });
      else this.add(id, atMs, BigInt(units), standing);
  }

  /**
   * Adds an amount. An id that counts already is a bug. So is a time before the last one, because
   * ledger time never goes back.
   */
  add(id: string, atMs: number, units: bigint, standing: AmountStanding = "spent"): void {
    invariant(!this.#byId.has(id), "one id counts once in a window");
    invariant(this.#lastMs <= atMs, "ledger time never goes back");
    this.#lastMs = atMs;
    this.#prune(atMs);
    this.#byId.set(id, this.#push({ id, atMs, units, standing }));
  }

  #push(entry: CountedAmount): CountedAmount {
    this.#entries.push(entry);
    this.#count(entry, entry.units);
    return entry;
  }

  /**
   * As `add`, and the amount takes the place of the id's earlier one: a recovered ledger may count
   * it already. From here on it counts in full and once.
   */
  replace(id: string, atMs: number, units: bigint, standing: AmountStanding = "spent"): void {
    this.remove(id);
    this.add(id, atMs, units, standing);
  }

  /** Removes an amount. An id that is unknown or has left the window is harmless. */
  remove(id: string): void {
    const entry = this.#byId.get(id);
    if (entry === undefined) return;
    this.#byId.delete(id);
    this.#overdue.delete(entry);
    this.#count(entry, -entry.units);
    entry.units = 0n;
  }

  /**
   * Forgets the id of an amount that will not change any more. It counts to the end of its minute
   * plus the span, so never less than before. An id that is unknown, or that is not `spent`, is
   * harmless and stays as it is.
   */
  settle(id: string): void {
    const entry = this.#byId.get(id);
    if (entry === undefined || entry.standing !== "spent" || this.#overdue.has(entry)) return;
    this.#byId.delete(id);
    Object.assign(entry, {
      id: "",
      atMs: Math.floor(entry.atMs / minuteMs) * minuteMs + minuteMs - 1,
    });
    if (this.#entries.length < this.#gatherAt) return;
    this.#entries = this.#live();
    this.#first = 0;
    this.#gatherAt = Math.max(gatheredMin, 2 * this.#entries.length);
  }

  /** The amounts that were neither removed nor dropped, gathered, without the overdue ones. */
  #live(): CountedAmount[] {
    return gathered(this.#entries.slice(this.#first).filter((entry) => this.#isHere(entry)));
  }

  #isHere(entry: CountedAmount): boolean {
    return entry.id === "" || this.#byId.get(entry.id) === entry;
  }

  /**
   * Changes how an amount counts from now on. An amount that has left the window but can be paid
   * after all counts again from `atMs`. A repeat is harmless.
   */
  stand(
    id: string,
    standing: AmountStanding,
    { atMs, units }: { readonly atMs: number; readonly units: bigint },
  ): void {
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

  /** Returns the sum at `nowMs`, without amounts that were given back. */
  sumAt(nowMs: number): bigint {
    return this.#sum - this.#goneAt(nowMs, "spent");
  }

  /** Returns the sum of the amounts that were given back, at `nowMs`. */
  backAt(nowMs: number): bigint {
    return this.#back - this.#goneAt(nowMs, "back");
  }

  /** Returns the amount of one id at `nowMs`; 0 if it does not count or was given back. */
  unitsOf(id: string, nowMs: number): bigint {
    const entry = this.#byId.get(id);
    if (entry === undefined || entry.standing === "back") return 0n;
    return entry.standing === "payable" || entry.atMs > nowMs - this.#spanMs ? entry.units : 0n;
  }

  /** Returns every amount that still counts at `nowMs`, and drops the others. */
  entriesAt(nowMs: number): WindowEntries {
    this.#prune(nowMs);
    return [...this.#overdue, ...this.#live()].map(({ id, atMs, units, standing }) => {
      const said = [id, atMs, units.toString()] as const;
      return standing === "spent" ? said : [...said, standing];
    });
  }

  #count({ standing }: CountedAmount, units: bigint): void {
    if (standing === "back") this.#back += units;
    else this.#sum += units;
  }

  /** Sums the entries older than the span at `nowMs` that were not dropped yet. */
  #goneAt(nowMs: number, standing: AmountStanding): bigint {
    let units = 0n;
    for (let i = this.#first; i < this.#entries.length; i++) {
      const entry = this.#entries[i] as CountedAmount;
      if (entry.atMs > nowMs - this.#spanMs) break;
      if (entry.standing === standing) units += entry.units;
    }
    return units;
  }

  #prune(nowMs: number): void {
    while (this.#first < this.#entries.length) {
      const entry = this.#entries[this.#first] as CountedAmount;
      if (entry.atMs > nowMs - this.#spanMs) break;
      const isHere = this.#isHere(entry);
      if (isHere && entry.standing === "payable") this.#overdue.add(entry);
      else {
        if (isHere) this.#byId.delete(entry.id);
        this.#count(entry, -entry.units);
      }
      this.#first += 1;
    }
    // The list is cut only now and then, so an entry that leaves costs a constant time on average.
    if (this.#first > 1024 && this.#first * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#first);
      this.#first = 0;
    }
  }
}

/** The entries with neighbours that are settled in the same minute as one. */
function gathered(entries: readonly CountedAmount[]): CountedAmount[] {
  const all: CountedAmount[] = [];
  for (const entry of entries) {
    const last = all.at(-1);
    if (last?.id === "" && entry.id === "" && last.atMs === entry.atMs)
      all[all.length - 1] = { ...last, units: last.units + entry.units };
    else all.push(entry);
  }
  return all;
}
