/**
 * Stands in for the runtime's timers and monotonic clock: the same names, on simulated time, in the
 * name of the process whose code calls them. The tree's builder brings them into every file that
 * uses one.
 */
import { kernel } from "../kernel/kernel.ts";
import type { Timer } from "../kernel/scheduler.ts";

export function setTimeout(
  run: (...values: readonly unknown[]) => void,
  ms = 0,
  ...values: readonly unknown[]
): Timer {
  const { scheduler } = kernel;
  return scheduler.after(Math.max(1, ms), scheduler.current, () => run(...values));
}

export function setInterval(
  run: (...values: readonly unknown[]) => void,
  ms = 1,
  ...values: readonly unknown[]
): Timer {
  const { scheduler } = kernel;
  return scheduler.every(Math.max(1, ms), scheduler.current, () => run(...values));
}

export function setImmediate(
  run: (...values: readonly unknown[]) => void,
  ...values: readonly unknown[]
): Timer {
  const { scheduler } = kernel;
  return scheduler.after(0, scheduler.current, () => run(...values));
}

export function clearTimeout(timer: Timer | null | undefined): void {
  if (timer !== null && timer !== undefined) timer.isCancelled = true;
}

export const clearInterval = clearTimeout;
export const clearImmediate = clearTimeout;

export const performance = { now: (): number => kernel.scheduler.nowMs };
