/**
 * A payment that counts for no request is listed by name, and an operator credits it to its
 * request: once, in the balance as before, with an event for the shop, and the books stay even.
 * Reports of the kind: btcpayserver/btcpayserver #3449 and #21 (money after the end, which no
 * command could take in), #5006 (an expired invoice that is settled by hand) and killbill/killbill
 * #1015 (one payment that was taken in twice).
 */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openWatcher } from "../../chains/connect.ts";
import { closeBooks } from "../../gateway/books/closing.ts";
import { eventsOf } from "../../gateway/callbacks/events.ts";
import type { OperatorContext } from "../../gateway/operator/accounts.ts";
import { creditDeposit, creditPayments, paymentName } from "../../gateway/operator/crediting.ts";
import { listActsOn } from "../../gateway/store/audit.ts";
import { readChanges } from "../../gateway/store/callback-outbox.ts";
import { listUnattributed } from "../../gateway/store/credits.ts";
import { sumUnsweptUnits } from "../../gateway/store/journal.ts";
import type { DepositRow } from "../../gateway/store/rows.ts";
import { updateWithdrawal } from "../../gateway/store/withdrawals.ts";
import { insertTransaction } from "../../lab/kit/gateway-database.ts";
import { RestoredKit } from "../support/restored-kit.ts";
import { configOf, eth, network } from "../support/watched-chain.ts";

vi.mock("../../gateway/deposits/ceiling-steps.ts", () => ({
  ceilingStep: 10,
  indexesJumpMin: 30,
  ceilingAheadMax: 1_000_000,
}));

let kit: RestoredKit;
/** Payments to the address of `anna`, which the database forgot. */
let lost = "";

/** A database was restored between an order and its payment; the shop has asked again since. */
beforeEach(async () => {
  kit = new RestoredKit();
  await kit.begin();
  kit.keep("copy", "file");
  lost = await kit.orderSoon("anna");
  await kit.restored("copy");
  kit.store.database.run(
    "INSERT INTO callbackTargets (id, merchant, url, events, secretBox, createdAt) VALUES ('c1', 'm1', 'https://shop', '[]', x'00', 0)",
  );
  await kit.orderSoon("anna");
  kit.pay(lost);
  await kit.settle();
});
afterEach(() => kit.remove());

const deposit = (orderId: string): DepositRow => {
  const row = kit.rows().find((one) => one.orderId === orderId);
  if (row === undefined) throw new Error(`no deposit ${orderId}`);
  return row;
};
const waiting = () => listUnattributed(kit.store.database, null, 10);
const credit = (orderId: string, payments: readonly string[], isShortFine = false) =>
  creditPayments(
    { store: kit.store, nowMs: kit.nowMs, actor: "operator" } as unknown as OperatorContext,
    deposit(orderId).id,
    {
      ...{ payments, reason: "the customer's hash", isShortFine },
    },
  );
const acts = (orderId: string) =>
  listActsOn(kit.store.database, deposit(orderId).id).map(({ act }) => act);
const expire = async (orderId: string): Promise<void> => {
  kit.nowMs += 3_700_000;
  kit.chain.pause(3_700);
  await kit.settle();
  await kit.settle();
  expect(deposit(orderId).status).toBe(2);
};

/** Differences in the books at the newest final block. */
async function differences(): Promise<readonly string[]> {
  const chain = configOf([kit.nodeUrl], 2).chains.local!;
  const reader = openWatcher({ chain, log: () => undefined });
  try {
    const closed = await closeBooks({
      ...{ store: kit.store, network, reader, coin: "eth", merchant: null, isWhole: true },
      ...{
        currencies: [{ id: "eth", contract: "", decimal: 18 }],
        clock: () => kit.nowMs,
        rest: async () => {},
      },
    });
    return closed.differences.map(({ address, detail }) => `${address} ${detail}`);
  } finally {
    reader.close();
  }
}

