/**
 * Questions and terms of a shop beside the interface: events to ask for, records by change, the
 * terms of a deposit request, refunds of a deposit, all balances, the probable fee and the check of
 * an address.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createClient } from "../../clients/typescript/client.ts";
import { recordOf } from "../../gateway/answer/record.ts";
import { startCallbacks } from "../../gateway/callbacks/callbacks.ts";
import { makeEventsOfChanges } from "../../gateway/callbacks/outbox.ts";
import { fiatValueOf } from "../../gateway/prices/value.ts";
import type { Prices } from "../../gateway/service.ts";
import type { TransactionRow } from "../../gateway/store/rows.ts";
import {
  listUnvaluedCompletions,
  type UnvaluedCompletion,
} from "../../gateway/store/transactions.ts";
import {
  receiver,
  startTestGateway,
  type TestGateway,
  usdtContract,
  wallet,
} from "../../lab/kit/gateway-server.ts";
import { until } from "../support/until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway({
    limits: { readsPerSecond: 1_000, writesPerSecond: 1_000, withdrawalWaitMs: 0 },
  });
  gateway.clock.nowMs = Date.now();
  await gateway.pair();
  gateway.fund("eth", 10n ** 19n);
  gateway.fund("usdt", 10n ** 9n);
});
afterEach(() => gateway.close());

const client = () =>
  createClient({ baseUrl: gateway.url, key: { apiKey: gateway.merchant.shopKey } });
const database = () => gateway.service.store.database;
let orders = 0;
const deposit = async (more: object = {}) => {
  const order = { currency: "usdt", amount: "25", orderId: `in-${++orders}`, ...more };
  const made = await client().createTransactionRequest(order);
  if (!made.ok) throw new Error(made.code);
  return { order, ...made.value };
};

/** As the dispatcher of callbacks does it. */
function tell(): void {
  const { service, clock } = gateway;
  const record = (row: TransactionRow): object => recordOf(row, service);
  service.store.write((writable) =>
    makeEventsOfChanges(writable, {
      config: service.config,
      random: service.random,
      clock: () => clock.nowMs,
      recordOf: record,
      invoiceOf: ({ id }: { readonly id: string }) => ({ invoice: id }),
    }),
  );
}

async function eventsAfter(
  after: string,
  limit = 100,
): Promise<{ readonly types: readonly string[]; readonly next: string }> {
  const read = await client().events({ after, limit });
  if (!read.ok) throw new Error(read.code);
  return { types: read.value.events.map(({ type }) => type), next: read.value.next };
}

describe("events to ask for", () => {
  const end = (id: string) =>
    database().run("UPDATE deposits SET status = 2, stage = 'expired' WHERE id = ?", id);

  it("are kept from the first question on, without a callback target, and come once and in order", async () => {
    const early = await deposit();
    end(early.transactionId);
    tell();
    const first = await client().events();
    expect(first).toMatchObject({ ok: true, value: { events: [], next: "0" } });
    const [one, two] = [await deposit(), await deposit()];
    end(one.transactionId);
    end(two.transactionId);
    tell();
    const part = await eventsAfter("0", 1);
    expect(part.types).toEqual(["deposit.expired"]);
    const rest = await eventsAfter(part.next);
    expect(rest.types).toEqual(["deposit.expired"]);
    expect(await eventsAfter(rest.next)).toEqual({ types: [], next: rest.next });
    const whole = await client().events({ after: "0" });
    expect(whole).toMatchObject({
      ok: true,
      value: {
        events: [
          { data: { transactionId: one.transactionId } },
          { data: { transactionId: two.transactionId } },
        ],
      },
    });
    // No callback target: the records say so.
    expect(await client().transaction(one.transactionId, 1)).toMatchObject({
      ok: true,
      value: { callbackStatus: 3 },
    });
  });

  it("have rising numbers when an older database comes back, so that no cursor is ahead of them", async () => {
    await client().events();
    end((await deposit()).transactionId);
    tell();
    const { next } = await eventsAfter("0");
    database().run("DELETE FROM callbackEvents"); // as a database from before has none
    gateway.clock.nowMs += 1;
    end((await deposit()).transactionId);
    tell();
    expect((await eventsAfter(next)).types).toEqual(["deposit.expired"]);
  });

  it("are a merchant's own", async () => {
    await client().events();
    end((await deposit()).transactionId);
    tell();
    database().run(
      "UPDATE callbackEvents SET merchant = (SELECT id FROM merchants ORDER BY id LIMIT 1)",
    );
    database().run("INSERT INTO merchants (id, name, createdAt) VALUES ('other', 'Other', 0)");
    database().run("UPDATE callbackEvents SET merchant = 'other'");
    expect((await eventsAfter("0")).types).toEqual([]);
  });

  it.each(["-1", "1.5", "00", "x", "99999999999999999"])("refuse the cursor %s", async (after) => {
    expect(await client().events({ after })).toMatchObject({
      ok: false,
      code: "query_invalid",
      field: "after",
    });
  });
});

