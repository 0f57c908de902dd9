/**
 * Gaps: final blocks whose content cannot be had, though every header stands. One account's list
 * costs that account alone; the content of a block for all accounts is passed after ten minutes.
 * While a gap is open nothing that lived in it ends, and what it held counts once it is filled.
 */
import { afterEach, describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { failedResult } from "../../base/result.ts";
import { giveUpGap } from "../../gateway/operator/faults.ts";
import { listFaults } from "../../gateway/store/faults.ts";
import { type GapRow, listGaps, retryGapSoon } from "../../gateway/store/gaps.ts";
import type { Plant } from "../../lab/faults/items/plant-makers.ts";
import type { FamilyKey } from "../../lab/faults/items/plants.ts";
import { ItemWorld, type MerchantTransfer } from "../../lab/faults/items/world.ts";

const minuteMs = 60_000;
let world: ItemWorld;
let lost: Set<number>; // blocks whose content no node has
let asked: number;
let blind: string; // an address whose balances no node gives
afterEach(() => world.close());

function worldOf(
  family: FamilyKey,
  code: "NODE_PRUNED" | "NODE_UNREACHABLE" = "NODE_PRUNED",
): ItemWorld {
  lost = new Set();
  asked = 0;
  blind = "";
  const plant: Plant = {
    report: "public-bugs-coins.md 7, public-bugs-chains-and-shop.md",
    of: "request",
    wrap: (honest) => ({
      ...honest,
      payments: async (blocks, contracts, addresses, isAgreed) => {
        if (isAgreed) asked += 1;
        if (isAgreed && blocks.some(({ number }) => lost.has(number)))
          throw new AgentError(code, "none", "the node has no receipts of this block");
        return honest.payments(blocks, contracts, addresses, isAgreed);
      },
      balances: async (questions, block) => {
        const told = await honest.balances(questions, block);
        const out = failedResult(
          new AgentError("NODE_ANSWER", "none", "the node's answer is no balance"),
        );
        return told.map((one, at) => (questions[at]?.account === blind ? out : one));
      },
    }),
  };
  world = new ItemWorld(family, plant);
  world.fund();
  return world;
}

const gaps = () => listGaps(world.database, world.network);
const alarms = () =>
  world.database.all<{ detail: string }>(
    "SELECT detail FROM audit WHERE act = 'alarm WATCHER_GAP'",
  );
const rowOf = ({ id }: MerchantTransfer) =>
  world.database.get<{ status: number; stage: string; receivedUnits: string }>(
    "SELECT status, stage, receivedUnits FROM deposits WHERE id = ?",
    id,
  );

/** A payment in a block that is lost, with blocks around it. */
async function loseABlock(currency = "coin"): Promise<number> {
  await world.settle();
  await world.order("A", currency, 30 * minuteMs);
  await world.settle();
  world.nowMs += 3_000;
  world.payAll();
  const block = world.chain.top;
  lost.add(block);
  for (let at = 0; at < 3; at += 1) world.chain.mine(world.nowMs);
  return block;
}

async function passes(ms: number, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    world.nowMs += ms;
    await world.watch.passOnce();
  }
}

