/**
 * The sliding windows of the limits: beside an exact list of the same amounts a window never counts
 * less, and at most a minute longer. Its size grows with what is open and with time.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SlidingWindow, type WindowEntries } from "../../agent/signer/policy/window.ts";
import { seedsOfRun } from "../../lab/kit/seeded.ts";
import { share } from "../../lab/kit/share.ts";

const minuteMs = 60_000;
const spanMs = 60 * minuteMs;

/** Every amount by itself, as long as it counts. */
class Exact {
  readonly #entries: { id: string; atMs: number; units: bigint }[] = [];

  add(id: string, atMs: number, units: bigint): void {
    this.#entries.push({ id, atMs, units });
  }

  remove(id: string): void {
    for (const entry of this.#entries) if (entry.id === id) entry.units = 0n;
  }

  sumAt(nowMs: number, span = spanMs): bigint {
    return this.#entries.reduce(
      (sum, { atMs, units }) => (atMs > nowMs - span ? sum + units : sum),
      0n,
    );
  }
}

/** Thousands of times in a run: `expect` only for what is wrong. */
function judge(window: SlidingWindow, exact: Exact, atMs: number): void {
  const [sum, least, most] = [
    window.sumAt(atMs),
    exact.sumAt(atMs),
    exact.sumAt(atMs, spanMs + minuteMs),
  ];
  if (sum < least) expect.unreachable(`${sum} counts less than the exact ${least}`);
  if (sum > most) expect.unreachable(`${sum} counts more than ${most} of the span and a minute`);
}

type Act = readonly ["add" | "settle" | "remove" | "look" | "reload", number, number];
const acts = fc.array(
  fc.tuple(
    fc.constantFrom(
      "add" as const,
      "add" as const,
      "settle" as const,
      "settle" as const,
      "remove" as const,
      "look" as const,
      "reload" as const,
    ),
    fc.integer({ min: 0, max: 400_000 }), // the time that passes before it
    fc.nat({ max: 40 }), // the amount, or which of the open ones
  ) as fc.Arbitrary<Act>,
  { maxLength: 200, size: "max" },
);

function play(list: readonly Act[]): void {
  let window = new SlidingWindow(spanMs);
  const exact = new Exact();
  const settled = new Set<string>();
  let nowMs = 1_000_000;
  let made = 0;
  const open: string[] = [];
  for (const [act, passes, which] of list) {
    nowMs += passes;
    const id = open[which % Math.max(1, open.length)];
    if (act === "add") {
      made += 1;
      open.push(`id ${made}`);
      window.add(`id ${made}`, nowMs, BigInt(which));
      exact.add(`id ${made}`, nowMs, BigInt(which));
    } else if (act === "settle" && id !== undefined) {
      window.settle(id);
      settled.add(id);
    } else if (act === "remove" && id !== undefined && !settled.has(id)) {
      window.remove(id);
      exact.remove(id);
    } else if (act === "reload") {
      const kept = JSON.parse(JSON.stringify(window.entriesAt(nowMs))) as WindowEntries;
      const again = new SlidingWindow(spanMs, kept);
      expect(again.sumAt(nowMs)).toBe(window.sumAt(nowMs));
      expect(again.entriesAt(nowMs)).toEqual(window.entriesAt(nowMs));
      window = again;
    }
    judge(window, exact, nowMs);
    for (const one of settled)
      if (window.unitsOf(one, nowMs) !== 0n) expect(window.unitsOf(one, nowMs)).toBe(0n);
  }
  for (let later = nowMs; later < nowMs + spanMs + 2 * minuteMs; later += 7_001)
    judge(window, exact, later);
}

describe("a window", () => {
  it("whose amounts are settled never counts less than the exact sum, and at most a minute longer, through reloads too", () => {
    fc.assert(fc.property(acts, play), { numRuns: share(60), seed: seedsOfRun(1)[0] as number });
  });

  it("without settled amounts is exact", () => {
    const window = new SlidingWindow(spanMs);
    window.add("a", 10, 5n);
    window.add("b", 20, 7n);
    expect([
      window.sumAt(10 + spanMs - 1),
      window.sumAt(10 + spanMs),
      window.sumAt(20 + spanMs),
    ]).toEqual([12n, 7n, 0n]);
  });

  it("holds a settled amount to the end of its minute and the span, and keeps its id no longer", () => {
    const window = new SlidingWindow(spanMs);
    window.add("a", 61_000, 5n);
    window.settle("a");
    window.settle("a"); // a repeat is harmless
    expect(window.unitsOf("a", 61_000)).toBe(0n);
    expect([window.sumAt(119_998 + spanMs), window.sumAt(119_999 + spanMs)]).toEqual([5n, 0n]);
    expect(window.entriesAt(61_000)).toEqual([["", 119_999, "5"]]);
    window.add("b", 62_000, 1n); // ledger time is the amount's own, not the end of a minute
    window.add("a", 62_001, 2n); // an id that comes again counts again: more, never less
    expect(window.sumAt(62_001)).toBe(8n);
  });

  it("settles no amount that can still be paid or was given back", () => {
    const window = new SlidingWindow(spanMs);
    window.add("payable", 1, 5n, "payable");
    window.add("back", 2, 7n, "back");
    for (const id of ["payable", "back", "unknown"]) window.settle(id);
    expect(window.entriesAt(3).map(([id]) => id)).toEqual(["payable", "back"]);
    expect([window.sumAt(3 + spanMs), window.backAt(3)]).toEqual([5n, 7n]);
  });

  it("of 100,000 settled payouts in a day has one entry a minute, and a few that wait to be gathered", () => {
    const dayMs = 24 * 60 * minuteMs;
    const window = new SlidingWindow(dayMs);
    for (let at = 0; at < 100_000; at += 1) {
      window.add(`${at}`, at * 864, 1n);
      window.settle(`${at}`);
    }
    const nowMs = dayMs - 1;
    expect(window.sumAt(nowMs)).toBe(100_000n);
    expect(window.entriesAt(nowMs).length).toBeLessThanOrEqual(1_440);
    expect(JSON.stringify(window.entriesAt(nowMs)).length).toBeLessThan(40_000);
  });
});
