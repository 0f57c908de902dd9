/**
 * A database put back between every two steps of a deposit: no address belongs to two orders, no
 * order is completed by another's payment, and every unit that came is in a list. Reports of the
 * same kind: btcpayserver/btcpayserver issues on reused deposit addresses after a restore, and
 * lightningnetwork/lnd on a wallet whose address index went back.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Seeded, seedsOfRun } from "../../rig/seeded.ts";
import { PutBackRig } from "../support/put-back-rig.ts";

// Steps of a thousand addresses show no more, and take a second each to derive.
vi.mock("../../gateway/deposits/ceiling-steps.ts", () => ({ ceilingStep: 10, farPlaces: 30 }));

let rig: PutBackRig;
beforeEach(async () => {
  rig = new PutBackRig();
  await rig.begin();
});
afterEach(() => rig.remove());

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

const pairs = steps.flatMap((_, kept) => steps.slice(kept).map((_step, more) => [kept, kept + more + 1] as const));

describe("a merchant without an agent", () => {
  it.each(pairs)("kept before step %i, put back after %i", async (kept, until) => {
    for (const seed of seedsOfRun(1)) {
      const chance = new Seeded(seed + kept * 31 + until);
      for (let other = chance.below(4); other > 0; other -= 1) await rig.orderSoon(`other-${other}`);
      let first = "";
      for (const [at, step] of steps.slice(0, until).entries()) {
        if (at === kept) rig.keep("copy", chance.pick(["backup", "file"]));
        await step(() => first);
        first ||= [...rig.left].find(([, orders]) => orders.has("anna"))?.[0] ?? "";
      }
      await rig.putBack("copy");
      const bora = await rig.orderSoon("bora");
      await holds();
      const anna = await rig.orderSoon("anna");
      if (chance.chance(2)) rig.pay(bora);
      if (chance.chance(2)) rig.pay(anna);
      if (chance.chance(2) && first !== "") rig.pay(first);
      await holds();
    }
  });
});
