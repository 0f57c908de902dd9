/**
 * From a change of a record to a shop's receiver: the gateway's own rooms over a real database,
 * receivers on loopback, and the stock verifier of Standard Webhooks as judge of every message.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { verifyCallback } from "../../clients/typescript/callbacks.ts";
import { recordOf } from "../../gateway/answer/record.ts";
import { type Callbacks, startCallbacks } from "../../gateway/callbacks/callbacks.ts";
import type { EventType } from "../../gateway/callbacks/events.ts";
import { createCallbackSender } from "../../gateway/callbacks/send.ts";
import {
  addCallback,
  callbackDeliveries,
  listCallbacks,
  redeliverCallback,
  removeCallback,
  rotateCallback,
  testCallback,
} from "../../gateway/operator/callbacks.ts";
import { keepDetectedPayment, keepFinalPayment } from "../../gateway/store/payments.ts";
import { type Receiver, startReceiver } from "../../lab/kit/callback-receiver.ts";
import { readDatabaseBytes } from "../../lab/kit/database-tables.ts";
import { startTestGateway, type TestGateway } from "../../lab/kit/gateway-server.ts";
import {
  auto,
  db,
  decide,
  deposit,
  eachTestItsGateway,
  gateway,
  many,
  ready,
  row,
} from "../support/shop.ts";
import { until } from "../support/until.ts";

const development = {
  callbacks: { allowPrivate: true, retrySeconds: [5, 300], timeoutSeconds: 1 },
};

eachTestItsGateway();
let receiver: Receiver;
let callbacks: Callbacks | null;

function start(of: TestGateway = gateway): Callbacks {
  const { service } = of;
  return startCallbacks({
    ...{ ...service, random: randomBytes, sealingKey: service.key.sealingKey },
    recordOf: (one) => recordOf(one, service),
    invoiceOf: ({ id }: { readonly id: string }) => ({ invoice: id }),
    fiatValueOf: () => "",
    callbackSender: createCallbackSender({
      settings: service.config.callbacks,
      monotonic: () => performance.now(),
    }),
  });
}

const settings = () => gateway.service.config.callbacks;

function add(url = receiver.url, events: readonly EventType[] = []): string {
  const added = addCallback(
    gateway.operator,
    { merchant: gateway.merchant.merchantId, url, events },
    settings(),
  );
  if (!added.ok) throw new Error(added.detail ?? added.code);
  if (url === receiver.url) receiver.secret = added.secret;
  return added.callbackId;
}

/** A moment later, the gateway looks. */
function later(ms: number): void {
  gateway.clock.nowMs += ms;
  gateway.service.signals.emit("changed", { transactionId: "" });
}

const types = (): readonly string[] => receiver.received.map(({ type }) => type);
const arrived = (count: number): Promise<unknown> => until(() => receiver.received.length >= count);
const statusOf = (id: string): number | undefined => row(id)?.callbackStatus;

beforeEach(async () => {
  Object.assign(gateway.service.config, {
    callbacks: { ...settings(), allowLoopback: true, retryMs: [5_000, 300_000] },
  });
  // The gateway's clock stands still: a send that a slow machine ends by its time would not come
  // again.
  Object.assign(settings(), { timeoutMs: 30_000 });
  gateway.clock.nowMs = Date.now();
  receiver = await startReceiver();
  callbacks = start();
  await ready();
});
afterEach(async () => {
  callbacks?.close();
  await receiver.close();
});

