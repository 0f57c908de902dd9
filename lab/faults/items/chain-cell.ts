/**
 * One cell of the matrix for a whole chain: orders, payments and payouts while the plant is in, for
 * hours of the chain's time, and after it. What does not need the missing part goes on; afterwards
 * all is as without the plant.
 */
import type { ChainPlant } from "./chain-plants.ts";
import type { FamilyKey } from "./plants.ts";
import { ItemWorld } from "./world.ts";

export interface ChainCellResult {
  /** The chain's row while the plant was in, and after it. */
  readonly during: string;
  readonly after: string;
  /** Requests and payouts that ended while it was in. */
  readonly ended: { readonly requests: number; readonly payouts: number };
  /** Every item's end, with the plant and without. */
  readonly planted: readonly string[];
  readonly plain: readonly string[];
}

const stepMs = 15 * 60_000;
const steps = 10;

export async function runChainCell(family: FamilyKey, plant: ChainPlant): Promise<ChainCellResult> {
  const withPlant = await story(family, plant);
  const { trace: plain } = await story(family, null);
  const { during, after, ended, trace: planted } = withPlant;
  return { during, after, ended, planted, plain };
}

async function story(family: FamilyKey, plant: ChainPlant | null) {
  const world = new ItemWorld(family, plant);
  try {
    world.fund();
    await world.settle();
    for (const { id } of world.currencies)
      for (const name of ["A", "B"] as const) await world.order(name, id);
    await world.settle();
    world.isPlanted = true;
    for (const [slot, name] of (["A", "B"] as const).entries()) world.payOut(name, slot + 1);
    world.payAll();
    await world.settle();
    const ended = world.ended();
    for (let step = 0; step < steps; step += 1) {
      world.nowMs += stepMs;
      await world.settle();
    }
    const during = world.row();
    world.isPlanted = false;
    for (let step = 0; step < 3; step += 1) await world.settle();
    return { during, after: world.row(), ended, trace: world.trace(() => false) };
  } finally {
    await world.close();
  }
}