describe("a payment that counts for no request", () => {
  it("is listed until it is credited, and then counts once, in a balance that stays", async () => {
    const [payment] = waiting();
    expect(waiting()).toEqual([
      expect.objectContaining({ address: lost, leftUnits: eth, orderId: `unattributed/${lost}` }),
    ]);
    const held = sumUnsweptUnits(kit.store.database, "m1", "eth");
    expect(held).toBe(eth);
    const name = paymentName(payment!);
    expect(credit("anna", [name])).toMatchObject({
      ok: true,
      row: { status: 1, stage: "completed", receivedUnits: `${eth}` },
    });
    expect(waiting()).toEqual([]);
    expect(deposit(`unattributed/${lost}`)).toMatchObject({ status: 2, receivedUnits: "0" });
    expect(sumUnsweptUnits(kit.store.database, "m1", "eth")).toBe(held);
    const told = readChanges(kit.store.database, 100).filter(({ row }) => row.orderId === "anna");
    const events = told.flatMap((change) =>
      eventsOf(change, {
        minPaymentUnits: 0n,
        surplusToleranceUnits: 0n,
        refundedUnits: 0n,
        wasBroadcast: false,
      }),
    );
    expect(events).toEqual(["deposit.completed"]);
    // Again, by the hash alone, and after the chain was read on: nothing more happens.
    expect(credit("anna", [payment!.txHash])).toMatchObject({ ok: true, row: { status: 1 } });
    await kit.settle();
    expect(deposit("anna")).toMatchObject({ status: 1, receivedUnits: `${eth}` });
    expect([acts("anna"), acts(`unattributed/${lost}`)]).toEqual([
      ["payment credited"],
      ["payment credited"],
    ]);
    expect(await differences()).toEqual([]);
  });

  it("is refused where it would count twice, or was never made so", async () => {
    const name = paymentName(waiting()[0]!);
    await kit.orderSoon("bora");
    const own = await kit.orderSoon("carl");
    kit.pay(own);
    await kit.settle();
    const carls = kit.payments().find(({ address }) => address === own)!;
    const no = { ok: false, code: "GATEWAY_NOT_CREDITED" };
    expect(credit("bora", [paymentName(carls)])).toMatchObject(no); // it counts for carl
    expect(credit("bora", ["0xnone"])).toMatchObject(no);
    expect(credit("carl", [name])).toMatchObject(no); // Completed
    expect(credit(`unattributed/${lost}`, [name])).toMatchObject(no);
    kit.store.database.run("UPDATE deposits SET currency = 'usd' WHERE orderId = 'bora'");
    expect(credit("bora", [name])).toMatchObject({
      ...no,
      detail: expect.stringContaining("came in eth"),
    });
    kit.store.database.run("UPDATE deposits SET currency = 'eth' WHERE orderId = 'bora'");
    expect(credit("anna", [name]).ok).toBe(true);
    expect(credit("bora", [name])).toMatchObject({
      ...no,
      detail: expect.stringContaining("was credited to"),
    });
    expect(deposit("bora")).toMatchObject({ status: 0, receivedUnits: "0" });
  });

  it("is not credited after it was paid back, and is when that refund has failed", async () => {
    const name = paymentName(waiting()[0]!);
    const refundOf = deposit(`unattributed/${lost}`).id;
    const row = {
      id: "f".repeat(32),
      orderId: "refund",
      operation: "withdraw",
      units: `${eth}`,
      refundOf,
    } as const;
    insertTransaction(kit.store, row);
    expect(credit("anna", [name])).toMatchObject({
      ok: false,
      code: "GATEWAY_NOT_CREDITED",
      detail: `${refundOf} was paid back already`,
    });
    expect(deposit("anna")).toMatchObject({ status: 0, receivedUnits: "0" });
    expect(waiting()).toHaveLength(1);
    kit.store.database.run("UPDATE transfers SET status = 2 WHERE id = ?", row.id);
    expect(credit("anna", [name])).toMatchObject({ ok: true, row: { status: 1 } });
  });

  it("may have come in another currency than its address was asked for", async () => {
    await kit.orderSoon("dollars");
    kit.store.database.run(
      "UPDATE deposits SET currency = 'usd', units = '5' WHERE orderId = 'dollars'",
    );
    const { id, address } = deposit("anna");
    kit.store.database.run(
      "INSERT INTO payments VALUES (?, '0xabc', 7, ?, 'usd', '5', 3, '0x03', 1, ?)",
      ...[network, address, id],
    );
    expect(waiting().map(paymentName)).toContain("0xabc:7");
    expect(credit("dollars", ["0xABC"])).toMatchObject({
      ok: true,
      row: { status: 1, receivedUnits: "5" },
    });
    expect(waiting().map(paymentName)).not.toContain("0xabc:7");
    expect(deposit("anna")).toMatchObject({ status: 0, receivedUnits: "0" });
  });

  it("and grows after its credit is listed with the rest alone", async () => {
    const [payment] = waiting();
    expect(credit("anna", [paymentName(payment!)]).ok).toBe(true);
    // Coins of one block without a transaction are one payment, and a later look adds to that
    // payment.
    kit.store.database.run(
      "UPDATE payments SET units = ? WHERE address = ?",
      `${(3n * eth) / 2n}`,
      lost,
    );
    expect(waiting().map(({ leftUnits }) => leftUnits)).toEqual([eth / 2n]);
    await kit.orderSoon("bora");
    expect(credit("bora", [paymentName(payment!)])).toMatchObject({
      ok: true,
      row: { receivedUnits: `${eth / 2n}` },
    });
    expect(waiting()).toEqual([]);
    expect(credit("anna", [paymentName(payment!)])).toMatchObject({
      ok: true,
      row: { receivedUnits: `${eth}` },
    });
  });

  it("completes an expired one, whole or by an operator's word, with what came late to its own address", async () => {
    const own = deposit("anna").address;
    await expire("anna");
    kit.pay(own, eth / 2n);
    await kit.settle();
    kit.store.database.run("UPDATE deposits SET units = ? WHERE orderId = 'anna'", `${2n * eth}`);
    const name = paymentName(waiting()[0]!);
    expect(credit("anna", [name])).toMatchObject({
      ok: false,
      detail: expect.stringContaining("--short"),
    });
    expect(waiting()).toHaveLength(1);
    expect(deposit("anna").acceptedAt).toBeNull();
    expect(credit("anna", [name], true)).toMatchObject({ ok: true, row: { status: 1, late: 1 } });
    expect(deposit("anna").acceptedAt).toBe(deposit("anna").changedAt);
    expect(deposit("anna").receivedUnits).toBe(`${(3n * eth) / 2n}`);
    expect(await differences()).toEqual([]);
  });

  it("leaves an open one open while more is wanted, and its own money completes it", async () => {
    const own = deposit("anna").address;
    kit.store.database.run("UPDATE deposits SET units = ? WHERE orderId = 'anna'", `${2n * eth}`);
    expect(credit("anna", [paymentName(waiting()[0]!)])).toMatchObject({
      ok: true,
      row: { status: 0, stage: "partial" },
    });
    kit.pay(own);
    await kit.settle();
    expect(deposit("anna")).toMatchObject({ status: 1, receivedUnits: `${2n * eth}` });
    expect(await differences()).toEqual([]);
  });
});