describe("a callback", () => {
  it("is what the stock verifier takes, and carries the record as GET answers it", async () => {
    add();
    const { transactionId } = (await auto()).body;
    await arrived(1);
    const [first] = receiver.received;
    expect(first?.type).toBe("withdrawal.created");
    const shown = (
      await gateway.call("GET", `/api/v1/transaction/${transactionId}?transactionType=2`)
    ).body;
    expect(first?.data).toEqual({ ...shown, callbackStatus: 0 });
    expect(first?.headers["content-type"]).toBe("application/json");
    expect(receiver.refused).toEqual([]);
    const [id, timestamp] = [first?.headers["webhook-id"], first?.headers["webhook-timestamp"]];
    expect([id, timestamp]).toEqual([
      expect.stringMatching(/^msg_[0-9a-f]{32}$/),
      expect.stringMatching(/^\d{10}$/),
    ]);
    const checked = verifyCallback(receiver.secret, {
      headers: first?.headers ?? {},
      body: first?.body ?? "",
    });
    expect(checked).toMatchObject({
      ok: true,
      callback: { id, type: "withdrawal.created", data: { transactionId } },
    });
    await until(() => statusOf(transactionId) === 1);
  });

  it("tells each change with a rising sequence, to each target what its filter takes", async () => {
    add();
    const other = await startReceiver();
    try {
      add(other.url, ["withdrawal.failed"]);
      const { transactionId } = (await auto()).body;
      for (const stage of ["signed", "broadcast", "confirming"]) decide(transactionId, { stage });
      db().run(
        "UPDATE transfers SET status = 2, stage = 'failed', code = 'chain_reverted' WHERE id = ?",
        transactionId,
      );
      later(1);
      await arrived(3);
      await until(() => other.received.length === 1);
      const inOrder = [...receiver.received].sort((a, b) => a.sequence - b.sequence);
      expect(inOrder.map(({ type }) => type)).toEqual([
        "withdrawal.created",
        "withdrawal.broadcast",
        "withdrawal.failed",
      ]);
      expect(inOrder.map(({ data }) => data.stage)).toEqual(["queued", "broadcast", "failed"]);
      expect(new Set(inOrder.map(({ sequence }) => sequence)).size).toBe(3);
      expect(other.received.map(({ type, id }) => [type, id])).toEqual([
        ["withdrawal.failed", inOrder[2]?.id],
      ]);
      await until(() => statusOf(transactionId) === 1);
    } finally {
      await other.close();
    }
  });

  it("is written in the transaction of its change, so that a rolled back change tells nothing", async () => {
    add();
    const { transactionId } = (await deposit()).body;
    expect(statusOf(transactionId)).toBe(0);
    const change = "UPDATE deposits SET stage = 'seen' WHERE id = ?";
    expect(() =>
      gateway.service.store.write((database) => {
        database.run(change, transactionId);
        throw new Error("rolled back");
      }),
    ).toThrow("rolled back");
    later(1);
    db().run("UPDATE deposits SET status = 2, stage = 'expired' WHERE id = ?", transactionId);
    later(1);
    await arrived(1);
    expect(types()).toEqual(["deposit.expired"]);
  });

  it("tells what was paid, by the watcher's own writing, and what came in another coin", async () => {
    add();
    const { transactionId, address } = (await deposit()).body;
    const chain = { network: "eip155:31337", address, txHash: "0x1", block: 5, blockHash: "0xb" };
    const pay = (currency: string, units: string, logIndex: number, final: 0 | 1) =>
      gateway.service.store.write((database) => {
        const keep = final === 1 ? keepFinalPayment : keepDetectedPayment;
        keep(database, { ...chain, currency, units, logIndex, final, transactionId });
        const stage = final === 1 ? "partial" : "seen";
        const received = currency === "eth" && final === 1 ? units : "0";
        const sql = "UPDATE deposits SET stage = ?, receivedUnits = ? WHERE id = ?";
        if (currency === "eth") database.run(sql, stage, received, transactionId);
      });
    pay("eth", "300000000000000", -1, 0);
    pay("usdt", "7500000", 0, 0);
    pay("eth", "300000000000000", -1, 1);
    pay("usdt", "7500000", 0, 1);
    pay("usdt", "2000000", 1, 1);
    later(1);
    await arrived(5);
    const inOrder = [...receiver.received].sort((a, b) => a.sequence - b.sequence);
    expect(inOrder.map(({ type }) => type)).toEqual([
      ...[
        "deposit.detected",
        "deposit.partial",
        "deposit.below_minimum",
        "deposit.unattributed",
        "deposit.unattributed",
      ],
    ]);
    expect(inOrder.map(({ data }) => data.amountReceived)).toEqual([
      "0",
      "0.0003",
      "0.0003",
      "0.0003",
      "0.0003",
    ]);
    expect(inOrder.slice(3).map(({ data }) => data.unattributed)).toEqual([
      { currency: "usdt", amount: "7.5", txHash: "0x1" },
      { currency: "usdt", amount: "2", txHash: "0x1" },
    ]);
  });

  it("is not made for a merchant without a target, whose records say so", async () => {
    const { transactionId } = (await auto()).body;
    expect([statusOf(transactionId), db().all("SELECT * FROM callbackChanges")]).toEqual([3, []]);
    add();
    decide(transactionId, { stage: "signed" });
    decide(transactionId, { stage: "broadcast" });
    later(1);
    await arrived(1);
    expect(types()).toEqual(["withdrawal.broadcast"]);
    const waiting = (await auto({ orderId: "order-2" })).body.transactionId;
    expect(statusOf(waiting)).toBe(0);
  });
});

