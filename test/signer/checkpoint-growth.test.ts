/**
 * A checkpoint weighs what is open and lately closed, however many orders were ever closed. Both
 * weighings stand where what a number bounds is full: 1,000 closed orders, 4,096 links of jobs.
 */
import { expect, it } from "vitest";
import { Kit } from "../../lab/kit/signer-kit.ts";

it("a checkpoint after 6,300 closed orders is no larger than after 4,800", () => {
  const kit = new Kit({ segmentBytesMax: 100_000 }).ready();
  let closed = 0;
  /** The largest of the checkpoints that could be made from here to so many closed orders. */
  const largestUpTo = (count: number): { readonly bytes: number; readonly rows: number } => {
    let [bytes, rows] = [0, 0];
    while (closed < count) {
      kit.request({ amount: "1001" });
      closed += 1;
      if (closed % 100 !== 0) continue;
      kit.acknowledge();
      const { state, leaving } = kit.core.checkpoint();
      if (closed > count - 500) bytes = Math.max(bytes, JSON.stringify(state).length);
      if (closed > count - 500) rows = Math.max(rows, leaving.closed.length);
      kit.signer.tick();
    }
    return { bytes, rows };
  };
  const before = largestUpTo(4_800);
  const after = largestUpTo(6_300);
  expect(before.rows).toBeGreaterThan(0);
  expect(after.rows).toBeLessThanOrEqual(before.rows * 1.2);
  expect(after.bytes).toBeLessThanOrEqual(before.bytes * 1.02);
}, 60_000);
