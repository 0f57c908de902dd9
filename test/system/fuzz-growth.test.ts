/**
 * Steps and memory grow no faster than the input, for the shapes that make parsers slow: deep,
 * wide, long, unended. Steps are blocks run, counted by the engine; memory is bytes allocated.
 * Ratios of differences, no clock.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Coverage } from "../../lab/fuzz/coverage.ts";
import { excess, type Growth, growthOf } from "../../lab/fuzz/growth.ts";
import { bytes, type Target } from "../../lab/fuzz/target.ts";
import { openTarget, targetNames } from "../../lab/fuzz/targets/all.ts";
import { seedsOfRun } from "../../lab/kit/seeded.ts";
import { shareOf } from "../../lab/kit/share.ts";

const seed = seedsOfRun(1)[0] as number;
const stepsSlack = 1_000;
const bytesSlack = 256 * 1024;

// Both counters on before anything under test is compiled.
const coverage = new Coverage();
const planted = new Coverage(/test\/support\/planted/);
beforeAll(() => coverage.start());
afterAll(() => coverage.stop());

describe.each(targetNames)("%s", (name) => {
  it("a fuzz target costs no more than its input is long", async () => {
    const target = await openTarget(name);
    const tooMuch: string[] = [];
    const shapes = Object.entries(target.shapes);
    // In the quick tier a third of them, and of each target at least one.
    for (const [shape, each] of shareOf(shapes, Math.min(3, shapes.length), seed)) {
      // Other allocations in the process only add to the figure, so a shape is too steep only if
      // every measurement says so.
      const steep: Growth[] = [];
      for (let times = 0; times < 4 && steep.length === times; times++) {
        const growth = await growthOf(target, each, coverage);
        if (excess(growth.steps, stepsSlack) > 0 || excess(growth.bytes, bytesSlack) > 0)
          steep.push(growth);
      }
      if (steep.length === 4) tooMuch.push(`${shape}: ${JSON.stringify(steep)}`);
    }
    await target.close?.();
    expect(Object.keys(target.shapes).length).toBeGreaterThan(0);
    expect(tooMuch, `SEED=${seed}`).toEqual([]);
  });
});

describe("the measure", () => {
  const shapeOf = async (read: (input: Uint8Array) => unknown): Promise<Growth> => {
    const target: Target = {
      name: "planted",
      words: [],
      seeds: [],
      make: () => bytes(""),
      run: (input) => void read(input),
      shapes: {},
    };
    return await growthOf(target, { from: 250, of: (size) => new Uint8Array(size) }, planted);
  };

  it("tells a square from a line, in steps and in bytes", async () => {
    planted.start();
    const { readEach, readEachWithEach, keepAll, keepAllOfAll } = await import(
      "../support/planted.ts"
    );
    const [line, square, kept, keptSquare] = [
      await shapeOf(readEach),
      await shapeOf(readEachWithEach),
      await shapeOf(keepAll),
      await shapeOf(keepAllOfAll),
    ];
    planted.stop();
    expect(excess(line.steps, stepsSlack)).toBeLessThanOrEqual(0);
    expect(excess(square.steps, stepsSlack)).toBeGreaterThan(0);
    expect(excess(kept.bytes, bytesSlack)).toBeLessThanOrEqual(0);
    expect(excess(keptSquare.bytes, bytesSlack)).toBeGreaterThan(0);
  });
});
