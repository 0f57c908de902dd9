/**
 * The webhooks of /openapi.json against what a shop's receiver gets from the gateway's own rooms,
 * in both directions: each message fits the description of its event, and each described event
 * comes with each field that the description names.
 */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { recordOf } from "../../gateway/answer/record.ts";
import { startCallbacks } from "../../gateway/callbacks/callbacks.ts";
import { eventTypes, testType } from "../../gateway/callbacks/events.ts";
import { makeEventsOfChanges } from "../../gateway/callbacks/outbox.ts";
import { createCallbackSender } from "../../gateway/callbacks/send.ts";
import { endInvoices } from "../../gateway/invoices/ends.ts";
import { invoiceBodyOf } from "../../gateway/invoices/view.ts";
import { addCallback, rotateCallback, testCallback } from "../../gateway/operator/callbacks.ts";
import { rightClock } from "../../gateway/own-clock.ts";
import { fiatValueOf } from "../../gateway/prices/value.ts";
import { keepFinalPayment } from "../../gateway/store/payments.ts";
import { type Receiver, startReceiver } from "../../lab/kit/callback-receiver.ts";
import { readDescription } from "../support/described.ts";
import { auto, db, decide, deposit, eachTestItsGateway, gateway, ready } from "../support/shop.ts";
import { until } from "../support/until.ts";

eachTestItsGateway();

function change(
  id: string,
  columns: Readonly<Record<string, string | number>>,
  table: "deposits" | "transfers" = "deposits",
): void {
  const names = Object.keys(columns).map((name) => `${name} = ?`);
  db().run(`UPDATE ${table} SET ${names.join(", ")} WHERE id = ?`, ...Object.values(columns), id);
}

async function everyDeposit({ received }: Receiver): Promise<void> {
  const quoted = { amount: undefined, fiatCurrency: "TRY", fiatAmount: "1000" };
  const { transactionId: renew } = (await deposit(quoted)).body;
  change(renew, { status: 2, stage: "expired" });
  const { transactionId: first, address } = (await deposit({ ...quoted, renew })).body;
  change(first, { stage: "seen" });
  change(first, { stage: "waiting" });
  change(first, { stage: "partial", receivedUnits: "1" });
  const payment = {
    network: "eip155:31337",
    address,
    currency: "usdt",
    units: "7500000",
    logIndex: 0,
    final: 1 as const,
  };
  const place = { txHash: "0x1", block: 5, blockHash: "0xb", transactionId: first };
  change(first, { stage: "confirming" });
  gateway.service.store.write((database) => keepFinalPayment(database, { ...payment, ...place }));
  gateway.service.signals.emit("changed", { transactionId: first });
  await until(() => received.some(({ type }) => type === "deposit.unattributed")); // while blocks still come on top
  const accepted = { stage: "completed", acceptedAt: gateway.clock.nowMs };
  change(first, { status: 1, ...accepted, receivedUnits: `${10n ** 20n}` });
  gateway.service.signals.emit("changed", { transactionId: first });
  await until(() => received.some(({ type }) => type === "deposit.completed")); // from here on it has a value
  gateway.service.store.write((database) =>
    keepFinalPayment(database, { ...payment, ...place, txHash: "0x2" }),
  );
  gateway.service.signals.emit("changed", { transactionId: first });
  const others = (): number =>
    received.filter(({ type }) => type === "deposit.unattributed").length;
  await until(() => others() > 1); // while the deposit is one that was accepted
  const second = (await deposit({ orderId: "order-2" })).body.transactionId;
  change(second, { status: 2, stage: "expired" });
  change(second, { receivedUnits: "5" });
  change(first, { status: 2, stage: "reorged", code: "deposit_reorged", receivedUnits: "0" });
}

async function everyInvoice(merchant: string): Promise<void> {
  const invoiceOf = async (orderId: string, currency: string | null) => {
    const order = { orderId, fiatCurrency: "TRY", fiatAmount: "1000", metadata: { a: "1" } };
    const { body } = await gateway.call("POST", "/api/v1/createInvoice", order);
    const { invoice } = body;
    if (currency === null) return { invoice, choice: "", address: "" };
    const chosen = await gateway.call("POST", "/api/v1/chooseCurrency", { invoice, currency });
    return { invoice, choice: chosen.body.transactionId, address: chosen.body.address };
  };
  const { choice, address } = await invoiceOf("invoice-1", "eth");
  const payment = { network: "eip155:31337", address, currency: "usdt", units: "1", logIndex: 0 };
  gateway.service.store.write((database) =>
    keepFinalPayment(database, {
      ...{ ...payment, txHash: "0x9", block: 5, blockHash: "0xb", final: 1 },
      transactionId: choice,
    }),
  );
  change(choice, { status: 1, stage: "completed", receivedUnits: "1", acceptedAt: 1 });
  change(choice, { status: 2, stage: "reorged", code: "deposit_reorged" });
  const { invoice } = await invoiceOf("invoice-2", null);
  await gateway.call("POST", "/api/v1/cancelRequest", { invoice });
  const renewal = { orderId: "invoice-2", fiatCurrency: "TRY", fiatAmount: "1000", renew: invoice };
  await gateway.call("POST", "/api/v1/createInvoice", renewal);
  db().run("UPDATE invoices SET expiresAt = 1 WHERE merchant = ? AND status = 0", merchant);
  const { store, clock } = gateway.service;
  endInvoices({ store, clock, ownClock: () => rightClock });
}

