/**
 * Transactions in final blocks that no node shows so that they can be read: each is a row with an
 * alarm, nothing of it is credited by guess, it is read again with rests and at an operator's word,
 * and an outsider can make only so many rows.
 */
import { afterEach, describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import {
  askReread,
  hasUnreadTransaction,
  listUnread,
  unreadEachMax,
} from "../../gateway/store/unread-transactions.ts";
import type { Plant } from "../../lab/faults/items/plant-makers.ts";
import { ItemWorld } from "../../lab/faults/items/world.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
let world: ItemWorld;
let odd: Set<string>; // hashes that cannot be read
let asked: number[]; // blocks that were read as final
afterEach(() => world.close());

function worldOf(family: "evm" | "xrp" | "tron"): ItemWorld {
  odd = new Set();
  asked = [];
  const plant: Plant = {
    report: "none: a chain whose transactions turn odd",
    of: "request",
    wrap: (honest) => ({
      ...honest,
      payments: async (blocks, contracts, addresses, isAgreed) => {
        if (isAgreed) asked.push(...blocks.map(({ number }) => number));
        const { found, unread } = await honest.payments(blocks, contracts, addresses, isAgreed);
        const fault = new AgentError("NODE_ANSWER", "none", "the node's answer is no Amount");
        const hidden = found.filter(({ txHash }) => odd.has(txHash));
        const shown = hidden.map(({ txHash, block, address: account }) => ({
          txHash,
          block,
          account,
          fault,
        }));
        return {
          found: found.filter((one) => !hidden.includes(one)),
          unread: [...unread, ...shown],
        };
      },
    }),
  };
  world = new ItemWorld(family, plant);
  world.fund();
  return world;
}

const unread = () => listUnread(world.database, world.network);
const alarms = () =>
  world.database.all<{ subject: string }>(
    "SELECT subject FROM audit WHERE act = 'alarm WATCHER_UNREAD'",
  );
const received = (
  id: string,
): { readonly stage: string; readonly receivedUnits: string } | undefined =>
  world.database.get("SELECT stage, receivedUnits FROM deposits WHERE id = ?", id);

async function pass(ms: number, count = 1): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    world.nowMs += ms;
    await world.pass();
  }
}

describe.each(["evm", "tron", "xrp"] as const)(
  "a transaction on %s that cannot be read",
  (family) => {
    it("is a row with an alarm, is not credited, and is credited once when it is read", async () => {
      worldOf(family);
      await world.settle();
      const address = await world.order("A", "coin");
      await world.order("B", "coin");
      const [own, theirs] = world.requests as [
        (typeof world.requests)[0],
        (typeof world.requests)[0],
      ];
      odd.add(own.txHash);
      world.payAll();
      await world.settle();
      expect(unread()).toMatchObject([
        { txHash: own.txHash, address, merchant: "m1", code: "NODE_ANSWER", settledAt: null },
      ]);
      expect(alarms()).toEqual([{ subject: own.txHash }]);
      // The balance shows the money, and it is no payment for that.
      await pass(minuteMs, 10);
      expect(received(own.id)).toMatchObject({ receivedUnits: "0" });
      expect(received(theirs.id)).toMatchObject({ stage: "completed" });
      odd.clear();
      await pass(dayMs);
      expect(received(own.id)).toMatchObject({
        stage: "completed",
        receivedUnits: received(theirs.id)?.receivedUnits,
      });
      expect([
        unread(),
        alarms().length,
        hasUnreadTransaction(world.database, world.network, address),
      ]).toEqual([[], 1, false]);
      await pass(minuteMs, 3);
      expect(received(own.id)?.receivedUnits).toBe(received(theirs.id)?.receivedUnits);
    });
  },
);

describe("unread transactions", () => {
  it("are read again with rests, by another process too, and at once at an operator's word", async () => {
    worldOf("evm");
    await world.settle();
    await world.order("A", "coin");
    const [own] = world.requests as [(typeof world.requests)[0]];
    odd.add(own.txHash);
    world.payAll();
    await world.settle();
    const { block } = unread()[0] as { block: number };
    const tries = (): number => asked.filter((one) => one === block).length;
    await pass(minuteMs, 30);
    const before = tries();
    expect(before).toBeGreaterThan(4);
    expect(before).toBeLessThan(10);
    await world.restart();
    await pass(1_000, 5);
    expect(world.faults.map(({ domain, merchant }) => [domain, merchant])).toEqual([
      ["transaction", "m1"],
    ]);
    expect(tries()).toBe(before);
    expect(askReread(world.database, "0x00")).toEqual([]);
    expect(askReread(world.database, own.txHash.toUpperCase()).length).toBe(1);
    await pass(1_000);
    expect(tries()).toBe(before + 1);
    await pass(1_000, 5);
    expect(tries()).toBe(before + 1);
  });

  it("are so many rows of an address at most, and each is credited in the end", async () => {
    worldOf("evm");
    await world.settle();
    const to = await world.order("A", "coin");
    const [own] = world.requests as [(typeof world.requests)[0]];
    const count = unreadEachMax + 20;
    for (let at = 0; at < count; at += 1) {
      const hash = world.chain.hashOf(`odd ${at}`);
      odd.add(hash);
      world.nowMs += 1_000;
      world.chain.mine(world.nowMs, [{ hash, from: "a payer", to, units: 1_000n }]);
      if (at % 8 === 7) await world.pass();
    }
    await world.settle();
    expect(unread()).toHaveLength(unreadEachMax + 1);
    expect(alarms()).toHaveLength(unreadEachMax + 1);
    const rest = unread().find(({ txHash }) => txHash === "");
    expect((rest?.blockTo ?? 0) - (rest?.block ?? 0)).toBe(19);
    odd.clear();
    await pass(3 * 60 * minuteMs, 40);
    expect(unread()).toEqual([]);
    expect(received(own.id)?.receivedUnits).toBe(`${count * 1_000}`);
    const kept = world.database.get<{ n: number }>("SELECT count(*) AS n FROM unreadTransactions");
    await pass(31 * dayMs);
    odd.add(world.chain.hashOf("one more"));
    world.chain.mine(world.nowMs, [
      { hash: world.chain.hashOf("one more"), from: "a payer", to, units: 1_000n },
    ]);
    await world.settle();
    odd.clear();
    await pass(dayMs, 2);
    expect(kept?.n).toBe(unreadEachMax + 1);
    expect(world.database.get("SELECT count(*) AS n FROM unreadTransactions")).toEqual({ n: 1 });
  });

  it("of one merchant delay none of another's", async () => {
    worldOf("evm");
    await world.settle();
    const to = await world.order("A", "coin");
    const theirs = await world.order("B", "coin");
    for (let at = 0; at < 21; at += 1) {
      const hash = world.chain.hashOf(`odd ${at}`);
      odd.add(hash);
      world.chain.mine(world.nowMs, [
        { hash, from: "a payer", to: at === 20 ? theirs : to, units: 1_000n },
      ]);
    }
    await world.settle();
    const last = unread().find(({ address }) => address === theirs)?.block ?? -1;
    await pass(2 * dayMs);
    asked = [];
    await pass(2 * dayMs);
    expect(asked).toHaveLength(4);
    expect(asked).toContain(last);
  });
});
