/** The courier's scheduler at a start. */
import { describe, expect, it } from "vitest";
import { drive, helloOf, only, sentView, viewOf } from "../support/scheduler-views.ts";

describe("a start", () => {
  it("takes the same steps for each unfinished withdrawal, wherever it stood", () => {
    const driver = drive([]);
    const hello = helloOf([
      sentView(1, "included"),
      sentView(2, "broadcast"),
      sentView(3, "released"),
      viewOf(4, "approved"),
    ]);
    const effects = driver.feed({ kind: "hello", hello, isFresh: true, askedAtMs: driver.nowMs });
    expect(only(effects, "send").map((effect) => effect.withdrawal.sequence)).toEqual([1, 2, 3]);
    const block = driver.block(10);
    expect(only(block, "look")[0]?.wanted.map((one) => one.withdrawal.sequence)).toEqual([1, 2, 3]);
    expect(only(block, "gas")).toHaveLength(0);
    const answer = {
      ok: true,
      latest: 7n,
      pending: 7n,
      final: 0n,
      quorum: 2,
      isSame: true,
    } as const;
    expect(only(driver.feed({ kind: "slotCounts", chain: "local", answer }), "gas")).toHaveLength(
      1,
    );
  });
});
