/**
 * The sums of each currency: the amounts approved and the amounts assigned to a slot, in the hour
 * and in the day, and the fees of the day. Both count, because approvals may wait for days and must
 * not all be paid in one hour. On a chain with exclusion by expiry, each attempt counts as a
 * payment of its own until it can no longer be paid, and at least for the window. Touches nothing.
 */
import { expiryExclusionOf } from "../../../chains/families.ts";
import type { LedgerRecord } from "../../ledger/records.ts";
import type { Limits } from "./rules.ts";
import { type AmountStanding, SlidingWindow, type WindowEntries } from "./window.ts";

const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** The windows of one currency. Base units; fees in those of the fee coin. */
export interface LimitWindows {
  readonly hour: SlidingWindow; // approved
  readonly day: SlidingWindow; // approved
  // fees of the day: each withdrawal by its most expensive attempt, or each attempt with exclusion
  // by expiry
  readonly fees: SlidingWindow;
  readonly hourAssigned: SlidingWindow;
  readonly dayAssigned: SlidingWindow;
}

/** Makes windows with the entries of a checkpoint, or empty ones. */
function makeWindows(
  kept: { readonly [K in keyof LimitWindows]?: WindowEntries | undefined } = {},
): LimitWindows {
  return {
    hour: new SlidingWindow(hourMs, kept.hour),
    day: new SlidingWindow(dayMs, kept.day),
    fees: new SlidingWindow(dayMs, kept.fees),
    hourAssigned: new SlidingWindow(hourMs, kept.hourAssigned),
    dayAssigned: new SlidingWindow(dayMs, kept.dayAssigned),
  };
}

/** By currency: approved in the hour and the day, fees, assigned in the hour and the day. */
export type SumsEntries = readonly CurrencyWindows[];
type CurrencyWindows = readonly [
  string,
  WindowEntries,
  WindowEntries,
  WindowEntries,
  WindowEntries?,
  WindowEntries?,
];

/** The counted amount and highest possible fee of one attempt with exclusion by expiry. */
export interface AttemptSum {
  readonly id: string; // the withdrawal's
  readonly attempt: number;
  readonly units: bigint;
  readonly feeMaxUnits: bigint;
}

/**
 * Returns the key of an attempt with exclusion by expiry; the first attempt has the withdrawal's
 * id.
 */
export function attemptKey(transactionId: string, attempt: number): string {
  return attempt === 1 ? transactionId : `${transactionId} ${attempt}`;
}

/** Returns the key of an attempt's fee: with a nonce, all attempts count as one. */
export function feeKeyOfAttempt(network: string, transactionId: string, attempt: number): string {
  return expiryExclusionOf(network) === null ? transactionId : attemptKey(transactionId, attempt);
}

/**
 * Only `apply` and `stand` change the sums, and state/attempt-sums.ts and state/policy-state.ts,
 * after a record or for a recovered ledger. Every time is ledger time.
 */
export class LimitSums {
  readonly #windows = new Map<string, LimitWindows>();

  constructor(entries: SumsEntries = []) {
    for (const [currency, hour, day, fees, hourAssigned, dayAssigned] of entries) {
      this.#windows.set(currency, makeWindows({ hour, day, fees, hourAssigned, dayAssigned }));
    }
  }

  /** Returns the windows of a currency; empty ones if nothing was counted yet. */
  of(currency: string): LimitWindows {
    let windows = this.#windows.get(currency);
    if (windows === undefined) {
      windows = makeWindows();
      this.#windows.set(currency, windows);
    }
    return windows;
  }

  /** Every currency with windows. */
  all(): IterableIterator<[string, LimitWindows]> {
    return this.#windows.entries();
  }