describe("records by change", () => {
  it("come earliest change first, page by page, and one that changes meanwhile comes again", async () => {
    const ids: string[] = [];
    for (let at = 0; at < 5; at += 1) {
      gateway.clock.nowMs += 10;
      ids.push((await deposit()).transactionId);
    }
    const from = new Date(gateway.clock.nowMs - 40).toISOString();
    const read = async (page: Awaited<ReturnType<ReturnType<typeof client>["transactions"]>>) => {
      if (!page.ok) throw new Error(page.code);
      return {
        ids: page.value.transactions.map(({ transactionId }) => transactionId),
        next: page.value.next,
      };
    };
    const first = await read(await client().transactions({ changedFrom: from, limit: 2 }));
    expect(first.ids).toEqual(ids.slice(0, 2));
    database().run(
      "UPDATE deposits SET changedAt = ? WHERE id = ?",
      gateway.clock.nowMs + 1,
      ids[0] ?? "",
    );
    const second = await read(await client().nextPage(first.next ?? ""));
    const third = await read(await client().nextPage(second.next ?? ""));
    expect([...second.ids, ...third.ids]).toEqual([...ids.slice(2), ids[0]]);
    expect(third.next).toBeNull();
  });
});

describe("the terms of a deposit request", () => {
  it("are its own lifetime and tolerance, and the same order again has the same terms", async () => {
    const { order, expiresAt, paymentTolerance, transactionId } = await deposit({
      expiresInMinutes: 15,
      tolerancePercent: "0.50",
    });
    expect(Date.parse(expiresAt) - gateway.clock.nowMs).toBe(15 * 60_000);
    expect(paymentTolerance).toBe("0.125");
    expect(
      await client().createTransactionRequest({ ...order, tolerancePercent: "0.5" }),
    ).toMatchObject({
      value: { transactionId },
    });
    const other = await client().createTransactionRequest({ ...order, expiresInMinutes: 20 });
    expect(other).toMatchObject({ ok: false, code: "order_id_reused", transactionId });
    expect((await deposit()).paymentTolerance).toBe("0");
    expect((await deposit({ tolerancePercent: "0" })).paymentTolerance).toBe("0");
  });

  it.each([
    ["expiresInMinutes", 5],
    ["expiresInMinutes", 10_080],
    ["tolerancePercent", "10"],
  ])("may be %s %s", async (name, value) => {
    expect((await deposit({ [name]: value })).status).toBe(0);
  });

  it.each([
    ...[4, 10_081, 5.5, -5].map((value) => [
      "expiresInMinutes",
      value,
      value === 5.5 ? "json_invalid" : "lifetime_invalid",
    ]),
    ["expiresInMinutes", "30", "lifetime_invalid"],
    ...["10.01", "0.001", "-1", "1e1", ""].map((value) => [
      "tolerancePercent",
      value,
      "tolerance_invalid",
    ]),
    ["tolerancePercent", 1, "tolerance_invalid"],
  ])("may not be %s %s", async (name, value, code) => {
    const { body } = await gateway.call("POST", "/api/v1/createTransactionRequest", {
      ...{ currency: "usdt", amount: "25", orderId: `in-${++orders}`, [`${name}`]: value },
    });
    expect(body.code).toBe(code);
  });
});

