/**
 * How the cost of a shape grows with its size. The fixed cost of a run drops out of the
 * differences: from 2n to 4n a linear cost grows by twice what it grows by from n to 2n, a
 * quadratic one by four times. No clock is read.
 */
import type { Coverage } from "./coverage.ts";
import { runOnce, type Shape, type Target } from "./target.ts";

export interface Growth {
  /** Costs at n, 2n and 4n. */
  readonly steps: readonly [number, number, number];
  readonly bytes: readonly [number, number, number];
}

export async function growthOf(
  target: Target,
  { from, of }: Shape,
  coverage: Coverage,
): Promise<Growth> {
  const inputs = [of(from), of(from * 2), of(from * 4)] as const;
  await runOnce(target, inputs[0]); // Work at the first use is no cost of the input.
  const steps: number[] = [];
  const bytes: number[] = [];
  for (const input of inputs) {
    coverage.steps();
    await runOnce(target, input);
    steps.push(coverage.steps());
  }
  for (const input of inputs) {
    // The least of three: whatever else the process does in between only adds.
    const measured = [];
    for (let times = 0; times < 3; times++)
      measured.push(await coverage.allocated(() => runOnce(target, input)));
    bytes.push(Math.min(...measured));
  }
  return { steps: steps as unknown as Growth["steps"], bytes: bytes as unknown as Growth["bytes"] };
}

/**
 * By how much the second difference exceeds twice the first, and so is more than linear; `slack` is
 * what chance explains.
 */
export function excess([one, two, four]: Growth["steps"], slack: number): number {
  return four - two - (2.5 * Math.max(0, two - one) + slack);
}
