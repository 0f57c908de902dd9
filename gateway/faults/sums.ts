/**
 * Faults beyond the number that is kept one by one: one sum for each domain, merchant and code.
 * Pure.
 */
import { type Fault, type FaultKey, keyText } from "./fault.ts";

/** A sum that nothing was added to in this time is over. */
const sumMs = 30 * 60_000;
/** Items whose names a sum keeps, so that it counts each of them once. */
const namedMax = 4_096;

interface Sum {
  readonly shown: Omit<Fault, "count">;
  readonly items: Set<string>;
  readonly seenMs: number;
}

export class FaultSums {
  readonly #sums = new Map<string, Sum>();

  add(
    {
      domain,
      network,
      merchant,
      id,
      ...worded
    }: FaultKey & Pick<Fault, "code" | "words" | "plain">,
    nowMs: number,
  ): void {
    const text = `${domain} ${network} ${merchant} ${worded.code}`;
    const before = this.#sums.get(text);
    const items = before?.items ?? new Set<string>();
    if (items.size < namedMax) items.add(keyText({ domain, network, id }));
    const times = { sinceMs: before?.shown.sinceMs ?? nowMs, tries: 1, retryAtMs: nowMs };
    this.#sums.set(text, {
      shown: { domain, network, merchant, id: "", ...worded, ...times },
      items,
      seenMs: nowMs,
    });
  }

  remove(key: FaultKey): void {
    for (const { items } of this.#sums.values()) items.delete(keyText(key));
  }

  forget(nowMs: number): void {
    for (const [text, { items, seenMs }] of this.#sums)
      if (items.size === 0 || nowMs - seenMs > sumMs) this.#sums.delete(text);
  }

  list(): readonly Fault[] {
    return [...this.#sums.values()].map(({ shown, items }) => ({ ...shown, count: items.size }));
  }
}