describe("a refund", () => {
  const pay = (more: object) =>
    client().autoWithdraw({
      currency: "usdt",
      amount: "10",
      address: receiver,
      orderId: `out-${++orders}`,
      ...more,
    });
  const received = (id: string, units: string) =>
    database().run("UPDATE deposits SET receivedUnits = ? WHERE id = ?", units, id);

  it("pays back at most what its deposit received, with all its refunds together", async () => {
    const { transactionId: refundOf } = await deposit();
    received(refundOf, "25000000");
    const first = await pay({ refundOf });
    expect(first.ok).toBe(true);
    expect((await pay({ refundOf, amount: "15" })).ok).toBe(true);
    expect(await pay({ refundOf, amount: "1" })).toMatchObject({
      code: "refund_above_received",
      available: "0",
    });
    // A refund that failed paid nothing, so that its amount may be asked for again.
    if (first.ok)
      database().run("UPDATE transfers SET status = 2 WHERE id = ?", first.value.transactionId);
    expect(await pay({ refundOf, amount: "10.000001" })).toMatchObject({
      code: "refund_above_received",
      available: "10",
    });
    expect((await pay({ refundOf, amount: "10" })).ok).toBe(true);
    const list = await client().transactions({ refundOf });
    expect(list).toMatchObject({
      ok: true,
      value: { transactions: [{ refundOf }, { refundOf }, { refundOf }] },
    });
  });

  it("sent again names the same deposit, else its orderId was used with other content", async () => {
    const [one, two] = [await deposit(), await deposit()];
    for (const { transactionId } of [one, two]) received(transactionId, "25000000");
    const order = { orderId: "out-again", refundOf: one.transactionId };
    const first = await pay(order);
    expect(await pay(order)).toEqual(first);
    const reused = { ok: false, code: "order_id_reused" };
    expect(await pay({ ...order, refundOf: two.transactionId })).toMatchObject(reused);
    expect(await pay({ orderId: "out-again" })).toMatchObject(reused);
    expect((await pay({ orderId: "out-plain" })).ok).toBe(true);
    expect(await pay({ orderId: "out-plain", refundOf: one.transactionId })).toMatchObject(reused);
  });

  it("names a deposit of the same merchant and currency", async () => {
    const { transactionId } = await deposit({ currency: "eth", amount: "1" });
    received(transactionId, `${10n ** 18n}`);
    expect(await pay({ refundOf: transactionId })).toMatchObject({
      code: "refund_invalid",
      field: "refundOf",
    });
    expect(await pay({ refundOf: "0".repeat(32) })).toMatchObject({ code: "refund_invalid" });
    expect(await pay({ refundOf: transactionId, currency: "eth", amount: "1" })).toMatchObject({
      ok: true,
    });
    const other = await deposit();
    received(other.transactionId, "25000000");
    database().run("INSERT INTO merchants (id, name, createdAt) VALUES ('other', 'Other', 0)");
    database().run("UPDATE deposits SET merchant = 'other' WHERE id = ?", other.transactionId);
    expect(await pay({ refundOf: other.transactionId })).toMatchObject({ code: "refund_invalid" });
  });
});

describe("questions before a withdrawal", () => {
  it("all balances come together, and a currency that was not read holds up no other", async () => {
    const whole = await client().balances();
    expect(whole).toMatchObject({
      ok: true,
      value: { balances: [{ currency: "eth" }, { currency: "usdt" }], unread: [] },
    });
    database().run("DELETE FROM balances WHERE currency = 'usdt'");
    const some = await client().balances();
    expect(some).toMatchObject({
      ok: true,
      value: { balances: [{ currency: "eth", balance: 10 }], unread: ["usdt"] },
    });
  });

  it("the usual fee is the middle one of the newest paid withdrawals, and none before the first", async () => {
    expect(await client().estimate("usdt")).toMatchObject({
      ok: true,
      value: { feeUsual: "", samples: 0, newestAt: "" },
    });
    for (const [at, fee] of ["1", "3", "2", "900"].entries()) {
      const paid = await client().autoWithdraw({
        currency: "usdt",
        amount: "1",
        address: receiver,
        orderId: `fee-${at}`,
      });
      if (!paid.ok) throw new Error(paid.code);
      const sql = "UPDATE transfers SET status = 1, feeUnits = ?, changedAt = ? WHERE id = ?";
      database().run(sql, `${fee}000000000000000`, 1_000 + at, paid.value.transactionId);
    }
    const told = await client().estimate("usdt");
    expect(told).toMatchObject({
      ok: true,
      value: { feeAsset: "eth", feeUsual: "0.003", samples: 4 },
    });
    expect(told).toMatchObject({ value: { newestAt: new Date(1_003).toISOString() } });
  });

  it.each([
    ["a good one", receiver, { valid: true, address: receiver, code: "" }],
    ["one in small letters", receiver.toLowerCase(), { valid: true, address: receiver }],
    [
      "a wrong checksum",
      receiver.replace("0x709979", "0x709979").replace("C8", "c8"),
      { valid: false, code: "address_invalid", address: "" },
    ],
    ["no address", "0x1", { valid: false, code: "address_invalid" }],
    [
      "a precompiled contract",
      `0x${"0".repeat(39)}1`,
      { valid: false, code: "address_invalid", reason: "ADDRESS_RESERVED" },
    ],
    ["the hot wallet", wallet.hotWalletAddress, { valid: false, code: "address_own" }],
    ["a token's contract", usdtContract, { valid: false, code: "address_contract" }],
  ])("the check of an address: %s", async (_, address, expected) => {
    expect(await client().address("usdt", address)).toMatchObject({ ok: true, value: expected });
    const order = { currency: "usdt", amount: "1", address, orderId: `check-${++orders}` };
    const paid = await client().autoWithdraw(order);
    expect(paid.ok).toBe((expected as { valid: boolean }).valid);
  });
});

