/**
 * Addresses that leave next and cannot be read. One of them costs only itself: after a minute the
 * next one leaves in its place. While none behind it is read, none is passed over.
 */
import { afterEach, describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { addressesAheadMin } from "../../gateway/watcher/ahead.ts";
import { type Plant, unreadable } from "../../lab/faults/items/plant-makers.ts";
import type { FamilyKey } from "../../lab/faults/items/plants.ts";
import { ItemWorld } from "../../lab/faults/items/world.ts";

let world: ItemWorld;
afterEach(() => world.close());

const ahead = 40;

/** Questions about addresses of A that leave next, by currency's contract. */
let asked: { readonly account: string; readonly contract: string }[];

/** A world in which the first addresses of A cannot be read. */
async function worldOf(family: FamilyKey, count: number, clockAheadMs = 0): Promise<void> {
  const fault = new AgentError(
    "NODE_ERROR",
    "none",
    "the address has 20001 coins, and more than 20000 are not read",
  );
  const plant = unreadable("security.md A3", "next", fault);
  asked = [];
  const wrap: Plant["wrap"] = (honest, planted) => {
    const nodes = plant.wrap(honest, planted);
    return {
      ...nodes,
      balances: async (questions, block) => {
        asked.push(...questions.filter(({ account }) => planted.accounts.has(account)));
        return nodes.balances(questions, block);
      },
    };
  };
  world = new ItemWorld(family, { ...plant, wrap });
  for (let place = 0; place < count; place += 1)
    world.planted.accounts.add(world.nextOf("A", place));
  world.isPlanted = true;
  world.nowMs += clockAheadMs;
  world.fund();
  await world.settle();
}

const faults = (): readonly string[] =>
  world.faults.map(({ domain, merchant }) => `${domain} of ${merchant}`);

describe("an address that leaves next and cannot be read", () => {
  it.each(["evm", "bitcoin"] as const)(
    "%s: is waited for, and after a minute the next one leaves in its place",
    async (family) => {
      await worldOf(family, 1);
      expect(await world.order("A", "coin")).toBe("");
      expect(await world.order("B", "coin")).toBe(world.nextOf("B", 0));
      expect(new Set(faults())).toEqual(new Set(["address of m1"]));
      world.nowMs += 60_000;
      await world.settle();
      expect(await world.order("A", "coin")).toBe(world.nextOf("A", 1));
      // Nobody has it, and nobody asks for it again.
      await world.settle();
      expect(faults()).toEqual([]);
      world.isPlanted = false;
      expect(await world.order("A", "coin")).toBe(world.nextOf("A", 2));
    },
  );

  it("is passed over after a minute as well, if the clock was a day ahead when it could not be read", async () => {
    const dayMs = 86_400_000;
    await worldOf("evm", 1, dayMs);
    expect(new Set(faults())).toEqual(new Set(["address of m1"]));
    world.nowMs -= dayMs;
    await world.settle();
    expect(await world.order("A", "coin")).toBe("");
    world.nowMs += 60_000;
    await world.settle();
    expect(await world.order("A", "coin")).toBe(world.nextOf("A", 1));
  });

  it("is no fault of the next process, once it was passed over", async () => {
    await worldOf("evm", 1);
    await world.restart();
    await world.settle();
    expect(new Set(faults())).toEqual(new Set(["address of m1"]));
    world.nowMs += 60_000;
    await world.settle();
    expect(await world.order("A", "coin")).toBe(world.nextOf("A", 1));
    await world.restart();
    await world.settle();
    expect(faults()).toEqual([]);
  });

  it("none is passed over while none behind it is read", async () => {
    await worldOf("evm", ahead);
    world.nowMs += 120_000;
    await world.settle();
    for (let tries = 0; tries < 3; tries += 1) expect(await world.order("A", "coin")).toBe("");
    world.isPlanted = false;
    world.nowMs += 15 * 60_000;
    await world.settle();
    expect(await world.order("A", "coin")).toBe(world.nextOf("A", 0));
    expect(faults()).toEqual([]);
  });

  it("is asked for its coin alone until that is read, and for the tokens after it", async () => {
    await worldOf("evm", 1);
    const tokens = () => asked.filter(({ contract }) => contract !== "");
    expect(tokens().length).toBeGreaterThan(0);
    asked = [];
    for (let minute = 0; minute < 10; minute += 1) {
      world.nowMs += 60_000;
      await world.settle();
    }
    expect(asked.length).toBeGreaterThan(3);
    expect(tokens()).toEqual([]);
    world.isPlanted = false;
    world.nowMs += 15 * 60_000;
    await world.settle();
    expect(tokens().length).toBeGreaterThan(0);
    expect(await world.order("A", "token")).toBe(world.nextOf("A", 0));
  });

  it("none is passed over for good: behind more of them than are read ahead, the first that is read leaves", async () => {
    await worldOf("evm", addressesAheadMin + 20);
    let address = "";
    for (let hour = 0; hour < 48 && address === ""; hour += 1) {
      world.nowMs += 3_600_000;
      await world.settle();
      address = await world.order("A", "coin");
    }
    expect(address).toBe(world.nextOf("A", addressesAheadMin + 20));
  });
});
