/**
 * The sums of each currency: the amounts approved and the amounts bound to a slot, in the hour and
 * in the day, and the fees of the day. Both count, because approvals may wait for days and must not
 * all be paid in one hour. On a chain with exclusion by expiry, each version counts as a payment of
 * its own until it can no longer be paid, and at least for the window. Touches nothing.
 */
import { waitingOf } from "../../../chains/families.ts";
import type { LedgerRecord } from "../../ledger/records.ts";
import type { Limits } from "./rules.ts";
import { SlidingWindow, type Standing, type WindowEntries } from "./window.ts";

const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** The windows of one currency. Base units; fees in those of the fee coin. */
export interface Windows {
  readonly hour: SlidingWindow; // approved
  readonly day: SlidingWindow; // approved
  // fees of the day: each withdrawal by its most expensive version, or each version with exclusion
  // by expiry
  readonly fees: SlidingWindow;
  readonly hourBound: SlidingWindow;
  readonly dayBound: SlidingWindow;
}

/** Makes windows with the entries of a checkpoint, or empty ones. */
function makeWindows(kept: { readonly [K in keyof Windows]?: WindowEntries | undefined } = {}): Windows {
  return {
    hour: new SlidingWindow(hourMs, kept.hour),
    day: new SlidingWindow(dayMs, kept.day),
    fees: new SlidingWindow(dayMs, kept.fees),
    hourBound: new SlidingWindow(hourMs, kept.hourBound),
    dayBound: new SlidingWindow(dayMs, kept.dayBound),
  };
}

/** By currency: approved in the hour and the day, fees, bound in the hour and the day. */
export type SumsEntries = readonly (readonly [
  string,
  WindowEntries,
  WindowEntries,
  WindowEntries,
  WindowEntries?,
  WindowEntries?,
])[];

/** The counted amount and highest possible fee of one version with exclusion by expiry. */
export interface Counted {
  readonly id: string; // the withdrawal's
  readonly version: number;
  readonly units: bigint;
  readonly feeMaxUnits: bigint;
}

/**
 * Returns the key of a version with exclusion by expiry; the first version has the withdrawal's id.
 */
export function versionKey(transactionId: string, version: number): string {
  return version === 1 ? transactionId : `${transactionId} ${version}`;
}

/** Returns the key of a version's fee: with a nonce, all versions count as one. */
export function countKeyOf(network: string, transactionId: string, version: number): string {
  return waitingOf(network) === null ? transactionId : versionKey(transactionId, version);
}

/**
 * Only `fold` and `stand` change the sums, and the first sums of a recovered ledger
 * (state/policy-state.ts). Every time is ledger time.
 */
export class Sums {
  readonly #windows = new Map<string, Windows>();

  constructor(entries: SumsEntries = []) {
    for (const [currency, hour, day, fees, hourBound, dayBound] of entries) {
      this.#windows.set(currency, makeWindows({ hour, day, fees, hourBound, dayBound }));
    }
  }

  /** Returns the windows of a currency; empty ones if nothing was counted yet. */
  of(currency: string): Windows {
    let windows = this.#windows.get(currency);
    if (windows === undefined) {
      windows = makeWindows();
      this.#windows.set(currency, windows);
    }
    return windows;
  }

  /** Every currency with windows. */
  all(): IterableIterator<[string, Windows]> {
    return this.#windows.entries();
  }

  /** Counts one record of the ledger; `currency` is that of the record's withdrawal. */
  fold(record: LedgerRecord, currency: string): void {
    const { hour, day, fees, hourBound, dayBound } = this.of(currency);
    switch (record.kind) {
      case "APPROVED":
        for (const window of [hour, day]) window.replace(record.transactionId, record.at, BigInt(record.amountUnits));
        return;
      case "REFUSED":
      case "EXPIRED":
        // The amount can no longer be paid and stops counting as approved. A bound amount still
        // counts as bound until `stand` gives it back.
        for (const window of [hour, day]) window.remove(record.transactionId);
        return;
      case "INTENT": {
        const isWaiting = waitingOf(record.network) !== null;
        const standing = isWaiting ? "payable" : "spent";
        const key = countKeyOf(record.network, record.transactionId, record.version);
        // The most expensive version counts from the newest one's time: never less than the chain
        // may charge.
        fees.replace(key, record.at, dearer(BigInt(record.feeMax), fees.unitsOf(key, record.at)), standing);
        // A nonce allows only one of all versions to be paid.
        if (record.version > 1 && !isWaiting) return;
        for (const window of [hourBound, dayBound]) window.replace(key, record.at, BigInt(record.amountUnits), standing);
        return;
      }
      default:
    }
  }

  /**
   * Changes how a version counts from `atMs` on, with exclusion by expiry. A version that can be
   * paid after all counts again. A repeat is harmless.
   */
  stand(currency: string, { id, version, units, feeMaxUnits }: Counted, standing: Standing, atMs: number): void {
    const { hourBound, dayBound, fees } = this.of(currency);
    const key = versionKey(id, version);
    for (const window of [hourBound, dayBound]) window.stand(key, standing, { atMs, units });
    fees.stand(key, standing, { atMs, units: feeMaxUnits });
  }
}

/**
 * Returns the part of a sum that counts against a limit. Amounts are given back on the statements
 * of gateway and courier, and a paid version can be called dead. So at most the limit itself is
 * given back within one window, and the excess counts.
 */
export function usedOf(window: SlidingWindow, limitUnits: bigint | null | undefined, nowMs: number): bigint {
  const sum = window.sumAt(nowMs);
  const back = window.backAt(nowMs);
  return limitUnits === null || limitUnits === undefined || back <= limitUnits ? sum : sum + back - limitUnits;
}

/**
 * True if an amount would lift the counted sum above a limit. An amount that counts already lifts
 * no sum.
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

/** Returns the limit that an amount would exceed, or null. */
export function aboveWindow(
  { hour, day }: Pick<Windows, "hour" | "day">,
  { maxPerHourUnits, maxPerDayUnits }: Limits,
  amount: { readonly key: string; readonly units: bigint },
  nowMs: number,
): "POLICY_ABOVE_HOUR" | "POLICY_ABOVE_DAY" | null {
  if (maxPerHourUnits !== null && isAboveLimit(hour, maxPerHourUnits, amount, nowMs)) return "POLICY_ABOVE_HOUR";
  return isAboveLimit(day, maxPerDayUnits, amount, nowMs) ? "POLICY_ABOVE_DAY" : null;
}

/** Returns the larger of two. */
export function dearer(a: bigint, b: bigint): bigint {
  if (a > b) return a;
  return b;
}
