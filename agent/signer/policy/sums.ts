/**
 * The sums of each currency: the amounts approved and the amounts bound to a nonce, in the hour and
 * the day, and the fees of the day. Both count, because an approval may wait for days and those
 * that waited must not all be paid in one hour. Touches nothing.
 */
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import type { LedgerRecord } from "../../ledger/records.ts";
import type { Limits } from "./rules.ts";
import { SlidingWindow, type WindowEntries } from "./window.ts";

const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** The windows of one currency. Base units; fees in those of the fee coin. */
export interface Windows {
  readonly hour: SlidingWindow; // approved
  readonly day: SlidingWindow; // approved
  readonly fees: SlidingWindow; // the day's, each withdrawal by its dearest version
  readonly hourBound: SlidingWindow;
  readonly dayBound: SlidingWindow;
}

/** Windows with the entries that a checkpoint kept, empty without one. */
function makeWindows(kept: { readonly [K in keyof Windows]?: WindowEntries | undefined } = {}): Windows {
  return {
    hour: new SlidingWindow(hourMs, kept.hour),
    day: new SlidingWindow(dayMs, kept.day),
    fees: new SlidingWindow(dayMs, kept.fees),
    hourBound: new SlidingWindow(hourMs, kept.hourBound),
    dayBound: new SlidingWindow(dayMs, kept.dayBound),
  };
}

/**
 * By currency: approved in the hour and the day, fees, bound in the hour and the day.
 * @public
 */
export type SumsEntries = readonly (readonly [
  string,
  WindowEntries,
  WindowEntries,
  WindowEntries,
  WindowEntries?,
  WindowEntries?,
])[];

/**
 * The sum that the gateway's order names for a day which the ledger has forgotten. Both decimal.
 */
export interface SpentDay {
  readonly currency: string;
  readonly units: string; // base units
  readonly feesUnits: string;
}

/**
 * Only `fold`, `countBound`, `forget` and `countSpent` change it. Every time is ledger time.
 * @public
 */
export class Sums {
  readonly #windows = new Map<string, Windows>();

  constructor(entries: SumsEntries = []) {
    for (const [currency, hour, day, fees, hourBound, dayBound] of entries) {
      this.#windows.set(currency, makeWindows({ hour, day, fees, hourBound, dayBound }));
    }
  }

  /** The windows of a currency, empty ones where nothing was counted yet. */
  of(currency: string): Windows {
    let windows = this.#windows.get(currency);
    if (windows === undefined) {
      windows = makeWindows();
      this.#windows.set(currency, windows);
    }
    return windows;
  }

  /** Counts one record of the ledger; `currency` is that of the record's withdrawal. */
  fold(record: LedgerRecord, currency: string): void {
    switch (record.kind) {
      case "APPROVED": {
        const { transactionId } = record;
        const windows = this.of(currency);
        // An opened ledger may have counted it before: then it counts as a whole, once, from this
        // record on.
        for (const window of [windows.hour, windows.day]) {
          window.remove(transactionId);
          window.add(transactionId, record.at, BigInt(record.amountUnits));
        }
        return;
      }
      case "REFUSED":
      case "EXPIRED": {
        // The amount can no longer be paid and stops counting as approved. What was bound, and is
        // dead by what others say, counts on as bound.
        const windows = this.of(currency);
        windows.hour.remove(record.transactionId);
        windows.day.remove(record.transactionId);
        return;
      }
      case "INTENT": {
        const feeMaxUnits = BigInt(record.feeMax);
        const { fees, hourBound, dayBound } = this.of(currency);
        const before = fees.unitsOf(record.transactionId, record.at);
        // The dearest version counts, from the newest one's time: never less than the chain may
        // take.
        fees.remove(record.transactionId);
        fees.add(record.transactionId, record.at, dearer(feeMaxUnits, before));
        if (record.version > 1) return;
        const amountUnits = BigInt(record.amountUnits);
        for (const window of [hourBound, dayBound]) {
          // What an opened ledger keeps counts already.
          window.remove(record.transactionId);
          window.add(record.transactionId, record.at, amountUnits);
        }
        return;
      }
      default:
        return;
    }
  }

