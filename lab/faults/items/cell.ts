/**
 * One cell of the matrix: the story with a plant and without it, from the same seed. Bystanders are
 * merchant B and those items of A that have no fault. The two runs must show them the same.
 */
import type { Domain } from "../../../gateway/faults/domains.ts";
import type { Fault } from "../../../gateway/faults/fault.ts";
import type { FamilyKey, Plant } from "./plants.ts";
import { type Item, ItemWorld, tokenContract } from "./world.ts";

export type Extent = "one" | "all"; // one item of merchant A, or all of A's

export interface CellResult {
  readonly planted: readonly string[]; // the lines that bystanders saw
  readonly plain: readonly string[];
  readonly during: readonly Fault[]; // faults that stood while the plant was in
  readonly after: readonly Fault[]; // and once it was taken out
  readonly left: readonly string[]; // the items that had the fault, once it was taken out
  readonly healthy: readonly string[]; // the same items without the plant
}

const quarterMs = 15 * 60_000;

export async function runCell(domain: Domain, family: FamilyKey, plant: Plant, extent: Extent): Promise<CellResult> {
  const withPlant = await story(family, plant, extent);
  const without = await story(family, null, extent, plant);
  return {
    planted: withPlant.bystanders,
    plain: without.bystanders,
    during: withPlant.during.filter((fault) => fault.domain === domain),
    after: withPlant.after,
    left: withPlant.left,
    healthy: without.left,
  };
}

interface Told {
  readonly bystanders: readonly string[];
  readonly during: readonly Fault[];
  readonly after: readonly Fault[];
  readonly left: readonly string[];
}

async function story(family: FamilyKey, plant: Plant | null, extent: Extent, shape: Plant | null = plant): Promise<Told> {
  const world = new ItemWorld(family, plant);
  try {
    world.fund();
    await world.settle();
    for (const { id } of world.currencies) {
      for (const name of ["A", "A", "B"] as const) await world.order(name, id);
    }
    await world.settle();
    const hit = chosen(world, shape as Plant, extent);
    world.isPlanted = true;
    // Orders, payments, payouts and sweeps beside the fault.
    for (const { id } of world.currencies) for (const name of ["A", "B"] as const) await world.order(name, id);
    for (const [slot, name] of (["A", "B", "A"] as const).entries()) world.payOut(name, slot + 1);
    if (shape?.of === "payout") choosePayouts(world, extent, hit);
    // Those of B are paid, and swept, while the fault stands.
    for (const name of ["A", "B"] as const) {
      world.payAll(name);
      await world.settle();
    }
    const during = world.faults;
    const bystanders = world.trace((item) => isHit(world, shape as Plant, hit, item));
    world.isPlanted = false;
    for (let step = 0; step < 3; step += 1) {
      world.nowMs += quarterMs;
      await world.settle();
    }
    const left = world.trace((item) => !isHit(world, shape as Plant, hit, item));
    return { bystanders, during, after: world.faults, left };
  } finally {
    await world.close();
  }
}

/**
 * The ids of the items with the fault; "A" stands for the hot wallet of A, "token" for the token.
 */
function chosen(world: ItemWorld, plant: Plant, extent: Extent): Set<string> {
  const { accounts, transactions, contracts } = world.planted;
  const hit = new Set<string>();
  if (plant.of === "token") {
    contracts.add(world.family === "tron" ? tokenContract.tron : tokenContract.evm);
    hit.add("token");
  }
  if (plant.of === "wallet") accounts.add(world.hotOf("A"));
  if (plant.of === "request") {
    const own = world.requests.filter(({ merchant }) => merchant === "A");
    for (const one of extent === "one" ? own.slice(0, 1) : own) {
      hit.add(one.id);
      accounts.add(one.address);
      transactions.add(one.txHash);
    }
  }
  return hit;
}

function choosePayouts(world: ItemWorld, extent: Extent, hit: Set<string>): void {
  const own = world.payouts.filter(({ merchant }) => merchant === "A");
  for (const one of extent === "one" ? own.slice(0, 1) : own) {
    hit.add(one.id);
    world.planted.transactions.add(one.txHash);
  }
}

/** A token's fault is everybody's, and a hot wallet's is its merchant's sweeps. */
function isHit(_world: ItemWorld, plant: Plant, hit: ReadonlySet<string>, item: Item): boolean {
  if (plant.of === "token") return item.currency === "token";
  if (plant.of === "wallet") return item.merchant === "A";
  return hit.has(item.id);
}