describe("money that was paid back", () => {
  const own = (): string => deposit("anna").address;
  const by = (): OperatorContext =>
    ({ store: kit.store, nowMs: kit.nowMs, actor: "operator" }) as unknown as OperatorContext;
  const refund = (units: bigint): void =>
    void insertTransaction(kit.store, {
      ...{
        id: "f".repeat(32),
        orderId: "back",
        operation: "withdraw",
        refundOf: deposit("anna").id,
      },
      ...{ units: `${units}`, createdAt: kit.nowMs },
    });
  const fail = (): void =>
    void kit.store.write((database) =>
      updateWithdrawal(database, "f".repeat(32), { status: 2, stage: "failed" }, kit.nowMs),
    );
  const payHalf = async (): Promise<void> => {
    kit.pay(own(), eth / 2n);
    await kit.settle();
  };
  const events = (refundedUnits: bigint): readonly string[] =>
    readChanges(kit.store.database, 100)
      .filter(({ row }) => row.orderId === "anna")
      .flatMap((change) =>
        eventsOf(change, {
          minPaymentUnits: 0n,
          surplusToleranceUnits: 0n,
          refundedUnits,
          wasBroadcast: false,
        }),
      );

  it("completes no open request together with what came since, and does once the refund has failed", async () => {
    await payHalf();
    refund(eth / 2n);
    await payHalf();
    expect(deposit("anna")).toMatchObject({
      status: 0,
      stage: "partial",
      receivedUnits: `${eth}`,
    });
    fail();
    await kit.settle();
    expect(deposit("anna")).toMatchObject({ status: 1, receivedUnits: `${eth}` });
  });

  it("is paid again in full: the request is Completed, and nothing is too much of it", async () => {
    await payHalf();
    refund(eth / 2n);
    await payHalf();
    await payHalf();
    expect(deposit("anna")).toMatchObject({ status: 1, receivedUnits: `${(eth * 3n) / 2n}` });
    expect(events(eth / 2n)).toContain("deposit.completed");
    expect(events(eth / 2n)).not.toContain("deposit.overpaid");
    expect(events(eth / 2n - 1n)).toContain("deposit.overpaid");
  });

  it("makes no expired request Completed by an operator's word, whole or short, and does once the refund has failed", async () => {
    await expire("anna");
    kit.pay(own());
    await kit.settle();
    expect(deposit("anna")).toMatchObject({ status: 2, late: 1, receivedUnits: `${eth}` });
    refund(eth);
    const words = "all that was paid was paid back";
    const credited = (isShortFine: boolean) =>
      creditDeposit(by(), deposit("anna").id, { reason: "the shop's word", isShortFine });
    for (const isShortFine of [false, true])
      expect(credited(isShortFine)).toMatchObject({ ok: false, detail: words });
    fail();
    expect(credited(false)).toMatchObject({ ok: true, row: { status: 1 } });
  });

  it("in part makes an expired request short", async () => {
    await expire("anna");
    kit.pay(own());
    await kit.settle();
    refund(1n);
    const credited = (isShortFine: boolean) =>
      creditDeposit(by(), deposit("anna").id, { reason: "the shop's word", isShortFine });
    expect(credited(false)).toMatchObject({ ok: false });
    expect(credited(true)).toMatchObject({ ok: true, row: { status: 1 } });
  });
});
