/** The counts of a run of faults so far, and its own repeatable chance. */
import { createHash } from "node:crypto";

/** The kinds of fault that a run is asked for. */
export const faultKinds = ["kills", "moments", "eio", "enospc", "short", "restores"] as const;
export type FaultKind = (typeof faultKinds)[number];

/** The figures that every stream prints at its end, besides its own. */
export interface Report {
  readonly violations: readonly string[]; // empty if all held
  readonly lines: readonly string[]; // the figures in words
}

export class Tally {
  readonly counts: Record<FaultKind, number> = {
    kills: 0,
    moments: 0,
    eio: 0,
    enospc: 0,
    short: 0,
    restores: 0,
  };
  /** The same in more words: `signer fdatasync` and its like. */
  readonly detail: Record<string, number> = {};
  readonly violations: string[] = [];
  withdrawals = 0;
  paidOnce = 0;

  struck(kind: FaultKind, words: string): void {
    this.counts[kind] += 1;
    const key = `${kind}: ${words}`;
    this.detail[key] = (this.detail[key] ?? 0) + 1;
  }

  /** Something that happened and is no counted fault. */
  noted(words: string): void {
    const key = `beside: ${words}`;
    this.detail[key] = (this.detail[key] ?? 0) + 1;
  }

  /** Takes over what another one counted. */
  add(other: Tally): void {
    for (const kind of Object.keys(other.counts) as FaultKind[])
      this.counts[kind] += other.counts[kind];
    for (const [key, count] of Object.entries(other.detail))
      this.detail[key] = (this.detail[key] ?? 0) + count;
    this.violations.push(...other.violations);
    this.withdrawals += other.withdrawals;
    this.paidOnce += other.paidOnce;
  }

  violated(where: string, what: readonly string[]): void {
    for (const line of what) this.violations.push(`${where}: ${line}`);
  }
}

export type Random = () => number;

/** A seeded stream of numbers in [0, 1): SHA-256 in counter mode. */
export function seeded(seed: string): Random {
  let counter = 0;
  return () => {
    counter += 1;
    return createHash("sha256").update(`${seed}/${counter}`).digest().readUIntBE(0, 6) / 2 ** 48;
  };
}

/** One of a list that is not empty. */
export function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}

/** The same items in another order. */
export function shuffled<T>(random: Random, items: readonly T[]): readonly T[] {
  const order = items.map((item) => ({ item, at: random() }));
  return order.sort((a, b) => a.at - b.at).map(({ item }) => item);
}