describe("the fiat value of a record", () => {
  const eth = 10n ** 18n;
  const prices = (stale: readonly string[]): Prices => ({
    of: (_, fiat) => {
      const price = { USD: 3_000n * eth, EUR: 2_800n * eth, TRY: 126_000n * eth }[fiat];
      return {
        price,
        atMs: fiat === "EUR" ? 1_000 : 2_000,
        isStale: stale.includes(fiat),
        origin: "markets",
      };
    },
    canHave: () => true,
  });
  const moved = { currency: "eth", movedUnits: `${eth / 3n}` };
  const valued = (change: Partial<UnvaluedCompletion>, stale: readonly string[] = []): unknown => {
    const text = fiatValueOf(
      { ...moved, ...change },
      { currencies: gateway.service.config.currencies, prices: prices(stale) },
    );
    return text === "" ? text : JSON.parse(text);
  };

  it("is its amount at the prices of the moment, rounded down, with the oldest price's time", () => {
    const pricedAt = new Date(1_000).toISOString();
    expect(valued({})).toEqual({ usd: "999.99", eur: "933.33", try: "41999.99", pricedAt });
    expect(valued({ movedUnits: `${2n * eth}` })).toMatchObject({ usd: "6000" });
    expect(valued({}, ["EUR"])).toEqual({
      usd: "999.99",
      try: "41999.99",
      pricedAt: new Date(2_000).toISOString(),
    });
    expect(valued({}, ["USD", "EUR", "TRY"])).toBe("");
    expect(valued({ currency: "gone" })).toBe("");
  });

  it("is of what came in a deposit, and of what left in a withdrawal", async () => {
    const into = await deposit();
    const out = await client().autoWithdraw({
      ...{ currency: "usdt", amount: "10", address: receiver, orderId: "out-valued" },
    });
    if (!out.ok) throw new Error(out.code);
    const complete = "SET status = 1, stage = 'completed'";
    database().run(
      `UPDATE deposits ${complete}, receivedUnits = '26000000' WHERE id = ?`,
      into.transactionId,
    );
    database().run(`UPDATE transfers ${complete} WHERE id = ?`, out.value.transactionId);
    const usdt = { currency: "usdt", value: "" };
    expect(listUnvaluedCompletions(database(), 9)).toEqual([
      { ...usdt, id: into.transactionId, movedUnits: "26000000" },
      { ...usdt, id: out.value.transactionId, movedUnits: "10000000" },
    ]);
  });

  it("is kept at its completion, before its event is made, and never changes", async () => {
    await client().events();
    const { service } = gateway;
    const options = {
      ...service,
      sealingKey: service.key.sealingKey,
      callbackSender: { send: async () => ({}) as never, close: () => undefined },
    };
    let usd = "25.00";
    const callbacks = startCallbacks({
      ...options,
      recordOf: (one) => recordOf(one, service),
      invoiceOf: ({ id }: { readonly id: string }) => ({ invoice: id }),
      fiatValueOf: () => JSON.stringify({ usd, pricedAt: new Date(0).toISOString() }),
    });
    const made = await deposit();
    database().run(
      "UPDATE deposits SET status = 1, stage = 'completed' WHERE id = ?",
      made.transactionId,
    );
    service.signals.emit("changed", { transactionId: made.transactionId });
    await until(() => database().get("SELECT 1 FROM callbackEvents") !== undefined);
    usd = "99.00";
    database().run(
      "UPDATE deposits SET receivedUnits = '50000000' WHERE id = ?",
      made.transactionId,
    );
    service.signals.emit("changed", { transactionId: made.transactionId });
    await until(() => database().all("SELECT 1 FROM callbackEvents").length === 2);
    callbacks.close();
    const told = await client().events({ after: "0" });
    expect(told).toMatchObject({
      ok: true,
      value: {
        events: [{ data: { value: { usd: "25.00" } } }, { data: { value: { usd: "25.00" } } }],
      },
    });
    const open = await deposit();
    expect(await client().transaction(open.transactionId, 1)).not.toHaveProperty("value.value");
  });
});
