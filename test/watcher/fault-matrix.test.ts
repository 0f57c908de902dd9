/**
 * The matrix of faults: each domain in each family, on one item of merchant A or on all of A's.
 * With and without the plant, everybody else sees the same: orders, payments, credits, sweeps,
 * payouts, pages, the chain. The fault stands under A's name, and goes with the plant.
 */
import { describe, expect, it } from "vitest";
import type { Domain } from "../../gateway/faults/domains.ts";
import { type Extent, runCell } from "../../lab/faults/items/cell.ts";
import { runChainCell } from "../../lab/faults/items/chain-cell.ts";
import { chainPlants } from "../../lab/faults/items/chain-plants.ts";
import { families, plants } from "../../lab/faults/items/plants.ts";
import { isLongTier } from "../../lab/kit/share.ts";

const all = (Object.keys(plants) as Domain[]).flatMap((domain) =>
  families.flatMap((family) => {
    const plant = plants[domain][family];
    return "none" in plant ? [] : (["one", "all"] as const).map((extent) => ({ domain, family, extent, plant }));
  }),
);
/** In the quick tier one extent of each cell, in turn. */
const cells = isLongTier ? all : all.filter(({ extent }, at) => (extent === "one") === (Math.floor(at / 2) % 2 === 0));

describe("a fault of an item", () => {
  it.each(cells)("$domain, $family, $extent of A's", async ({ domain, family, extent, plant }) => {
    const { planted, plain, during, after, left, healthy } = await runCell(domain, family, plant, extent as Extent);
    expect(planted).toEqual(plain);
    expect(planted.length).toBeGreaterThan(3);
    // Money goes on beside the fault: it is credited, and swept where addresses hold it.
    expect(planted.some((line) => line.includes("completed"))).toBe(true);
    expect(planted.some((line) => line.includes('"stage":"queued"'))).toBe(family !== "xrp");
    expect(during.length).toBeGreaterThan(0);
    for (const { merchant } of during) expect(merchant).toBe(domain === "currency" ? "" : "m1");
    expect(after).toEqual([]);
    expect(left).toEqual(healthy);
  });

  it("has a cell or a reason in each domain and family", () => {
    for (const [domain, row] of [...Object.entries(plants), ...Object.entries(chainPlants)])
      for (const [family, cell] of Object.entries(row))
        expect("none" in cell ? cell.none : cell.report, `${domain} ${family}`).not.toBe("");
  });
});

const ofChains = Object.entries(chainPlants).flatMap(([domain, row]) =>
  families.flatMap((family) => {
    const plant = row[family];
    return "none" in plant ? [] : [{ domain, family, plant }];
  }),
);

describe("a fault of a chain", () => {
  it.each(ofChains)("$domain, $family", async ({ family, plant }) => {
    const { during, after, ended, planted, plain } = await runChainCell(family, plant);
    expect(during).toContain(plant.code);
    expect(during.startsWith("ok")).toBe(plant.goesOn === "all" || plant.goesOn === "seen");
    const isPaidOut = plant.goesOn === "all" || plant.goesOn === "payouts";
    expect(ended.requests > 0).toBe(plant.goesOn === "all");
    // The chain in memory judges a payout by any of its blocks, also where the final one stands.
    if (plant.goesOn !== "seen") expect(ended.payouts > 0).toBe(isPaidOut);
    expect(after).toBe("ok; ");
    expect(planted).toEqual(plain);
    expect(plain.some((line) => line.includes("completed"))).toBe(true);
  });
});
