/**
 * The sums of one currency: what was approved and what was bound to a token, in the hour and the day, and the fees of the day.
 * Touches nothing.
 */
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import type { Limits } from "./rules.ts";
import { SlidingWindow, type WindowEntries } from "./window.ts";

const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** What was approved, and what was bound to a token: an approval may wait for days, and those that waited are not let out at once. */
export interface Windows {
  readonly hour: SlidingWindow;
  readonly day: SlidingWindow;
  readonly fees: SlidingWindow;
  readonly hourBound: SlidingWindow;
  readonly dayBound: SlidingWindow;
}

/** Windows with what a checkpoint kept of them, empty without one. */
export function makeWindows(kept: { readonly [K in keyof Windows]?: WindowEntries | undefined } = {}): Windows {
  return {
    hour: new SlidingWindow(hourMs, kept.hour),
    day: new SlidingWindow(dayMs, kept.day),
    fees: new SlidingWindow(dayMs, kept.fees),
    hourBound: new SlidingWindow(hourMs, kept.hourBound),
    dayBound: new SlidingWindow(dayMs, kept.dayBound),
  };
}

/** Why an amount must not be added; one that counts already makes no sum larger. */
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

/** Counts at least so much for an id from `atMs` on; what counts as much already is left as it is. */
export function countAtLeast(window: SlidingWindow, id: string, units: bigint, atMs: number): void {
  if (window.unitsOf(id, atMs) >= units) return;
  window.remove(id);
  window.add(id, atMs, units);
}

/** The larger of two. */
export function dearer(a: bigint, b: bigint): bigint {
  if (a > b) return a;
  return b;
}
