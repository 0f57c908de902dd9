/**
 * Own times of blocks, as far as nodes tell them. Nodes drop old headers, and no pass ends because
 * the time of a block cannot be had.
 */

import type { AgentError } from "../../base/fault.ts";
import { failedResult, goodResult, type Result, resultOf } from "../../base/result.ts";
import { isItemFault } from "../faults/blame.ts";
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

/** Blocks of a search, and what a time that no node tells counts as where earlier ones are told. */
interface TimeSearch {
  readonly floor: number;
  readonly top: number;
  readonly untold: "before" | "notBefore";
}

/**
 * The lowest block from `floor` to `top` whose own time is not before `atMs`; `top` if all are. A
 * block whose time no node tells says nothing: the search goes on below it. Where such a block lies
 * just at the wanted place, the answer is never too low with `untold: "before"`, and never too high
 * with "notBefore". Blocks below which no time is told are dropped ones, and count as before.
 * @returns a fault that passes as a value: a NODE_* code, and the caller asks again in its next
 * pass
 */
export async function findFirstBlockNotBefore(
  { reader }: WatchedChain,
  atMs: number,
  { floor, top, untold }: TimeSearch,
): Promise<Result<number>> {
  let fault: AgentError | null = null;
  let hasBefore = false; // a block that is told to be before was found
  const placeOf = async (number: number): Promise<"before" | "notBefore" | "untold"> => {
    const time = await resultOf(() => reader.timestamp(number));
    if (!time.ok && !isItemFault(time.fault)) fault ??= time.fault;
    if (!time.ok) return "untold";
    if (time.value * 1000 >= atMs) return "notBefore";
    hasBefore = true;
    return "before";
  };
  // The wanted block is mostly near the head, so that looking back doubles its step.
  let high = top;
  let low = top;
  for (let step = 1; low > floor && fault === null && !hasBefore; step *= 2) {
    low = Math.max(floor, low - step);
    if ((await placeOf(low)) === "notBefore") high = low;
  }
  while (fault === null && high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const place = await placeOf(middle);
    const isLow = place === "untold" ? untold === "before" || !hasBefore : place === "before";
    if (isLow) low = middle;
    else high = middle;
  }
  return fault === null ? goodResult(high) : failedResult(fault);
}
