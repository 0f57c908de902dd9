/**
 * The courier's desk as a whole: a start, then random worlds with lost, doubled, late and lying
 * answers.
 */
import { describe, expect, it } from "vitest";
import { seedsOfRun } from "../../lab/rig/seeded.ts";
import { drive, helloOf, only, sentView, viewOf } from "../support/desk-views.ts";
import { runWorld } from "../support/desk-world.ts";

describe("a start", () => {
  it("a start takes the same steps for each unfinished withdrawal, wherever it stood", () => {
    const driver = drive([]);
    const hello = helloOf([sentView(1, "included"), sentView(2, "broadcast"), sentView(3, "released"), viewOf(4, "approved")]);
    const effects = driver.feed({ kind: "hello", hello, isFresh: true, askedAtMs: driver.nowMs });
    expect(only(effects, "send").map((effect) => effect.withdrawal.sequence)).toEqual([1, 2, 3]);
    const block = driver.block(10);
    expect(only(block, "look")[0]?.wanted.map((one) => one.withdrawal.sequence)).toEqual([1, 2, 3]);
    expect(only(block, "gas")).toHaveLength(0);
    const answer = { ok: true, latest: 7n, pending: 7n, final: 0n, witnesses: 2, isSame: true } as const;
    expect(only(driver.feed({ kind: "counters", chain: "local", answer }), "gas")).toHaveLength(1);
  });
});

describe("random worlds", () => {
  it.each(seedsOfRun(40))("the desk ends every withdrawal of a random world and breaks no rule, SEED=%i", (seed) => {
    const { ended, broken } = runWorld(seed);
    expect(broken, `SEED=${seed}`).toEqual([]);
    expect(ended, `SEED=${seed}`).toEqual({});
  });
});
