/**
 * Merchant A has more of a thing than a pass asks about, and merchant B has one, which comes last.
 * B's is asked about in the first pass all the same, in each list of a pass. Nodes of Tron answer
 * one balance a question, so that a pass asks about few.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { WatcherNodes } from "../../chains/nodes.ts";
import { DepositAccounts } from "../../gateway/watcher/ahead.ts";
import type { Plant } from "../../lab/faults/items/plant-makers.ts";
import { ItemWorld } from "../../lab/faults/items/world.ts";

let world: ItemWorld;
afterEach(() => {
  vi.restoreAllMocks();
  return world.close();
});

/** The things that were asked about since the last `take`, in order. */
class Asked {
  #list: string[] = [];
  note(about: string): void {
    this.#list.push(about);
  }
  take(): readonly string[] {
    const list = this.#list;
    this.#list = [];
    return list;
  }
}

/** A world whose questions are noted; nodes name the newest balance alone. */
function worldOf(
  asked: Asked,
  change: (honest: WatcherNodes) => Partial<WatcherNodes> = () => ({}),
): ItemWorld {
  const plant: Plant = {
    report: "none: an honest chain that notes what it is asked",
    of: "request",
    wrap: (honest) => ({
      ...honest,
      tellsNewestBalances: true,
      balances: async (questions, block) => {
        for (const { account } of questions) asked.note(account);
        return honest.balances(questions, block);
      },
      cost: async (account, payment) => {
        asked.note(`sweep ${account}`);
        return honest.cost(account, payment);
      },
      ...change(honest),
    }),
  };
  world = new ItemWorld("tron", plant);
  world.fund();
  return world;
}

async function orders(name: "A" | "B", count: number): Promise<readonly string[]> {
  const made: string[] = [];
  for (let at = 0; at < count; at += 1) made.push(await world.order(name, "coin"));
  expect(made).not.toContain("");
  return made;
}

async function block(): Promise<void> {
  world.nowMs += 3_000;
  world.chain.mine(world.nowMs);
  await world.watch.passOnce();
}

describe("merchant B, beside a merchant with more than a pass asks about", () => {
  it("has its open requests compared at each block", async () => {
    const asked = new Asked();
    worldOf(asked);
    await world.settle();
    const own = await orders("A", 30);
    const [theirs = ""] = await orders("B", 1);
    for (let at = 0; at < 20; at += 1) await block();
    for (let at = 0; at < 3; at += 1) {
      asked.take();
      await block();
      const seen = asked.take();
      expect(seen).toContain(theirs);
      // No pass asks about all of A's, and so many at least.
      const count = seen.filter((one) => own.includes(one)).length;
      expect([count >= 8, count < 30]).toEqual([true, true]);
    }
  });

  it("has its address compared first a day later", async () => {
    const asked = new Asked();
    worldOf(asked);
    await world.settle();
    const own = await orders("A", 30);
    const [theirs = ""] = await orders("B", 1);
    for (let at = 0; at < 20; at += 1) await block();
    asked.take();
    world.nowMs += 21 * 3_600_000;
    await block();
    const seen = asked.take();
    // A pass asks about the coin and the token of four addresses.
    const inBoth = (address: string): boolean => seen.filter((one) => one === address).length === 2;
    expect(inBoth(theirs)).toBe(true);
    expect(own.filter(inBoth).length).toBeLessThanOrEqual(3);
  });

  it("has its next addresses looked at in the first pass", async () => {
    const asked = new Asked();
    worldOf(asked);
    // Orders have waited for both within a day: 32 addresses of each are looked at ahead.
    vi.spyOn(DepositAccounts.prototype, "placesAhead").mockReturnValue(32);
    vi.spyOn(DepositAccounts.prototype, "nextAwake").mockImplementation(function (
      this: DepositAccounts,
      most,
    ) {
      return this.next(most);
    });
    await block();
    const seen = new Set(asked.take());
    const seenOf = (name: "A" | "B"): number =>
      Array.from({ length: 32 }, (_, at) => world.nextOf(name, at)).filter((one) => seen.has(one))
        .length;
    // Eight addresses are looked at together, one of each account after the other.
    expect(seenOf("A")).toBe(seenOf("B"));
    expect(seenOf("A")).toBeGreaterThan(3);
    expect(seenOf("A")).toBeLessThan(8);
  });

  it("has its sweep looked at in the first pass after its payment", async () => {
    const asked = new Asked();
    worldOf(asked, () => ({
      cost: async (account) => {
        asked.note(`sweep ${account}`);
        return { ok: false, code: "NODE_ERROR", detail: "it would revert" };
      },
    }));
    await world.settle();
    await orders("A", 30);
    const [theirs = ""] = await orders("B", 1);
    world.payAll();
    asked.take();
    await block();
    const seen = asked.take().filter((one) => one.startsWith("sweep"));
    expect(seen).toContain(`sweep ${theirs}`);
    expect(seen).toHaveLength(16);
  });

  it("has the end of its attempt asked for at the first block after it", async () => {
    const asked = new Asked();
    const hashes = new Set<string>();
    worldOf(asked, (honest) => ({
      findVoid: async (account, attempts) => {
        for (const { txHash } of attempts) asked.note(`end ${txHash}`);
        const told = await (honest.findVoid as NonNullable<WatcherNodes["findVoid"]>)(
          account,
          attempts,
        );
        // One node of two shows a receipt of each of A's, for as long as it likes.
        return attempts.some(({ txHash }) => hashes.has(txHash))
          ? { ...told, isVoid: false }
          : told;
      },
    }));
    const first = world.nowMs;
    for (let at = 0; at < 30; at += 1) world.payOut("A", at + 1, first + at * 61_000);
    for (const { txHash } of world.payouts) hashes.add(txHash);
    world.payOut("B", 1, first + 30 * 61_000);
    const theirs = `end ${world.payouts.at(-1)?.txHash}`;
    world.nowMs += 24 * 3_600_000;
    for (let at = 0; at < 2; at += 1) await block();
    expect(
      asked
        .take()
        .filter((one) => one.startsWith("end"))
        .slice(0, 16),
    ).toContain(theirs);
    // A's own attempts have their turn as well: all were asked about after some blocks.
    for (let at = 0; at < 4; at += 1) await block();
    expect(
      new Set(asked.take().filter((one) => one !== theirs && one.startsWith("end"))).size,
    ).toBe(30);
  });
});