  /**
   * Counts one withdrawal that is bound to a slot from `atMs` on, unless it counts already; no
   * limit stops it.
   */
  countBound(id: string, currency: string, units: bigint, feeMaxUnits: bigint, atMs: number): void {
    const { hour, day, hourBound, dayBound, fees } = this.of(currency);
    for (const window of [hour, day, hourBound, dayBound]) countAtLeast(window, id, units, atMs);
    countAtLeast(fees, id, feeMaxUnits, atMs);
  }

  /** What an opened ledger leaves out counts no more: nothing of it ever left. */
  forget(id: string, currency: string): void {
    for (const window of Object.values(this.of(currency)) as readonly SlidingWindow[]) window.remove(id);
  }

  /**
   * Counts a forgotten day from `atMs` on. `name` takes the place of a withdrawal's id; the same
   * name again is harmless.
   */
  countSpent(name: string, spent: SpentDay, atMs: number): void {
    const { hour, day, hourBound, dayBound, fees } = this.of(spent.currency);
    for (const window of [hour, day, hourBound, dayBound]) countAtLeast(window, name, BigInt(spent.units), atMs);
    countAtLeast(fees, name, BigInt(spent.feesUnits), atMs);
  }

  /** The larger of approved and bound as of `nowMs`. */
  usedAt(currency: string, nowMs: number): { readonly hourUnits: bigint; readonly dayUnits: bigint; readonly feesUnits: bigint } {
    const { hour, day, hourBound, dayBound, fees } = this.of(currency);
    return {
      hourUnits: dearer(hour.sumAt(nowMs), hourBound.sumAt(nowMs)),
      dayUnits: dearer(day.sumAt(nowMs), dayBound.sumAt(nowMs)),
      feesUnits: fees.sumAt(nowMs),
    };
  }

  /** The bound amounts and the fees of the day, without those of the withdrawals in `open`. */
  countedBeside(currency: string, open: Iterable<string>, nowMs: number): { readonly units: bigint; readonly feesUnits: bigint } {
    const { dayBound, fees } = this.of(currency);
    let units = dayBound.sumAt(nowMs);
    let feesUnits = fees.sumAt(nowMs);
    for (const id of open) {
      units -= dayBound.unitsOf(id, nowMs);
      feesUnits -= fees.unitsOf(id, nowMs);
    }
    return { units, feesUnits };
  }

  /**
   * For a checkpoint: the entries that still count at `nowMs`, currencies in order of their names.
   */
  entriesAt(nowMs: number): SumsEntries {
    return [...this.#windows]
      .map(
        ([currency, { hour, day, fees, hourBound, dayBound }]) =>
          [
            currency,
            ...([hour.entriesAt(nowMs), day.entriesAt(nowMs), fees.entriesAt(nowMs)] as const),
            ...([hourBound.entriesAt(nowMs), dayBound.entriesAt(nowMs)] as const),
          ] as const,
      )
      .filter(([, , day, fees]) => day.length + fees.length > 0)
      .sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

/**
 * The refusal of an amount that would lift a sum above its limit, or null. An amount that counts
 * already lifts no sum.
 * @public
 */
export function aboveWindow(
  { hour, day }: Pick<Windows, "hour" | "day">,
  { maxPerHourUnits, maxPerDayUnits }: Limits,
  { id, units }: { readonly id: string; readonly units: bigint },
  nowMs: number,
): Refusal | null {
  const isAbove = (window: SlidingWindow, mostUnits: bigint): boolean => {
    const counted = window.unitsOf(id, nowMs);
    return counted < units && window.sumAt(nowMs) - counted + units > mostUnits;
  };
  if (maxPerHourUnits !== null && isAbove(hour, maxPerHourUnits)) return refuse("POLICY_ABOVE_HOUR");
  return isAbove(day, maxPerDayUnits) ? refuse("POLICY_ABOVE_DAY") : null;
}

/**
 * Makes an id count for at least `units` from `atMs` on; an id that counts for as much already is
 * left as it is.
 */
function countAtLeast(window: SlidingWindow, id: string, units: bigint, atMs: number): void {
  if (window.unitsOf(id, atMs) >= units) return;
  window.remove(id);
  window.add(id, atMs, units);
}

/**
 * The larger of two.
 * @public
 */
export function dearer(a: bigint, b: bigint): bigint {
  if (a > b) return a;
  return b;
}