async function everyWithdrawal(): Promise<void> {
  const paid = (await auto({ orderId: "paid" })).body.transactionId;
  for (const stage of ["awaiting_approval", "queued", "broadcast"]) decide(paid, { stage });
  change(paid, { status: 1, stage: "completed" }, "transfers");
  const refused = (await auto({ orderId: "refused" })).body.transactionId;
  decide(refused, { status: 2, stage: "refused", code: "OPERATOR_REJECTED" });
}

it("each message fits its webhook, and every webhook comes with every field that it names", async () => {
  const receiver = await startReceiver();
  const { service, merchant, operator, clock } = gateway;
  clock.nowMs = Date.now();
  await ready();
  Object.assign(service, { confirmations: () => 3 });
  Object.assign(service.config.prices, { changedAtMs: clock.nowMs });
  const settings = Object.assign(service.config.callbacks, { allowLoopback: true });
  const about = await readDescription(gateway);
  const added = addCallback(
    operator,
    { merchant: merchant.merchantId, url: receiver.url, events: [] },
    settings,
  );
  if (!added.ok) throw new Error(added.code);
  const callbackSender = createCallbackSender({ settings, monotonic: () => performance.now() });
  const recordsOf = {
    recordOf: (row: Parameters<typeof recordOf>[0]) => recordOf(row, service),
    invoiceOf: (row: Parameters<typeof invoiceBodyOf>[1]) => invoiceBodyOf(service, row),
  };
  const callbacks = startCallbacks({
    ...{
      ...service,
      ...recordsOf,
      random: randomBytes,
      sealingKey: service.key.sealingKey,
      callbackSender,
    },
    fiatValueOf: (row) =>
      fiatValueOf(row, { currencies: service.config.currencies, prices: service.prices }),
  });
  try {
    expect(Object.keys(about.webhooks).sort()).toEqual([...eventTypes, testType].sort());
    await everyDeposit(receiver);
    await everyWithdrawal();
    const named = { url: `${receiver.url}/named`, events: ["deposit.unattributed"] as const };
    addCallback(operator, { merchant: merchant.merchantId, ...named }, settings);
    await everyInvoice(merchant.merchantId);
    expect(rotateCallback(operator, added.callbackId)).toMatchObject({ ok: true }); // two signatures from here on
    expect(await testCallback(operator, added.callbackId, callbackSender)).toMatchObject({
      taken: true,
    });
    service.signals.emit("changed", { transactionId: "" });
    await until(
      () => new Set(receiver.received.map(({ type }) => type)).size >= eventTypes.length + 1,
    );
  } finally {
    callbacks.close();
    await receiver.close();
  }
  for (const message of receiver.received) about.judgeMessage(message);
  expect(
    receiver.received.some(({ headers }) => `${headers["webhook-signature"]}`.includes(" v1,")),
  ).toBe(true);
  const came = new Set(receiver.received.map(({ type }) => type));
  expect([...came].sort()).toEqual(Object.keys(about.webhooks).sort());
  for (const name of [
    "Callback",
    "UnattributedCallback",
    "UnattributedRecord",
    "InvoiceCallback",
    "TestCallback",
  ]) {
    const documented = Object.keys(about.schemas[name]?.properties ?? {}).sort();
    expect([...(about.fields.get(name) ?? [])].sort(), name).toEqual(documented);
  }
  const [one] = receiver.received;
  const malformed = { ...one!, body: JSON.stringify({ ...JSON.parse(one!.body), more: 1 }) };
  expect(() => about.judgeMessage(malformed)).toThrow();
  expect(() =>
    about.judgeMessage({ ...one!, headers: { ...one!.headers, "webhook-id": "7" } }),
  ).toThrow();
});

it("a surplus is overpaid above half a percent of its record, or above the currency's own sum", async () => {
  await ready();
  const { merchant, operator, service, clock } = gateway;
  const target = { merchant: merchant.merchantId, url: "https://shop.example/cb", events: [] };
  expect(addCallback(operator, target, service.config.callbacks).ok).toBe(true);
  const eth = service.config.currencies.eth;
  const ether = 10n ** 18n;
  const eventsOf = async (orderId: string, receivedUnits: bigint): Promise<readonly string[]> => {
    const { transactionId } = (await deposit({ orderId })).body;
    change(transactionId, { status: 1, stage: "completed", receivedUnits: `${receivedUnits}` });
    const { config, store, random } = service;
    const clockOf = (): number => clock.nowMs;
    const recordsOf = (row: Parameters<typeof recordOf>[0]): object => recordOf(row, service);
    store.write((database) =>
      makeEventsOfChanges(database, {
        config,
        random,
        clock: clockOf,
        recordOf: recordsOf,
        invoiceOf: ({ id }) => ({ invoice: id }),
      }),
    );
    return db()
      .all<{ type: string }>(
        "SELECT type FROM callbackEvents WHERE transactionId = ? ORDER BY number",
        transactionId,
      )
      .map(({ type }) => type);
  };
  const both = ["deposit.completed", "deposit.overpaid"];
  expect(await eventsOf("a", ether + ether / 200n)).toEqual(["deposit.completed"]);
  expect(await eventsOf("b", ether + ether / 200n + 1n)).toEqual(both);
  Object.assign(eth ?? {}, { surplusTolerance: "0.1" });
  expect(await eventsOf("c", ether + ether / 10n)).toEqual(["deposit.completed"]);
  expect(await eventsOf("d", ether + ether / 10n + 1n)).toEqual(both);
});
