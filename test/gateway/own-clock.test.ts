/** The judgement of this machine's clock by the chains: each rejection beside one that passes. */
import { describe, expect, it } from "vitest";
import {
  boundsOf,
  type ChainClock,
  judgeClock,
  noteHead,
  unseenClock,
} from "../../gateway/own-clock.ts";

const blockMs = 12_000;
const bounds = boundsOf("rising", blockMs);
const coinBounds = boundsOf("about", 600_000);
const t0 = Date.UTC(2026, 0, 2);

/** A chain that rose at its pace and showed its newest block at the monotonic time 100,000. */
const risen = (atMs = t0): ChainClock =>
  noteHead(
    noteHead(unseenClock, { number: 1, atMs: atMs - blockMs }, blockMs, 100_000 - blockMs),
    { number: 2, atMs },
    blockMs,
    100_000,
  );
const at = (ownMs: number, monotonicMs = 100_000) => ({ ownMs, monotonicMs });
const kindOf = (own: number, of: ChainClock = risen(), how = bounds): string =>
  judgeClock([{ clock: of, bounds: how }], at(own)).kind;

describe("the clock by one chain", () => {
  it.each([
    [120_000 + blockMs, "right"],
    [120_000 + blockMs + 1, "ahead"],
    [-60_000, "right"],
    [-60_001, "behind"],
    [0, "right"],
  ])("%i ms from the newest block is %j", (offsetMs, kind) => {
    expect(kindOf(t0 + offsetMs)).toBe(kind);
  });

  it("may be hours from a block whose time has only to be about right", () => {
    expect(kindOf(t0 + 3 * 3_600_000, risen(), coinBounds)).toBe("right");
    expect(kindOf(t0 + 3 * 3_600_000 + 1, risen(), coinBounds)).toBe("ahead");
    expect(kindOf(t0 - 3 * 3_600_000, risen(), coinBounds)).toBe("right");
    expect(kindOf(t0 - 3 * 3_600_000 - 1, risen(), coinBounds)).toBe("behind");
  });

  it("that is set wrong is seen without a new block, and a chain that stands still blames no clock", () => {
    const hourLater = 100_000 + 3_600_000;
    expect(judgeClock([{ clock: risen(), bounds }], at(t0 + 3_600_000, hourLater)).kind).toBe(
      "right",
    );
    expect(judgeClock([{ clock: risen(), bounds }], at(t0 + 3_600_000, 108_000)).kind).toBe(
      "ahead",
    );
  });

  it("is not judged by a chain that was seen once, shows no time, or is caught up with", () => {
    const once = noteHead(unseenClock, { number: 1, atMs: t0 }, blockMs, 100_000);
    expect(kindOf(t0 + 86_400_000, once)).toBe("right");
    const timeless = noteHead(once, { number: 2, atMs: 0 }, blockMs, 100_000 + blockMs);
    expect(kindOf(t0 + 86_400_000, timeless)).toBe("right");
    const day = 86_400_000;
    const caughtUp = noteHead(once, { number: 7_200, atMs: t0 + day / 2 }, blockMs, 101_000);
    expect(kindOf(t0 + day, caughtUp)).toBe("right");
    // Its twin: the next block at the chain's pace is a sample again.
    const paced = noteHead(
      caughtUp,
      { number: 7_201, atMs: t0 + day / 2 + blockMs },
      blockMs,
      101_000 + blockMs,
    );
    expect(kindOf(t0 + day, paced)).toBe("ahead");
  });

  it("keeps its sample when a node shows a lower block", () => {
    expect(noteHead(risen(), { number: 1, atMs: t0 + 86_400_000 }, blockMs, 101_000)).toEqual(
      risen(),
    );
  });
});

describe("the clock by several chains", () => {
  it("is wrong only if all that rise say so, and is told beside the nearest", () => {
    const two = [
      { clock: risen(t0), bounds },
      { clock: risen(t0 - 300_000), bounds },
    ];
    expect(judgeClock(two, at(t0)).kind).toBe("right");
    expect(judgeClock(two, at(t0 + 600_000))).toEqual({
      kind: "ahead",
      ownMs: t0 + 600_000,
      chainMs: t0,
    });
    expect(judgeClock([...two, { clock: unseenClock, bounds }], at(t0 + 600_000)).kind).toBe(
      "ahead",
    );
    expect(judgeClock([], at(t0)).kind).toBe("right");
  });
});