describe("a receiver that does not take it", () => {
  it("a receiver that does not take an event gets it again, the same bytes under the same id, until it does; the status follows", async () => {
    add();
    receiver.answer = (response) => void response.writeHead(500).end("no room <here>");
    const { transactionId } = (await auto()).body;
    await arrived(1);
    await until(() => callbackDeliveries(gateway.operator, {}, 1)[0]?.tries.length === 1);
    expect(statusOf(transactionId)).toBe(0);
    later(4_999);
    receiver.answer = (response) => void response.writeHead(200).end();
    later(1_001);
    await arrived(2);
    await until(() => statusOf(transactionId) === 1);
    expect(receiver.received.map(({ id, body }) => [id, body])[1]).toEqual(
      receiver.received.map(({ id, body }) => [id, body])[0],
    );
    expect(receiver.refused).toEqual([]);
    const [delivery] = callbackDeliveries(gateway.operator, {}, 1);
    expect(delivery).toMatchObject({
      state: "delivered",
      type: "withdrawal.created",
      transactionId,
      nextAt: "",
    });
    expect(delivery?.tries.map(({ status, answer }) => [status, answer])).toEqual([
      [500, "no room <here>"],
      [200, ""],
    ]);
  });

  it("a receiver that does not take an event is waited for as long as it asks, and given up after the last try", async () => {
    add();
    receiver.answer = (response) => void response.writeHead(429, { "Retry-After": "60" }).end();
    const { transactionId } = (await auto()).body;
    await arrived(1);
    await until(() => callbackDeliveries(gateway.operator, {}, 1)[0]?.tries.length === 1);
    const nextAt = Date.parse(callbackDeliveries(gateway.operator, {}, 1)[0]?.nextAt ?? "");
    expect(nextAt - gateway.clock.nowMs).toBe(60_000);
    receiver.answer = (response) => void response.writeHead(302, { Location: receiver.url }).end();
    for (const [ms, count] of [
      [60_000, 2],
      [360_000, 3],
    ] as const) {
      later(ms);
      await arrived(count);
      await until(() => callbackDeliveries(gateway.operator, {}, 1)[0]?.tries.length === count);
    }
    await until(() => statusOf(transactionId) === 2);
    expect(callbackDeliveries(gateway.operator, {}, 1)[0]).toMatchObject({ state: "given up" });
    receiver.answer = (response) => void response.writeHead(204).end();
    const { delivery = 0 } = callbackDeliveries(gateway.operator, {}, 1)[0] ?? {};
    expect(redeliverCallback(gateway.operator, delivery)).toEqual({ ok: true });
    expect(statusOf(transactionId)).toBe(0);
    later(1);
    await arrived(4);
    await until(() => statusOf(transactionId) === 1);
    expect(redeliverCallback(gateway.operator, delivery + 1)).toEqual({
      ok: false,
      code: "GATEWAY_UNKNOWN_CALLBACK",
    });
  });

  it("a receiver that does not take an event is switched off by its 410, which an alarm says, and on again by a test that it takes", async () => {
    const id = add();
    receiver.answer = (response) => void response.writeHead(410).end();
    const { transactionId } = (await auto()).body;
    await arrived(1);
    await until(() => statusOf(transactionId) === 2);
    expect(listCallbacks(gateway.operator, undefined)).toMatchObject([
      { callbackId: id, waiting: 0, status: 410 },
    ]);
    expect(listCallbacks(gateway.operator, undefined)[0]?.offAt).not.toBe("");
    expect(db().all("SELECT act, subject FROM audit WHERE act LIKE 'alarm %'")).toEqual([
      { act: "alarm CALLBACK_OFF", subject: id },
    ]);
    expect((await auto({ orderId: "order-2" })).body.transactionId).toBeDefined();
    expect(redeliverCallback(gateway.operator, 1)).toEqual({
      ok: false,
      code: "GATEWAY_UNKNOWN_CALLBACK",
    });
    const callbackSender = createCallbackSender({
      settings: settings(),
      monotonic: () => performance.now(),
    });
    expect(await testCallback(gateway.operator, id, callbackSender)).toMatchObject({
      ok: true,
      taken: false,
      switchedOn: false,
    });
    receiver.answer = (response) => void response.writeHead(204).end();
    expect(await testCallback(gateway.operator, id, callbackSender)).toMatchObject({
      ok: true,
      taken: true,
      switchedOn: true,
    });
    expect(listCallbacks(gateway.operator, undefined)[0]?.offAt).toBe("");
    expect(types()).toEqual(["withdrawal.created", "webhook.test", "webhook.test"]);
    expect(receiver.refused).toEqual([]);
    await auto({ orderId: "order-3" });
    await arrived(4);
  });

  it("a receiver that does not take an event holds up no other: one hangs, the rest hear at once", async () => {
    Object.assign(settings(), { timeoutMs: 3_000 });
    const hung = await startReceiver();
    hung.answer = () => {};
    try {
      add(hung.url);
      add();
      for (let i = 0; i < 12; i++) await auto({ orderId: `order-${i}`, amount: "0.1" });
      await until(() => new Set(receiver.received.map(({ id }) => id)).size === 12);
      expect(hung.received.length).toBeLessThan(6);
      await until(() =>
        callbackDeliveries(gateway.operator, {}, 50).some(
          ({ tries }) => tries[0]?.answer === "no answer in time",
        ),
      );
    } finally {
      await hung.close();
    }
  });
});

