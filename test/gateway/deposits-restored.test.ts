/**
 * A database restored between every two steps of a deposit: no address belongs to two orders, no
 * order is completed by another's payment, and every unit that came is in a list. Reports of the
 * same kind: btcpayserver/btcpayserver #3817 (an image was restored, and invoices had used
 * addresses), bitcoin/bitcoin #3791 and #9741 (an old wallet file gives old addresses again) and
 * lightninglabs/taproot-assets #2221 (a recovery set the count of keys back).
 */
import { randomInt } from "node:crypto";
import { rmSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { depositAddressOf } from "../../chains/evm/address.ts";
import { endRestoreWaitIfRead } from "../../gateway/deposits/ceilings.ts";
import { watchSkipped } from "../../gateway/deposits/skipped-addresses.ts";
import { marksPathOf } from "../../gateway/store/address-marks.ts";
import { countForgottenIndexes } from "../../gateway/store/forgotten-ranges.ts";
import { markRestored } from "../../gateway/store/restored-database.ts";
import { depositXpub } from "../../lab/kit/gateway-database.ts";
import { SeededRandom, seedsOfRun } from "../../lab/kit/seeded.ts";
import { shareOf } from "../../lab/kit/share.ts";
import { RestoredAgentKit } from "../support/restored-agent-kit.ts";
import { RestoredKit } from "../support/restored-kit.ts";

// Steps of a thousand addresses show no more, and take a second each to derive.
vi.mock("../../gateway/deposits/ceiling-steps.ts", () => ({
  ceilingStep: 10,
  indexesJumpMin: 30,
  ceilingAheadMax: 1_000_000,
}));

const seedsEach = Number(process.env.SEEDS ?? "1");
let kit: RestoredKit;

/** Each step of one deposit, in order. */
const steps: readonly ((address: () => string) => Promise<void> | void)[] = [
  async () => void (await kit.orderSoon("anna")),
  (address) => kit.pay(address()),
  () => kit.read(),
  () => kit.settle(),
  async () => void (await kit.orderSoon("carl")),
];

/** Nobody's money is anybody else's, and none is lost to sight. */
async function holds(): Promise<void> {
  await kit.settle();
  for (const [address, orders] of kit.left) expect([...orders], address).toHaveLength(1);
  const paid = kit.paid();
  for (const row of kit.rows().filter(({ status }) => status === 1)) {
    const own = [...kit.left]
      .filter(([, orders]) => orders.has(row.orderId))
      .map(([address]) => paid.get(address) ?? 0n);
    const sum = own.reduce((all, units) => all + units, 0n);
    expect(sum >= BigInt(row.units ?? 0), `${row.orderId} was paid`).toBe(true);
  }
  for (const [address, units] of paid) {
    const listed = kit.payments().filter((one) => one.address === address && one.final === 1);
    expect(
      listed.reduce((all, one) => all + BigInt(one.units), 0n),
      `what came to ${address} is listed`,
    ).toBe(units);
    const held = kit
      .rows()
      .filter(({ id }) => listed.some(({ transactionId }) => transactionId === id));
    expect(held.reduce((all, row) => all + BigInt(row.receivedUnits), 0n)).toBe(units);
  }
}

const first = (): string => [...kit.left].find(([, orders]) => orders.has("anna"))?.[0] ?? "";

async function tried(
  make: () => RestoredKit,
  { kept, until, seed }: { kept: number; until: number; seed: number },
): Promise<void> {
  kit = make();
  try {
    await kit.begin();
    const chance = new SeededRandom(seed + kept * 31 + until);
    for (let other = chance.below(8); other > 0; other -= 1) await kit.orderSoon(`other-${other}`);
    for (const [at, step] of steps.slice(0, until).entries()) {
      if (at === kept) kit.keep("copy", chance.pick(["backup", "file"]));
      await step(first);
    }
    const anna = first();
    // A copy shows by itself that it is a copy, also when the file beside it was rolled back or is
    // lost.
    await kit.restored("copy");
    expect(kit.reason === "" && kit.left.size > kit.rows().length, "it is noticed").toBe(false);
    const bora = await kit.orderSoon("bora");
    await holds();
    const again = await kit.orderSoon("anna");
    for (const address of [bora, again, anna])
      if (chance.chance(2) && address !== "") kit.pay(address);
    await holds();
  } finally {
    await kit.remove();
  }
}

const allPairs = steps.flatMap((_, kept) =>
  steps.slice(kept).map((_step, more) => ({ kept, until: kept + more + 1 })),
);
// A third of them, which third is drawn, so that the quick tier sees each in time.
const pairs = shareOf(allPairs, 3, randomInt(3));
const worlds = [
  { whose: "a merchant without an agent", make: () => new RestoredKit() },
  { whose: "a merchant with an agent", make: () => new RestoredAgentKit() },
];

describe.each(worlds)("$whose", ({ make }) => {
  it.each(pairs)(
    "a database kept before step $kept and restored after $until gives no address and no money twice",
    async (pair) => {
      for (const seed of seedsOfRun(seedsEach)) await tried(make, { ...pair, seed });
    },
  );
});

describe("beside the database", () => {
  const begin = async (one: RestoredKit): Promise<void> => {
    kit = one;
    await kit.begin();
  };
  const lose = (): void => rmSync(marksPathOf(kit.database));

  it("an account without an agent jumps far without the file beside the database, and the skipped addresses are watched", async () => {
    await begin(new RestoredKit());
    await kit.orderSoon("before");
    kit.keep("copy", "file");
    const anna = await kit.orderSoon("anna");
    await kit.restored("copy", lose);
    expect(kit.reason).toBe("the file of addresses beside it is gone or damaged");
    await kit.orderSoon("bora");
    kit.pay(anna);
    await holds();
    const [unattributed] = kit.rows().filter(({ orderId }) => orderId === `unattributed/${anna}`);
    expect(unattributed).toMatchObject({
      status: 2,
      late: 1,
      receivedUnits: `${10n ** 18n}`,
    });
    await kit.remove();
  });

  it("address indexes that were skipped are watched a few at a time, each once, and nothing leaves before the last", async () => {
    await begin(new RestoredKit());
    await kit.orderSoon("before");
    kit.keep("copy", "file");
    await kit.orderSoon("anna");
    await kit.restored("copy", lose);
    // No pass of the watcher has run yet: all that follows up to the next `await` runs in one turn
    // of the event loop.
    const { database } = kit.store;
    const forgotten = () =>
      database.all<{ addressIndex: number }>(
        "SELECT addressIndex FROM addresses WHERE origin <> 'given' ORDER BY number DESC",
      );
    expect([countForgottenIndexes(database), forgotten()]).toEqual([30, []]);
    const left = [];
    while (countForgottenIndexes(database) > 7)
      left.push(kit.store.write((inside) => watchSkipped(inside, 7)));
    expect(left).toEqual([23, 16, 9, 2]);
    expect(endRestoreWaitIfRead(database, () => true)).toBe(false);
    expect(await kit.order("bora")).toMatchObject({ code: "unavailable", reason: "catching_up" });
    await kit.orderSoon("bora");
    expect(forgotten().map(({ addressIndex }) => addressIndex)).toEqual(
      Array.from({ length: 30 }, (_, at) => at + 1),
    );
    await kit.remove();
  });

  it("no address leaves without the file beside the database before the agent has told its ceiling, and money that came meanwhile is found", async () => {
    await begin(new RestoredAgentKit());
    await kit.orderSoon("before");
    kit.keep("copy", "file");
    const anna = await kit.orderSoon("anna");
    kit.pay(anna);
    await kit.settle();
    await kit.restored("copy", lose);
    await kit.settle(); // the block of that payment is read before the agent comes
    expect(await kit.order("bora")).toMatchObject({ code: "unavailable", reason: "server_away" });
    await kit.meet();
    await kit.orderSoon("bora");
    await holds();
    expect(kit.rows().find(({ orderId }) => orderId === `unattributed/${anna}`)).toMatchObject({
      status: 2,
      late: 1,
    });
    await kit.remove();
  });

  it("an agent that is away blocks nothing until its step is used up, and then everything until it comes", async () => {
    await begin(new RestoredAgentKit());
    expect(await kit.order("first")).toMatchObject({ code: "unavailable", reason: "server_away" });
    await kit.meet();
    for (let number = 0; number < 10; number += 1)
      expect((await kit.order(`o-${number}`)).address).not.toBe("");
    expect(await kit.order("late")).toMatchObject({ code: "unavailable", reason: "server_away" });
    await kit.meet();
    expect((await kit.order("late")).address).not.toBe("");
    await kit.remove();
  });

  it("a start of a database that nobody restored skips nothing, also after a kill between commit and answer", async () => {
    await begin(new RestoredKit());
    await kit.orderSoon("anna");
    kit.keep("copy", "file");
    await kit.restored("copy");
    expect(kit.reason).toBe("");
    expect(kit.rows()).toHaveLength(1);
    expect(
      kit.store.database.get("SELECT count(*) AS n FROM addresses WHERE origin <> 'given'"),
    ).toEqual({
      n: 0,
    });
    await kit.remove();
  });
});

describe("under a wrong clock", () => {
  const dayMs = 86_400_000;
  const firstAddress = depositAddressOf(depositXpub, 0);

  it("a restore that was noticed a day ahead holds nothing back once the clock is right", async () => {
    kit = new RestoredKit();
    await kit.begin();
    await kit.orderSoon("before");
    kit.keep("copy", "file");
    await kit.orderSoon("anna");
    kit.nowMs += dayMs;
    await kit.restored("copy");
    expect(kit.reason).not.toBe("");
    kit.nowMs -= dayMs;
    for (let read = 0; read < 3; read += 1) await kit.read();
    expect((await kit.order("bora")).reason).toBe("");
    await holds();
    await kit.remove();
  });

  it("no address leaves before the chain is read since a restore that an agent told of a day behind", async () => {
    kit = new RestoredKit();
    await kit.begin();
    await kit.orderSoon("before");
    kit.isDeaf = true; // no pass ends from here on
    kit.nowMs -= dayMs;
    kit.store.write((inside) => markRestored(inside, "an agent tells of more"));
    expect(await kit.order("anna")).toMatchObject({ code: "unavailable", reason: "catching_up" });
    kit.isDeaf = false;
    await kit.orderSoon("anna");
    await kit.remove();
  });

  it("no address leaves before the chain is read since a restore that was noticed a day behind", async () => {
    kit = new RestoredKit();
    await kit.begin();
    await kit.orderSoon("before");
    kit.isDeaf = true; // no pass ends from here on
    kit.nowMs -= dayMs;
    await kit.marks.note(firstAddress, 5);
    expect(await kit.order("anna")).toMatchObject({ code: "unavailable", reason: "catching_up" });
    while (kit.store.write((inside) => watchSkipped(inside, 7)) > 0);
    expect(await kit.order("anna")).toMatchObject({ code: "unavailable", reason: "catching_up" });
    kit.isDeaf = false;
    await kit.orderSoon("anna");
    await kit.remove();
  });
});
