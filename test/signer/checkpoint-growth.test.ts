/**
 * A checkpoint weighs what is open and lately closed, however many orders were ever closed. Both
 * weighings stand where what a number bounds is full: 1,000 closed orders, 4,096 links of jobs.
 */
import { expect, it } from "vitest";
import { Kit } from "../../lab/kit/signer-kit.ts";
import { requestMany } from "../support/many-requests.ts";

interface Largest {
  readonly bytes: number;
  readonly rows: number;
}

/** The largest of the checkpoints that could be made in the last part before each of two counts. */
function weighed(first: number, second: number, part: number): readonly [Largest, Largest] {
  const kit = new Kit({ segmentBytesMax: 100_000 }).ready();
  let closed = 0;
  const largestUpTo = (count: number): Largest => {
    let [bytes, rows] = [0, 0];
    while (closed < count) {
      requestMany(kit, part / 5, { amount: "1001" });
      closed += part / 5;
      kit.acknowledge();
      const { state, leaving } = kit.core.checkpoint();
      if (closed > count - part) bytes = Math.max(bytes, JSON.stringify(state).length);
      if (closed > count - part) rows = Math.max(rows, leaving.closed.length);
      kit.signer.tick();
    }
    return { bytes, rows };
  };
  return [largestUpTo(first), largestUpTo(second)];
}

it("a checkpoint after 6,300 closed orders is no larger than after 4,800", () => {
  const [before, after] = weighed(4_800, 6_300, 500);
  expect(before.rows).toBeGreaterThan(0);
  expect(after.rows).toBeLessThanOrEqual(before.rows * 1.2);
  expect(after.bytes).toBeLessThanOrEqual(before.bytes * 1.02);
});

it("a checkpoint grows no faster than the orders, until what numbers bound is full", () => {
  const [before, after] = weighed(300, 600, 100);
  expect(after.bytes).toBeGreaterThan(before.bytes);
  expect(after.bytes).toBeLessThanOrEqual(before.bytes * 2);
});
