/**
 * The matrix of faults: each domain in each family, on one item of merchant A or on all of A's.
 * With and without the plant, everybody else sees the same: orders, payments, credits, sweeps,
 * payouts, pages, the chain. The fault stands under A's name, and goes with the plant.
 */
import { describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { failedResult } from "../../base/result.ts";
import { runCell } from "../../lab/faults/items/cell.ts";
import { runChainCell } from "../../lab/faults/items/chain-cell.ts";
import { chainPlants } from "../../lab/faults/items/chain-plants.ts";
import type { Plant } from "../../lab/faults/items/plant-makers.ts";
import { type Extent, families, itemCells, plants } from "../../lab/faults/items/plants.ts";
import { runShopCell } from "../../lab/faults/items/shop-cell.ts";
import { type ShopDomain, shopPlants } from "../../lab/faults/items/shop-plants.ts";
import { ItemWorld } from "../../lab/faults/items/world.ts";
import { isLongTier } from "../../lab/kit/share.ts";

/** In the quick tier one extent of each plant, in turn. */
const cells = isLongTier
  ? itemCells
  : itemCells.filter(({ plant, extent }, at) => {
      const both = itemCells.filter(
        (one) => one.plant === plant && one.family === itemCells[at]?.family,
      );
      return both.length === 1 || (extent === "one") === (Math.floor(at / 2) % 2 === 0);
    });

describe("a fault of an item", () => {
  it.each(cells)("$domain, $family, $extent of A's: $plant.report", async (cell) => {
    const { domain, family, plant } = cell;
    const { planted, plain, during, after, left, healthy } = await runCell(cell);
    expect(planted).toEqual(plain);
    expect(planted.length).toBeGreaterThan(3);
    // Money goes on beside the fault: it is credited, and swept where addresses hold it.
    expect(planted.some((line) => line.includes("completed"))).toBe(true);
    expect(planted.some((line) => line.includes('"stage":"queued"'))).toBe(family !== "xrp");
    expect(during.length).toBeGreaterThan(0);
    for (const { merchant } of during) expect(merchant).toBe(plant.of === "token" ? "" : "m1");
    expect(during.every((one) => one.domain === domain)).toBe(true);
    expect(after).toEqual([]);
    expect(left).toEqual(healthy);
  });

  it("has a cell or a reason in each domain and family", () => {
    for (const [domain, row] of [...Object.entries(plants), ...Object.entries(chainPlants)])
      for (const [family, cell] of Object.entries(row))
        for (const words of "none" in cell
          ? [cell.none]
          : [cell].flat().map(({ report }) => report))
          expect(words, `${domain} ${family}`).not.toBe("");
  });
});

const extents = ["one", "all"] as const;
/** In the quick tier one extent of each family, in turn. */
const inTier = (at: number): readonly Extent[] =>
  isLongTier ? extents : [extents[at % 2] as Extent];
const ofShops = (Object.keys(shopPlants) as ShopDomain[]).flatMap((domain) =>
  families.flatMap((family, at) => {
    const { report } = shopPlants[domain][family];
    return (domain === "price" ? (["one"] as const) : inTier(at)).map((extent) => ({
      domain,
      family,
      extent,
      report,
    }));
  }),
);

describe("a fault of the shop's side", () => {
  it.each(ofShops)(
    "$domain, $family, $extent of A's: $report",
    async ({ domain, family, extent }) => {
      const { planted, plain, during, after, left, healthy } = await runShopCell(
        domain,
        family,
        extent,
      );
      expect(planted).toEqual(plain);
      expect(planted.length).toBeGreaterThan(3);
      expect(during.length).toBeGreaterThan(0);
      if (domain === "target") expect(during).toEqual(["m1"]);
      if (domain === "price") expect(during).toEqual(["kraken"]);
      expect(after).toEqual([]);
      expect(left).toEqual(healthy);
    },
  );
});

const ofChains = Object.entries(chainPlants).flatMap(([domain, row]) =>
  families.flatMap((family) => {
    const plant = row[family];
    return "none" in plant ? [] : [{ domain, family, plant }];
  }),
);

describe("the matrix", () => {
  it("has at least 80 cells with a plant, and no two of a family are alike", () => {
    const ofItems = itemCells.map(
      ({ domain, family, extent, plant }) =>
        `${family} ${domain} ${extent} ${plant.of} ${plant.report}`,
    );
    const ofSides = (Object.keys(shopPlants) as ShopDomain[]).flatMap((domain) =>
      families.flatMap((family) =>
        (domain === "price" ? ["one"] : extents).map(
          (extent) => `${family} ${domain} ${extent} ${shopPlants[domain][family].report}`,
        ),
      ),
    );
    const cells = [
      ...ofItems,
      ...ofSides,
      ...ofChains.map(({ domain, family, plant }) => `${family} ${domain} ${plant.report}`),
    ];
    expect(new Set(cells).size).toBe(cells.length);
    expect(cells.length).toBeGreaterThanOrEqual(80);
  });
});

describe("an item that fails", () => {
  /** Questions about the coin of A's first address in a minute of blocks. */
  async function askedInMinute(isPlanted: boolean): Promise<number> {
    let asked = 0;
    const plant: Plant = {
      report: "operator.md: a node that is asked again and again for what it does not have",
      of: "request",
      wrap: (honest, planted) => ({
        ...honest,
        balances: async (questions, block) => {
          const told = await honest.balances(questions, block);
          return told.map((one, at) => {
            const { account = "", contract = "" } = questions[at] ?? {};
            if (!planted.accounts.has(account) || contract !== "") return one;
            asked += 1;
            return isPlanted
              ? failedResult(new AgentError("NODE_PRUNED", "none", "missing trie node"))
              : one;
          });
        },
      }),
    };
    const world = new ItemWorld("evm", plant);
    try {
      world.fund();
      await world.settle();
      for (let at = 0; at < 3; at += 1) await world.order("A", "coin");
      await world.settle();
      world.planted.accounts.add(world.requests[0]?.address ?? "");
      asked = 0;
      for (let block = 0; block < 30; block += 1) {
        world.nowMs += 1_000;
        world.chain.mine(world.nowMs);
        await world.pass();
      }
      return asked;
    } finally {
      await world.close();
    }
  }

  it("rests, longer each time, and one that does not is asked for at each block", async () => {
    expect(await askedInMinute(true)).toBeLessThanOrEqual(5);
    expect(await askedInMinute(false)).toBeGreaterThanOrEqual(25);
  });
});

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
    // A payment waits for a final block that stands, so it is also told as seen.
    const told =
      plant.goesOn === "seen"
        ? planted.map((line) => line.replace('"deposit.detected",', ""))
        : planted;
    expect(told).toEqual(plain);
    expect(plain.some((line) => line.includes("completed"))).toBe(true);
  });
});
