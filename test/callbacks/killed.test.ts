/**
 * A short share of the run in which the real gateway is killed while receivers die, hang and
 * refuse; the long one is `npm run faults -- --stream callbacks --records 2000 --kills 100`.
 */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { CallbacksWorld } from "../../lab/faults/callbacks-world.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

it("every event of a gateway that was killed arrives, in a sequence whose newest is known", async () => {
  const seed = randomBytes(6).toString("hex");
  const world = await CallbacksWorld.create({
    records: 12,
    kills: 1,
    seed,
    untilExpired: false,
    say: () => {},
  });
  const report = await world.play();
  expect(report.violations, `seed ${seed}`).toEqual([]);
  expect(report.records).toBe(12);
  expect(report.events).toBeGreaterThanOrEqual(24);
});