  /** Counts one record of the ledger; `currency` is that of the record's withdrawal. */
  apply(record: LedgerRecord, currency: string): void {
    const { hour, day, fees, hourAssigned, dayAssigned } = this.of(currency);
    switch (record.kind) {
      case "APPROVED":
        for (const window of [hour, day])
          window.replace(record.transactionId, record.at, BigInt(record.amountUnits));
        return;
      case "REFUSED":
      case "EXPIRED":
        // The amount can no longer be paid and stops counting as approved. An assigned amount still
        // counts as assigned until `stand` gives it back.
        for (const window of [hour, day]) window.remove(record.transactionId);
        return;
      case "INTENT": {
        const isWaiting = expiryExclusionOf(record.network) !== null;
        const standing = isWaiting ? "payable" : "spent";
        const key = feeKeyOfAttempt(record.network, record.transactionId, record.attempt);
        // The most expensive attempt counts from the newest one's time: never less than the chain
        // may charge.
        fees.replace(
          key,
          record.at,
          largerOf(BigInt(record.feeMax), fees.unitsOf(key, record.at)),
          standing,
        );
        // A nonce allows only one of all attempts to be paid. An amount that counts no more, since
        // its attempt before is too old, counts again from the new one on.
        for (const window of [hourAssigned, dayAssigned]) {
          const counts = record.attempt > 1 && !isWaiting && window.unitsOf(key, record.at) > 0n;
          if (!counts) window.replace(key, record.at, BigInt(record.amountUnits), standing);
        }
        return;
      }
      default:
    }
  }

  /**
   * Changes how an attempt counts from `atMs` on, with exclusion by expiry. An attempt that can be
   * paid after all counts again. A repeat is harmless.
   */
  stand(
    currency: string,
    { id, attempt, units, feeMaxUnits }: AttemptSum,
    standing: AmountStanding,
    atMs: number,
  ): void {
    const { hourAssigned, dayAssigned, fees } = this.of(currency);
    const key = attemptKey(id, attempt);
    for (const window of [hourAssigned, dayAssigned]) window.stand(key, standing, { atMs, units });
    fees.stand(key, standing, { atMs, units: feeMaxUnits });
  }
}

/**
 * Returns the part of a sum that counts against a limit. Amounts are given back on the statements
 * of gateway and courier, and a paid attempt can be called void. So at most the limit itself is
 * given back within one window, and the excess counts.
 */
export function countUnitsAgainstLimit(
  window: SlidingWindow,
  limitUnits: bigint | null | undefined,
  nowMs: number,
): bigint {
  const sum = window.sumAt(nowMs);
  const back = window.backAt(nowMs);
  return limitUnits === null || limitUnits === undefined || back <= limitUnits
    ? sum
    : sum + back - limitUnits;
}

/** An amount with the key under which it counts, or would count. */
type Amount = { readonly key: string; readonly units: bigint };

/**
 * True if an amount would lift the counted sum above a limit. An amount that counts already lifts
 * no sum.
 */
export function isAboveLimit(
  window: SlidingWindow,
  limitUnits: bigint,
  { key, units }: Amount,
  nowMs: number,
): boolean {
  const counted = window.unitsOf(key, nowMs);
  return (
    counted < units &&
    countUnitsAgainstLimit(window, limitUnits, nowMs) - counted + units > limitUnits
  );
}

/** The limit that an amount would exceed, or null. */
export type ExceededLimitCode = "POLICY_ABOVE_HOUR" | "POLICY_ABOVE_DAY" | null;
type HourAndDay = Pick<LimitWindows, "hour" | "day">;

/** Returns the limit that an amount would exceed, or null. */
export function findExceededLimit(
  { hour, day }: HourAndDay,
  limits: Limits,
  amount: Amount,
  nowMs: number,
): ExceededLimitCode {
  const { maxPerHourUnits, maxPerDayUnits } = limits;
  if (maxPerHourUnits !== null && isAboveLimit(hour, maxPerHourUnits, amount, nowMs))
    return "POLICY_ABOVE_HOUR";
  return isAboveLimit(day, maxPerDayUnits, amount, nowMs) ? "POLICY_ABOVE_DAY" : null;
}

/** Returns the larger of two. */
export const largerOf = (a: bigint, b: bigint): bigint => (a > b ? a : b);
