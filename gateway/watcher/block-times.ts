/**
 * Own times of blocks, as far as nodes tell them. Nodes drop old headers, and no pass ends because
 * the time of a block cannot be had.
 */

import type { AgentError } from "../../base/fault.ts";
import { failed, good, type Result, resultOf } from "../../base/result.ts";
import { isOfItem } from "../faults/blame.ts";
import type { WatchedChain } from "./chain.ts";

/**
 * The newest block's own time in Unix milliseconds; the node is asked where none has shown it.
 * @returns the fault as a value: a NODE_* code
 */
export async function timeOfHead(
  { reader }: WatchedChain,
  number: number,
): Promise<Result<number>> {
  const shown = reader
    .status()
    .flatMap(({ head }) =>
      head !== null && head.number === number && head.atMs > 0 ? [head.atMs] : [],
    );
  if (shown.length > 0) return { ok: true, value: Math.min(...shown) };
  return resultOf(async () => (await reader.timestamp(number)) * 1000);
}

/**
 * The lowest block from `floor` to `top` whose own time is not before `atMs`; `top` if all are. A
 * block whose time no node tells counts as one before, so that the answer is never too low.
 * @returns a fault that passes as a value: a NODE_* code, and the caller asks again in its next
 * pass
 */
export async function firstNotBefore(
  { reader }: WatchedChain,
  atMs: number,
  { floor, top }: { readonly floor: number; readonly top: number },
): Promise<Result<number>> {
  let fault: AgentError | null = null;
  const isBefore = async (number: number): Promise<boolean> => {
    const time = await resultOf(() => reader.timestamp(number));
    if (time.ok) return time.value * 1000 < atMs;
    if (!isOfItem(time.fault)) fault ??= time.fault;
    return true;
  };
  // The wanted block is mostly near the head, so that looking back doubles its step.
  let high = top;
  let low = top;
  for (let step = 1; low > floor; step *= 2) {
    low = Math.max(floor, low - step);
    if (await isBefore(low)) break;
    high = low;
  }
  while (fault === null && high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await isBefore(middle)) low = middle;
    else high = middle;
  }
  return fault === null ? good(high) : failed(fault);
}