describe("a secret", () => {
  it("of callbacks is changed without a gap: both sign for a day, then the new one alone", async () => {
    const id = add();
    const old = receiver.secret;
    const rotated = rotateCallback(gateway.operator, id);
    if (!rotated.ok) throw new Error(rotated.code);
    await auto();
    await arrived(1);
    const [{ body, headers } = { body: "", headers: {} }] = receiver.received;
    for (const secret of [old, rotated.secret]) {
      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({
        type: "withdrawal.created",
      });
      expect(verifyCallback(secret, { headers, body }).ok).toBe(true);
    }
    expect(listCallbacks(gateway.operator, undefined)[0]?.twoSecretsUntil).toBe(
      rotated.oldValidUntil,
    );
    gateway.clock.nowMs += 86_400_000;
    await auto({ orderId: "order-2" });
    await arrived(2);
    const last = receiver.received[1];
    const atNow = { now: () => gateway.clock.nowMs };
    const check = (secret: string) =>
      verifyCallback(secret, { headers: last?.headers ?? {}, body: last?.body ?? "" }, atNow);
    expect([check(old), check(rotated.secret).ok]).toMatchObject([
      { ok: false, code: "signature_wrong" },
      true,
    ]);
  });

  it("of callbacks stands nowhere in the database, and none in the lists", () => {
    const callbackId = add();
    const file = readDatabaseBytes(db(), join(gateway.dir, "gateway.db"));
    expect(file.includes(Buffer.from(callbackId))).toBe(true);
    expect(file.includes(Buffer.from(receiver.secret.slice("whsec_".length)))).toBe(false);
    expect(file.includes(Buffer.from(receiver.secret.slice("whsec_".length), "base64"))).toBe(
      false,
    );
    expect(JSON.stringify(listCallbacks(gateway.operator, undefined))).not.toContain("whsec");
  });
});

