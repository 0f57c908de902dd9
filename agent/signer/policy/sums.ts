/**
 * The sums of each currency: the amounts approved and the amounts bound to a slot, in the hour and
 * the day, and the fees of the day. Both count, because an approval may wait for days and those
 * that waited must not all be paid in one hour. A version on a chain whose versions end by waiting
 * is a payment of its own and counts as one: until it can no longer be paid, and for the window at
 * least. Touches nothing.
 */
import { waitingOf } from "../../../chains/families.ts";
import { versionsMax } from "../../../protocol/payloads.ts";
import type { LedgerRecord } from "../../ledger/records.ts";
import type { Limits } from "./rules.ts";
import { SlidingWindow, type Standing, type WindowEntries } from "./window.ts";

const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** The windows of one currency. Base units; fees in those of the fee coin. */
export interface Windows {
  readonly hour: SlidingWindow; // approved
  readonly day: SlidingWindow; // approved
  // the day's: each withdrawal by its dearest version, or each version where they end by waiting
  readonly fees: SlidingWindow;
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
 * One version where versions end by waiting, as it counts: units of its amount, and of its fee at
 * most.
 */
export interface Counted {
  readonly id: string; // of its withdrawal
  readonly version: number;
  readonly units: bigint;
  readonly feeMaxUnits: bigint;
}

/** The name under which a version counts where versions end by waiting; the first has the id's. */
export function versionKey(transactionId: string, version: number): string {
  return version === 1 ? transactionId : `${transactionId} ${version}`;
}

/** The name under which a version's fee counts: with a slot, all versions count as one. */
export function countKeyOf(network: string, transactionId: string, version: number): string {
  return waitingOf(network) === null ? transactionId : versionKey(transactionId, version);
}

/** Every name under which a withdrawal may count. */
function keysOf(transactionId: string): readonly string[] {
  return Array.from({ length: versionsMax }, (_, index) => versionKey(transactionId, index + 1));
}

/**
 * The sum that the gateway's order names for a day which the ledger has forgotten. Both decimal.
 */
export interface SpentDay {
  readonly currency: string;
  readonly units: string; // base units
  readonly feesUnits: string;
}

/**
 * Only `fold`, `stand`, `countBound`, `forget` and `countSpent` change it. Every time is ledger
 * time.
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
        // The amount can no longer be paid and stops counting as approved. A bound amount counts on
        // as bound until `stand` gives it back.
        const windows = this.of(currency);
        windows.hour.remove(record.transactionId);
        windows.day.remove(record.transactionId);
        return;
      }
      case "INTENT": {
        const feeMaxUnits = BigInt(record.feeMax);
        const { fees, hourBound, dayBound } = this.of(currency);
        const isWaiting = waitingOf(record.network) !== null;
        const key = countKeyOf(record.network, record.transactionId, record.version);
        const standing = isWaiting ? "payable" : "spent";
        const before = fees.unitsOf(key, record.at);
        // The dearest version counts, from the newest one's time: never less than the chain may
        // take.
        fees.remove(key);
        fees.add(key, record.at, dearer(feeMaxUnits, before), standing);
        // A slot lets one version of all be paid.
        if (record.version > 1 && !isWaiting) return;
        const amountUnits = BigInt(record.amountUnits);
        for (const window of [hourBound, dayBound]) {
          // What an opened ledger keeps counts already.
          window.remove(key);
          window.add(key, record.at, amountUnits, standing);
        }
        return;
      }
      default:
        return;
    }
  }

  /**
   * Lets a version count otherwise from `atMs` on, where versions end by waiting. One that can be
   * paid after all counts again. Twice is harmless.
   */
  stand(currency: string, { id, version, units, feeMaxUnits }: Counted, standing: Standing, atMs: number): void {
    const { hourBound, dayBound, fees } = this.of(currency);
    const key = versionKey(id, version);
    for (const window of [hourBound, dayBound]) window.stand(key, standing, { atMs, units });
    fees.stand(key, standing, { atMs, units: feeMaxUnits });
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
    for (const window of Object.values(this.of(currency)) as readonly SlidingWindow[])
      for (const key of keysOf(id)) window.remove(key);
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

  /** The larger of approved and bound as of `nowMs`, as they count against these limits. */
  usedAt(currency: string, limits: Limits | undefined, nowMs: number): Used {
    const { hour, day, hourBound, dayBound, fees } = this.of(currency);
    return {
      hourUnits: dearer(hour.sumAt(nowMs), usedOf(hourBound, limits?.maxPerHourUnits, nowMs)),
      dayUnits: dearer(day.sumAt(nowMs), usedOf(dayBound, limits?.maxPerDayUnits, nowMs)),
      feesUnits: usedOf(fees, limits?.maxFeePerDayUnits, nowMs),
    };
  }

  /** The bound amounts and the fees of the day, without those of the withdrawals in `open`. */
  countedBeside(currency: string, open: Iterable<string>, nowMs: number): { readonly units: bigint; readonly feesUnits: bigint } {
    const { dayBound, fees } = this.of(currency);
    let units = dayBound.sumAt(nowMs);
    let feesUnits = fees.sumAt(nowMs);
    for (const key of [...open].flatMap(keysOf)) {
      units -= dayBound.unitsOf(key, nowMs);
      feesUnits -= fees.unitsOf(key, nowMs);
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
 * Used parts of limits, base units.
 * @public
 */
export interface Used {
  readonly hourUnits: bigint;
  readonly dayUnits: bigint;
  readonly feesUnits: bigint;
}

/**
 * The part of a sum that counts against a limit. Amounts are given back on the word of gateway and
 * courier, and a version that was paid can be called dead: so within one window at most the limit
 * itself is given back, and what is above it counts.
 */
function usedOf(window: SlidingWindow, limitUnits: bigint | null | undefined, nowMs: number): bigint {
  const sum = window.sumAt(nowMs);
  const back = window.backAt(nowMs);
  return limitUnits === null || limitUnits === undefined || back <= limitUnits ? sum : sum + back - limitUnits;
}

/**
 * Whether an amount would lift what counts above a limit. An amount that counts already lifts no
 * sum.
 */
export function isAboveLimit(
  window: SlidingWindow,
  limitUnits: bigint,
  { key, units }: { readonly key: string; readonly units: bigint },
  nowMs: number,
): boolean {
  const counted = window.unitsOf(key, nowMs);
  return counted < units && usedOf(window, limitUnits, nowMs) - counted + units > limitUnits;
}

/**
 * The limit that an amount would lift a sum above, or null.
 * @public
 */
export function aboveWindow(
  { hour, day }: Pick<Windows, "hour" | "day">,
  { maxPerHourUnits, maxPerDayUnits }: Limits,
  amount: { readonly key: string; readonly units: bigint },
  nowMs: number,
): "POLICY_ABOVE_HOUR" | "POLICY_ABOVE_DAY" | null {
  if (maxPerHourUnits !== null && isAboveLimit(hour, maxPerHourUnits, amount, nowMs)) return "POLICY_ABOVE_HOUR";
  return isAboveLimit(day, maxPerDayUnits, amount, nowMs) ? "POLICY_ABOVE_DAY" : null;
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
