/**
 * One cell of the matrix: the story with a plant and without it, from the same seed. Bystanders are
 * merchant B and those items of A that have no fault. The two runs must show them the same.
 */
import type { Fault } from "../../../gateway/faults/fault.ts";
import type { Plant } from "./plant-makers.ts";
import type { Extent, FamilyKey, ItemCell } from "./plants.ts";
import { ItemWorld, type MerchantTransfer, tokenContract } from "./world.ts";

export interface CellResult {
  readonly planted: readonly string[]; // the lines that bystanders saw
  readonly plain: readonly string[];
  readonly during: readonly Fault[]; // faults that stood while the plant was in
  readonly after: readonly Fault[]; // and once it was taken out
  readonly left: readonly string[]; // the items that had the fault, once it was taken out
  readonly healthy: readonly string[]; // the same items without the plant
}

const quarterMs = 15 * 60_000;

export async function runCell({ domain, family, plant, extent }: ItemCell): Promise<CellResult> {
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

interface FaultReport {
  readonly bystanders: readonly string[];
  readonly during: readonly Fault[];
  readonly after: readonly Fault[];
  readonly left: readonly string[];
}

/** Long: the cell's whole run, before the fault, with it and after it. */
async function story(
  family: FamilyKey,
  plant: Plant | null,
  extent: Extent,
  shape: Plant | null = plant,
): Promise<FaultReport> {
  const world = new ItemWorld(family, plant);
  const { of } = shape as Plant;
  try {
    world.fund();
    // The next addresses have the fault from their first look on.
    const hit = of === "next" ? nextOnes(world, extent) : new Set<string>();
    if (of === "next") world.isPlanted = true;
    await world.settle();
    for (const { id } of world.currencies) {
      for (const name of ["A", "A", "B"] as const) await world.order(name, id);
    }
    await world.settle();
    if (of !== "next") choose(world, shape as Plant, extent, hit);
    world.isPlanted = true;
    // An address that stays unread for a minute is passed over.
    if (of === "next") for (let block = 0; block < 2; block += 1) await world.settle();
    // Orders pass it over then, and nobody asks for it again.
    const before = of === "next" ? world.faults : [];
    const asked: string[] = [];
    // Orders, payments, payouts and sweeps beside the fault.
    for (const { id } of world.currencies)
      for (const name of ["A", "B"] as const) {
        const isNone = (await world.order(name, id)) === "";
        if (name === "B" || of !== "next" || extent === "one")
          asked.push(`${name} ${id} ${isNone ? "waits" : "has an address"}`);
      }
    for (const [slot, name] of (["A", "B", "A"] as const).entries()) world.payOut(name, slot + 1);
    if (of === "payout") choosePayouts(world, extent, hit);
    // Those of B are paid, and swept, while the fault stands.
    for (const name of ["A", "B"] as const) {
      world.payAll(name);
      await world.settle();
    }
    const during = [...before, ...world.faults];
    const bystanders = [...asked, ...world.trace((item) => isHit(shape as Plant, hit, item))];
    world.isPlanted = false;
    for (let step = 0; step < 3; step += 1) {
      world.nowMs += quarterMs;
      await world.settle();
    }
    // Money on an address that was passed over is nobody's, so its order is made only now.
    const left =
      of === "next"
        ? [(await world.order("A", "coin")) === "" ? "A waits" : "A has an address"]
        : world.trace((item) => !isHit(shape as Plant, hit, item));
    return { bystanders, during, after: world.faults, left };
  } finally {
    await world.close();
  }
}

/** Addresses of A that the orders before the plant leave. */
const nextCount = 40;

function nextOnes(world: ItemWorld, extent: Extent): Set<string> {
  const first = 2 * world.currencies.length;
  const places = Array.from({ length: extent === "one" ? 1 : nextCount }, (_, at) =>
    world.nextOf("A", first + at),
  );
  for (const address of places) world.planted.accounts.add(address);
  return new Set(places);
}

/** Adds the ids of the items with the fault, and plants it. */
function choose(world: ItemWorld, { of }: Plant, extent: Extent, hit: Set<string>): void {
  const { accounts, transactions, contracts } = world.planted;
  if (of === "token") {
    contracts.add(world.family === "tron" ? tokenContract.tron : tokenContract.evm);
    hit.add("token");
  }
  if (of === "wallet") {
    accounts.add(world.hotOf("A"));
    for (const { contract } of world.currencies)
      if (extent === "all" || contract === "") contracts.add(contract);
  }
  if (of === "request") {
    const own = world.requests.filter(({ merchant }) => merchant === "A");
    for (const one of extent === "one" ? own.slice(0, 1) : own) {
      hit.add(one.id);
      accounts.add(one.address);
      transactions.add(one.txHash);
    }
  }
}

function choosePayouts(world: ItemWorld, extent: Extent, hit: Set<string>): void {
  const own = world.payouts.filter(({ merchant }) => merchant === "A");
  for (const one of extent === "one" ? own.slice(0, 1) : own) {
    hit.add(one.id);
    world.planted.transactions.add(one.txHash);
  }
}

/**
 * A token's fault is everybody's, and a hot wallet's is its merchant's sweeps. Orders that come
 * after an address that was passed over have other addresses.
 */
function isHit({ of }: Plant, hit: ReadonlySet<string>, item: MerchantTransfer): boolean {
  if (of === "token") return item.currency === "token";
  if (of === "wallet" || of === "next") return item.merchant === "A";
  return hit.has(item.id);
}