describe.each(["tron", "xrp"] as const)("a block of %s whose content nobody has", (family) => {
  it("stops the chain no longer if the clock was a day ahead when it was asked for first", async () => {
    const dayMs = 24 * 60 * minuteMs;
    worldOf(family);
    const block = await loseABlock();
    world.nowMs += dayMs;
    await passes(minuteMs, 1);
    world.nowMs -= dayMs;
    await passes(minuteMs, 9);
    expect(gaps()).toEqual([]);
    await passes(minuteMs, 3);
    expect(gaps()).toMatchObject([{ account: "", fromBlock: block }]);
  });

  it("stops the chain for ten minutes, is then a gap with its alarm, and counts once it is filled", async () => {
    worldOf(family);
    const block = await loseABlock();
    const [request] = world.requests as [MerchantTransfer];
    await passes(minuteMs, 9);
    expect([gaps(), alarms()]).toEqual([[], []]);
    expect(world.watch.status().detail).toContain("NODE_PRUNED");
    await passes(minuteMs, 3);
    expect(gaps()).toMatchObject([
      { account: "", fromBlock: block, toBlock: block, code: "NODE_PRUNED", merchant: "" },
    ]);
    expect(alarms()).toHaveLength(1);
    expect(alarms()[0]?.detail).toContain(`block ${block} could not be read`);
    expect(world.watch.status().detail).toBe("");
    expect(listFaults(world.database)).toMatchObject([
      { domain: "history", id: `* ${block}`, merchant: "" },
    ]);
    // A later payment counts meanwhile, and the request of the gap does not end.
    await world.order("B", "coin");
    const [, later] = world.requests as [MerchantTransfer, MerchantTransfer];
    world.requests.splice(0, 1);
    world.payAll();
    world.requests.unshift(request);
    await world.settle();
    expect(rowOf(later)).toMatchObject({ stage: "completed" });
    await passes(10 * minuteMs, 12);
    await world.settle();
    expect(rowOf(request)).toMatchObject({ status: 0 });
    // It is asked for again with rests, and at once at an operator's word.
    const before = asked;
    await passes(1_000, 20);
    expect(asked - before).toBeLessThan(3);
    lost.clear();
    world.store.write((database) =>
      retryGapSoon(database, { network: world.network, account: "", fromBlock: block }),
    );
    await passes(1_000, 2);
    expect([
      gaps(),
      listFaults(world.database).filter(({ domain }) => domain === "history"),
    ]).toEqual([[], []]);
    expect(rowOf(request)).toMatchObject({
      stage: "completed",
      receivedUnits: rowOf(later)?.receivedUnits,
    });
    expect(alarms()).toHaveLength(1);
  });
});