describe("a target", () => {
  it("of callbacks is refused for a merchant that is none, for a wrong address, twice, and removed permanently", async () => {
    const { merchantId } = gateway.merchant;
    const put = (merchant: string, url: string) =>
      addCallback(gateway.operator, { merchant, url, events: [] }, settings());
    expect(put("m_0", "https://shop.example/hook")).toEqual({
      ok: false,
      code: "GATEWAY_UNKNOWN_MERCHANT",
    });
    expect(put(merchantId, "http://shop.example/hook")).toMatchObject({
      code: "GATEWAY_CALLBACK_URL",
    });
    expect(put(merchantId, "https://shop.example/hook")).toMatchObject({ ok: true });
    expect(put(merchantId, "https://SHOP.example:443/hook")).toMatchObject({
      detail: "the merchant has this URL already",
    });
    const id = add();
    callbacks?.close();
    const { transactionId } = (await auto()).body;
    callbacks = start();
    await arrived(1);
    expect(removeCallback(gateway.operator, id)).toMatchObject({ ok: true });
    expect(removeCallback(gateway.operator, id)).toEqual({
      ok: false,
      code: "GATEWAY_UNKNOWN_CALLBACK",
    });
    expect(rotateCallback(gateway.operator, id)).toEqual({
      ok: false,
      code: "GATEWAY_UNKNOWN_CALLBACK",
    });
    decide(transactionId, { stage: "signed" });
    decide(transactionId, { stage: "broadcast" });
    later(1);
    await until(() => db().all("SELECT 1 FROM callbackChanges").length === 0);
    expect(types()).toEqual(["withdrawal.created"]);
    const [{ secretBox } = { secretBox: null }] = db().all<{ secretBox: Uint8Array | null }>(
      "SELECT secretBox FROM callbackTargets WHERE id = ?",
      id,
    );
    expect(secretBox).toHaveLength(0);
  });
});

describe("the log", () => {
  it("of deliveries is kept for 60 days, and longer while something waits", async () => {
    add();
    await auto();
    await arrived(1);
    await until(() => callbackDeliveries(gateway.operator, {}, 9)[0]?.state === "delivered");
    receiver.answer = (response) => void response.writeHead(500).end();
    await auto({ orderId: "order-2" });
    await arrived(2);
    await until(() => callbackDeliveries(gateway.operator, {}, 9)[0]?.tries.length === 1);
    callbacks?.close();
    gateway.clock.nowMs += 60 * 86_400_000 - 1_000;
    callbacks = start();
    await arrived(3);
    expect(callbackDeliveries(gateway.operator, {}, 9)).toHaveLength(2);
    callbacks.close();
    gateway.clock.nowMs += 2_000;
    callbacks = start();
    await until(() => callbackDeliveries(gateway.operator, {}, 9).length === 1);
    expect(callbackDeliveries(gateway.operator, {}, 9)[0]).toMatchObject({ state: "waiting" });
  });
});

describe("a restored database", () => {
  it("goes on with a sequence above what was told before", async () => {
    add();
    const { transactionId } = (await auto()).body;
    await until(() => statusOf(transactionId) === 1);
    const before = receiver.received[0]?.sequence ?? 0;
    gateway.clock.nowMs += 1_000;
    db().run("DELETE FROM callbackEvents");
    decide(transactionId, { stage: "signed" });
    decide(transactionId, { stage: "broadcast" });
    later(0);
    await arrived(2);
    expect(receiver.received[1]?.sequence).toBeGreaterThan(before);
  });
});

describe("development", () => {
  it("alone opens loopback, and only where the gateway is local itself", async () => {
    const local = await startTestGateway({ ...many, ...development });
    expect(local.service.config.callbacks).toEqual({
      ...{ allowLoopback: true, allowNetworks: [], retryMs: [5_000, 300_000], timeoutMs: 1_000 },
    });
    await local.close();
    await expect(
      startTestGateway({ ...development, publicUrl: "https://pay.example.com" }),
    ).rejects.toThrow(/allowPrivate/);
    await expect(
      startTestGateway({ callbacks: { allowNetworks: ["10.0.0.0/33"] } }),
    ).rejects.toThrow(/allowNetworks/);
  });
});
