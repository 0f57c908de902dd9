/**
 * A database restored between every two steps of a deposit: no address belongs to two orders, no
 * order is completed by another's payment, and every unit that came is in a list. Reports of the
 * same kind: btcpayserver/btcpayserver #3817 (an image was put back, and invoices had used
 * addresses), bitcoin/bitcoin #3791 and #9741 (an old wallet file gives old addresses again) and
 * lightninglabs/taproot-assets #2221 (a recovery set the count of keys back).
 */
import { rmSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { endIfCaughtUp } from "../../gateway/deposits/ceilings.ts";
import { watchSkipped } from "../../gateway/deposits/skipped-addresses.ts";
import { marksPathOf } from "../../gateway/store/address-marks.ts";
import { countForgottenPlaces } from "../../gateway/store/forgotten-ranges.ts";
import { Seeded, seedsOfRun } from "../../lab/rig/seeded.ts";
import { PutBackAgentRig } from "../support/put-back-agent-rig.ts";
import { PutBackRig } from "../support/put-back-rig.ts";

// Steps of a thousand addresses show no more, and take a second each to derive.
vi.mock("../../gateway/deposits/ceiling-steps.ts", () => ({ ceilingStep: 10, farPlaces: 30, ceilingAheadMax: 1_000_000 }));

const seedsEach = Number(process.env.SEEDS ?? "1");
let rig: PutBackRig;

/** Each step of one deposit, in order. */
const steps: readonly ((address: () => string) => Promise<void> | void)[] = [
  async () => void (await rig.orderSoon("anna")),
  (address) => rig.pay(address()),
  () => rig.read(),
  () => rig.settle(),
  async () => void (await rig.orderSoon("carl")),
];

/** Nobody's money is anybody else's, and none is lost to sight. */
async function holds(): Promise<void> {
  await rig.settle();
  for (const [address, orders] of rig.left) expect([...orders], address).toHaveLength(1);
  const paid = rig.paid();
  for (const row of rig.rows().filter(({ status }) => status === 1)) {
    const own = [...rig.left].filter(([, orders]) => orders.has(row.orderId)).map(([address]) => paid.get(address) ?? 0n);
    const sum = own.reduce((all, units) => all + units, 0n);
    expect(sum >= BigInt(row.amountUnits), `${row.orderId} was paid`).toBe(true);
  }
  for (const [address, units] of paid) {
    const listed = rig.payments().filter((one) => one.address === address && one.final === 1);
    expect(
      listed.reduce((all, one) => all + BigInt(one.units), 0n),
      `what came to ${address} is listed`,
    ).toBe(units);
    const held = rig.rows().filter(({ id }) => listed.some(({ transactionId }) => transactionId === id));
    expect(held.reduce((all, row) => all + BigInt(row.amountReceivedUnits), 0n)).toBe(units);
  }
}

const first = (): string => [...rig.left].find(([, orders]) => orders.has("anna"))?.[0] ?? "";

async function tried(
  make: () => PutBackRig,
  { kept, until, seed }: { kept: number; until: number; seed: number },
): Promise<void> {
  rig = make();
  try {
    await rig.begin();
    const chance = new Seeded(seed + kept * 31 + until);
    for (let other = chance.below(8); other > 0; other -= 1) await rig.orderSoon(`other-${other}`);
    for (const [at, step] of steps.slice(0, until).entries()) {
      if (at === kept) rig.keep("copy", chance.pick(["backup", "file"]));
      await step(first);
    }
    const anna = first();
    // A copy shows by itself that it is a copy, also when the file beside it went back or is lost.
    await rig.putBack("copy");
    expect(rig.reason === "" && rig.left.size > rig.rows().length, "it is noticed").toBe(false);
    const bora = await rig.orderSoon("bora");
    await holds();
    const again = await rig.orderSoon("anna");
    for (const address of [bora, again, anna]) if (chance.chance(2) && address !== "") rig.pay(address);
    await holds();
  } finally {
    await rig.remove();
  }
}

const pairs = steps.flatMap((_, kept) => steps.slice(kept).map((_step, more) => ({ kept, until: kept + more + 1 })));
const worlds = [
  { whose: "a merchant without an agent", make: () => new PutBackRig() },
  { whose: "a merchant with an agent", make: () => new PutBackAgentRig() },
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
  const begin = async (one: PutBackRig): Promise<void> => {
    rig = one;
    await rig.begin();
  };
  const lose = (): void => rmSync(marksPathOf(rig.database));

  it("an account without an agent jumps far without the file beside the database, and the skipped addresses are watched", async () => {
    await begin(new PutBackRig());
    await rig.orderSoon("before");
    rig.keep("copy", "file");
    const anna = await rig.orderSoon("anna");
    await rig.putBack("copy", lose);
    expect(rig.reason).toBe("the file of addresses beside it is gone or damaged");
    await rig.orderSoon("bora");
    rig.pay(anna);
    await holds();
    const [unattributed] = rig.rows().filter(({ orderId }) => orderId === `unattributed/${anna}`);
    expect(unattributed).toMatchObject({ status: 2, late: 1, amountReceivedUnits: `${10n ** 18n}` });
    await rig.remove();
  });

  it("places that were skipped are watched a few at a time, each once, and nothing leaves before the last", async () => {
    await begin(new PutBackRig());
    await rig.orderSoon("before");
    rig.keep("copy", "file");
    await rig.orderSoon("anna");
    await rig.putBack("copy", lose);
    // No pass of the watcher has run yet: all that follows up to the next `await` is one turn.
    const { database } = rig.store;
    const forgotten = () => database.all<{ addressIndex: number }>("SELECT addressIndex FROM forgottenAddresses ORDER BY rowid");
    expect([countForgottenPlaces(database), forgotten()]).toEqual([30, []]);
    const left = [];
    while (countForgottenPlaces(database) > 7) left.push(rig.store.write((inside) => watchSkipped(inside, 7, rig.nowMs)));
    expect(left).toEqual([23, 16, 9, 2]);
    expect(endIfCaughtUp(database, () => true)).toBe(false);
    expect(await rig.order("bora")).toMatchObject({ code: "unavailable", reason: "catching_up" });
    await rig.orderSoon("bora");
    expect(forgotten().map(({ addressIndex }) => addressIndex)).toEqual(Array.from({ length: 30 }, (_, at) => at + 1));
    await rig.remove();
  });

  it("no address leaves without the file beside the database before the agent has told its ceiling, and money that came meanwhile is found", async () => {
    await begin(new PutBackAgentRig());
    await rig.orderSoon("before");
    rig.keep("copy", "file");
    const anna = await rig.orderSoon("anna");
    rig.pay(anna);
    await rig.settle();
    await rig.putBack("copy", lose);
    await rig.settle(); // the block of that payment is read before the agent comes
    expect(await rig.order("bora")).toMatchObject({ code: "unavailable", reason: "server_away" });
    await rig.meet();
    await rig.orderSoon("bora");
    await holds();
    expect(rig.rows().find(({ orderId }) => orderId === `unattributed/${anna}`)).toMatchObject({ status: 2, late: 1 });
    await rig.remove();
  });

  it("an agent that is away blocks nothing until its step is used up, and then everything until it comes", async () => {
    await begin(new PutBackAgentRig());
    expect(await rig.order("first")).toMatchObject({ code: "unavailable", reason: "server_away" });
    await rig.meet();
    for (let number = 0; number < 10; number += 1) expect((await rig.order(`o-${number}`)).address).not.toBe("");
    expect(await rig.order("late")).toMatchObject({ code: "unavailable", reason: "server_away" });
    await rig.meet();
    expect((await rig.order("late")).address).not.toBe("");
    await rig.remove();
  });

  it("a start of a database that nobody restored skips nothing, also after a kill between commit and answer", async () => {
    await begin(new PutBackRig());
    await rig.orderSoon("anna");
    rig.keep("copy", "file");
    await rig.putBack("copy");
    expect(rig.reason).toBe("");
    expect(rig.rows()).toHaveLength(1);
    expect(rig.store.database.get("SELECT count(*) AS n FROM forgottenAddresses")).toEqual({ n: 0 });
    await rig.remove();
  });
});