describe("a gap", () => {
  it("that no node will ever fill is given up: the balance then says what came, once", async () => {
    worldOf("tron");
    const block = await loseABlock();
    const [request] = world.requests as [MerchantTransfer];
    await passes(minuteMs, 13);
    const by = { store: world.store, actor: "ayse", nowMs: world.nowMs } as never;
    expect(giveUpGap(by, `history/${world.network}/*/${block + 1}`, "no")).toMatchObject({
      code: "GATEWAY_UNKNOWN_FAULT",
    });
    for (let at = 0; at < 3; at += 1) await world.settle();
    expect(rowOf(request)).toMatchObject({ status: 0, receivedUnits: "0" });
    expect(giveUpGap(by, `history/${world.network}/*/${block}`, "no node has it")).toMatchObject({
      ok: true,
    });
    for (let at = 0; at < 3; at += 1) await world.settle();
    expect([gaps(), rowOf(request)]).toMatchObject([
      [],
      { stage: "completed", receivedUnits: "1000000" },
    ]);
  });

  it.each([
    ["evm", "coin"],
    ["evm", "token"],
    ["tron", "coin"],
    ["tron", "token"],
    ["bitcoin", "coin"],
    ["litecoin", "coin"],
  ] as const)(
    "that was given up holds the requests that lived in it, on %s in a %s, until each balance was compared",
    async (family, currency) => {
      worldOf(family);
      await world.settle();
      await world.order("B", currency, 30 * minuteMs);
      const [unpaid] = world.requests.splice(0) as [MerchantTransfer];
      const block = await loseABlock(currency);
      const [request] = world.requests as [MerchantTransfer];
      const decimals = world.currencies.find(({ id }) => id === currency)?.decimal ?? 0;
      await passes(minuteMs, 13);
      await passes(10 * minuteMs, 12);
      await world.settle();
      blind = request.address;
      const by = { store: world.store, actor: "ayse", nowMs: world.nowMs } as never;
      const name = `history/${world.network}/*/${block}`;
      expect(giveUpGap(by, name, "no node has it")).toMatchObject({ ok: true });
      expect(giveUpGap(by, name, "a second time")).toMatchObject({ ok: true });
      const told = () => listFaults(world.database).filter(({ domain }) => domain === "history");
      await passes(minuteMs, 1);
      expect(told()).toMatchObject([
        { id: `* ${block}`, words: expect.stringContaining("given up: ") },
      ]);
      const before = asked;
      for (let at = 0; at < 4; at += 1) await world.settle();
      // Its balance cannot be read: it stays open for hours, and the block is asked for by nobody.
      await passes(10 * minuteMs, 12);
      expect([rowOf(request), rowOf(unpaid)]).toMatchObject([
        { status: 0 },
        { status: 2, stage: "expired" },
      ]);
      expect(told()[0]?.words).toContain(
        "given up: 1 request is held until the balance of each was compared",
      );
      expect(gaps()).toMatchObject([
        { fromBlock: block, givenUpAt: expect.any(Number), tries: gaps()[0]?.tries },
      ]);
      lost.clear();
      world.chain.mine(world.nowMs);
      await passes(1_000, 1);
      expect(asked).toBeGreaterThanOrEqual(before);
      expect(rowOf(request)).toMatchObject({ status: 0, receivedUnits: "0" });
      blind = "";
      await passes(10 * minuteMs, 2);
      for (let at = 0; at < 3; at += 1) await world.settle();
      expect(rowOf(request)).toMatchObject({
        stage: "completed",
        receivedUnits: `${10n ** BigInt(decimals)}`,
      });
      expect([gaps(), told()]).toEqual([[], []]);
    },
  );

  it("is none where the nodes cannot be reached: the chain then waits", async () => {
    worldOf("tron", "NODE_UNREACHABLE");
    await loseABlock();
    await passes(minuteMs, 30);
    expect(gaps()).toEqual([]);
    expect(world.watch.status().detail).toContain("NODE_UNREACHABLE");
  });

  it("takes its neighbours in at once, and is filled from its first block on", async () => {
    worldOf("tron");
    const block = await loseABlock();
    for (let more = 1; more <= 60; more += 1) lost.add(block + more);
    await passes(minuteMs, 12);
    for (let at = 0; at < 70; at += 1) world.chain.mine(world.nowMs);
    await passes(1_000, 80);
    expect(gaps().map(({ fromBlock, toBlock }) => [fromBlock, toBlock])).toEqual([
      [block, block + 60],
    ]);
    expect(world.chain.final).toBeGreaterThan(block + 60);
    for (const one of lost) if (one < block + 40) lost.delete(one);
    const ask = (): void =>
      world.store.write((database) => {
        for (const { account, fromBlock } of listGaps(database, world.network))
          retryGapSoon(database, { network: world.network, account, fromBlock });
      });
    ask();
    await passes(1_000, 1);
    const [left] = gaps() as [GapRow];
    expect(left.fromBlock).toBe(block + 32);
    lost.clear();
    ask();
    await passes(1_000, 3);
    expect(gaps()).toEqual([]);
    expect(rowOf(world.requests[0] as MerchantTransfer)).toMatchObject({ stage: "completed" });
  });

  it("lets no attempt that may be in it be called void", async () => {
    worldOf("tron");
    world.payOut("A", 1, world.nowMs);
    const block = await loseABlock();
    const voids = () =>
      world.database.get<{ n: number }>(
        "SELECT count(*) AS n FROM signatures WHERE voidAt IS NOT NULL",
      )?.n;
    world.nowMs += 24 * 60 * minuteMs;
    world.chain.mine(world.nowMs);
    await passes(minuteMs, 12);
    for (let at = 0; at < 3; at += 1) world.chain.mine(world.nowMs);
    await passes(1_000, 5);
    expect([gaps().length, voids()]).toEqual([1, 0]);
    lost.clear();
    world.store.write((database) =>
      retryGapSoon(database, { network: world.network, account: "", fromBlock: block }),
    );
    await passes(1_000, 3);
    world.chain.mine(world.nowMs);
    await passes(1_000, 2);
    expect([gaps().length, voids()]).toEqual([0, 1]);
  });
});
