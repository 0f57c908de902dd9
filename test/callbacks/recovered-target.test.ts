/**
 * A target that takes an event after failures gets its waiting events at once, at its own pace and
 * with the ends of money first; an extra try uses up nothing of an event's schedule. `callbacks
 * redeliver --callback` starts again all that did not arrive.
 */
import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { recordOf } from "../../gateway/answer/record.ts";
import { type Callbacks, startCallbacks } from "../../gateway/callbacks/callbacks.ts";
import { createCallbackSender } from "../../gateway/callbacks/send.ts";
import {
  addCallback,
  callbackDeliveries,
  type DeliveryView,
  listCallbacks,
  redeliverAll,
  testCallback,
} from "../../gateway/operator/callbacks.ts";
import {
  type CallbackDelivery,
  type Receiver,
  startReceiver,
} from "../../lab/kit/callback-receiver.ts";
import { auto, db, decide, eachTestItsGateway, gateway, ready, row } from "../support/shop.ts";
import { until } from "../support/until.ts";

eachTestItsGateway();
let receiver: Receiver;
let callbacks: Callbacks;
let target = "";

const settings = () => gateway.service.config.callbacks;
const callbackSender = () =>
  createCallbackSender({ settings: settings(), monotonic: () => performance.now() });
const start = (): Callbacks =>
  startCallbacks({
    ...{ ...gateway.service, random: randomBytes, sealingKey: gateway.service.key.sealingKey },
    recordOf: (one) => recordOf(one, gateway.service),
    invoiceOf: ({ id }: { readonly id: string }) => ({ invoice: id }),
    fiatValueOf: () => "",
    callbackSender: callbackSender(),
  });

function later(ms: number): void {
  gateway.clock.nowMs += ms;
  gateway.service.signals.emit("changed", { transactionId: "" });
}

type Answer = Receiver["answer"];
const takes: Answer = (response) => void response.writeHead(204).end();
const away: Answer = (response) => void response.writeHead(503).end();
const deliveries = (): readonly DeliveryView[] =>
  callbackDeliveries(gateway.operator, { target }, 1_000);
const triedOnce = (count: number) =>
  until(() => deliveries().filter(({ tries }) => tries.length > 0).length === count);
const seen = (from: number): readonly CallbackDelivery[] => receiver.received.slice(from);

async function order(orderId: string): Promise<string> {
  return (await auto({ orderId, amount: "0.01" })).body.transactionId;
}

beforeEach(async () => {
  Object.assign(gateway.service.config, {
    callbacks: { ...settings(), allowLoopback: true, timeoutMs: 30_000 },
  });
  gateway.clock.nowMs = Date.now();
  receiver = await startReceiver();
  callbacks = start();
  await ready();
  const added = addCallback(
    gateway.operator,
    { merchant: gateway.merchant.merchantId, url: receiver.url, events: [] },
    settings(),
  );
  if (!added.ok) throw new Error(added.code);
  target = added.callbackId;
  receiver.secret = added.secret;
});
afterEach(async () => {
  callbacks.close();
  await receiver.close();
});

describe("a target that works again", () => {
  it("gets all that waits with its first success, money's ends first, each once", async () => {
    receiver.answer = away;
    const ids = await Promise.all(["a", "b", "c", "d", "e", "f"].map(order));
    await triedOnce(6);
    for (const [index, id] of ids.slice(3).entries())
      decide(id, index === 0 ? { status: 2, stage: "failed" } : { status: 1, stage: "completed" });
    later(1);
    await triedOnce(9);
    later(14_000); // past the first retry, so that the next is minutes away
    await until(() => deliveries().every(({ tries }) => tries.length === 2));
    receiver.answer = takes;
    const before = receiver.received.length;
    const next = await order("g");
    await until(() => deliveries().every(({ state }) => state === "delivered"));
    const told = seen(before);
    expect([told.length, new Set(told.map(({ id }) => id)).size]).toEqual([10, 10]);
    expect(told[0]?.data.transactionId).toBe(next);
    expect(new Set(told.slice(1, 4).map(({ type }) => type))).toEqual(
      new Set(["withdrawal.completed", "withdrawal.failed"]),
    );
    expect(told.slice(4).map(({ type }) => type)).toEqual(Array(6).fill("withdrawal.created"));
    // The record's newest event decides about callbackStatus, though an older one came after it.
    expect(ids.map((id) => row(id)?.callbackStatus)).toEqual([1, 1, 1, 1, 1, 1]);
    const ofOne = receiver.received
      .filter(({ data }) => data.transactionId === ids[4])
      .sort((a, b) => a.sequence - b.sequence);
    expect([ofOne[0]?.type, ofOne.at(-1)?.type]).toEqual([
      "withdrawal.created",
      "withdrawal.completed",
    ]);
  });

  it("gets no burst: one request, then two, and four at most", async () => {
    receiver.answer = away;
    for (let i = 0; i < 40; i++) await order(`order-${i}`);
    await triedOnce(40);
    later(14_000);
    await until(() => deliveries().every(({ tries }) => tries.length === 2));
    let open = 0;
    const atOnce: number[] = [];
    receiver.answer = (response) => {
      open += 1;
      atOnce.push(open);
      setTimeout(() => {
        open -= 1;
        takes(response, receiver.received[0] as CallbackDelivery);
      }, 30);
    };
    await order("first");
    await until(() => deliveries().every(({ state }) => state === "delivered"));
    expect([atOnce.length, atOnce[0], Math.max(...atOnce)]).toEqual([41, 1, 4]);
    expect(atOnce.slice(1, 3).every((count) => count <= 2)).toBe(true);
  });

  it("a target that fails again stops it, and the extra tries cost no event a try of its schedule", async () => {
    receiver.answer = away;
    for (let i = 0; i < 20; i++) await order(`order-${i}`);
    await triedOnce(20);
    later(14_000);
    await until(() => deliveries().every(({ tries }) => tries.length === 2));
    const planned = new Map(deliveries().map(({ delivery, nextAt }) => [delivery, nextAt]));
    let takesLeft = 1;
    receiver.answer = (response, one) => {
      if (takesLeft > 0) takes(response, one);
      else away(response, one);
      takesLeft -= 1;
    };
    await order("only");
    await until(() => deliveries().some(({ tries }) => tries.length === 3));
    await until(
      () =>
        deliveries().filter(({ tries, state }) => tries.length === 3 && state === "waiting")
          .length === 2,
    );
    later(1_000);
    await new Promise((done) => setTimeout(done, 150));
    const waiting = deliveries().filter(({ state }) => state === "waiting");
    expect([waiting.length, waiting.filter(({ tries }) => tries.length > 2).length]).toEqual([
      20, 2,
    ]);
    expect(waiting.every(({ delivery, nextAt }) => planned.get(delivery) === nextAt)).toBe(true);
    expect(
      db().all("SELECT DISTINCT tries FROM callbackDeliveries WHERE state = 'waiting'"),
    ).toEqual([{ tries: 2 }]);
  });

  it("a target that never takes one event while it takes the others is not asked for it with each success", async () => {
    const poison = await order("poison");
    const refuses: Answer = (response, one) =>
      void response.writeHead(one.data.transactionId === poison ? 400 : 204).end();
    receiver.answer = refuses;
    await triedOnce(1);
    later(6_000);
    const ofPoison = () => deliveries().find(({ transactionId }) => transactionId === poison);
    await until(() => (ofPoison()?.tries.length ?? 0) >= 2);
    for (let i = 0; i < 30; i++) {
      await order(`order-${i}`);
      later(100);
    }
    await until(() => deliveries().filter(({ state }) => state === "delivered").length === 30);
    expect(ofPoison()?.tries.length).toBeLessThanOrEqual(4);
    expect(ofPoison()?.state).toBe("waiting");
  });

  it("a target that asked for time with Retry-After gets that event no earlier, whatever else it takes", async () => {
    const slow = await order("slow");
    receiver.answer = (response, one) => {
      if (one.data.transactionId === slow) response.writeHead(429, { "Retry-After": "600" }).end();
      else takes(response, one);
    };
    await triedOnce(1);
    const ofSlow = () => receiver.received.filter(({ data }) => data.transactionId === slow).length;
    for (const ms of [1, 300_000, 298_000]) {
      later(ms);
      const done = deliveries().filter(({ state }) => state === "delivered").length;
      await order(`after-${ms}`);
      await until(
        () => deliveries().filter(({ state }) => state === "delivered").length === done + 1,
      );
      expect(ofSlow()).toBe(1);
    }
    receiver.answer = takes;
    later(2_000);
    await until(() => ofSlow() === 2);
  });

  it("a target that takes a test gets what waits for it; one that refuses the test gets nothing", async () => {
    receiver.answer = away;
    for (const orderId of ["a", "b", "c"]) await order(orderId);
    await triedOnce(3);
    later(14_000);
    await until(() => deliveries().every(({ tries }) => tries.length === 2));
    expect(await testCallback(gateway.operator, target, callbackSender())).toMatchObject({
      ok: true,
      taken: false,
    });
    later(1);
    await new Promise((done) => setTimeout(done, 100));
    expect(
      deliveries()
        .filter(({ state }) => state === "waiting")
        .map(({ tries }) => tries.length),
    ).toEqual([2, 2, 2]);
    receiver.answer = takes;
    expect(await testCallback(gateway.operator, target, callbackSender())).toMatchObject({
      ok: true,
      taken: true,
    });
    later(1);
    await until(() => deliveries().filter(({ state }) => state === "delivered").length === 4);
  });
});

describe("callbacks redeliver --callback", () => {
  const at = (id: string, ms: number): void =>
    void db().run("UPDATE callbackEvents SET at = ? WHERE transactionId = ?", ms, id);

  it("takes all that wait or were given up since a time, and no other", async () => {
    Object.assign(settings(), { retryMs: [] });
    receiver.answer = away;
    const [old = "", lost = "", ended = ""] = [
      await order("old"),
      await order("lost"),
      await order("ended"),
    ];
    await until(() => deliveries().filter(({ state }) => state === "given up").length === 3);
    Object.assign(settings(), { retryMs: [3_600_000] });
    decide(ended, { status: 1, stage: "completed" });
    later(1);
    await until(() =>
      deliveries().some(({ state, tries }) => state === "waiting" && tries.length === 1),
    );
    expect(await testCallback(gateway.operator, target, callbackSender())).toMatchObject({
      taken: false,
    });
    const since = gateway.clock.nowMs - 60_000;
    at(old, since - 1);
    at(lost, since);
    receiver.answer = takes;
    const arrived = await order("arrived");
    await until(() =>
      deliveries().some(
        ({ state, transactionId }) => state === "delivered" && transactionId === arrived,
      ),
    );
    await until(() => deliveries().filter(({ state }) => state === "waiting").length === 0);
    db().run(
      "UPDATE callbackDeliveries SET state = 'waiting', nextAt = ? WHERE rank = 0",
      gateway.clock.nowMs + 3_600_000,
    );
    callbacks.close();
    const before = receiver.received.length;
    expect(redeliverAll(gateway.operator, target, since)).toEqual({ ok: true, again: 3, left: 0 });
    expect(row(lost)?.callbackStatus).toBe(0);
    callbacks = start();
    await until(() => receiver.received.length === before + 3);
    await until(() => deliveries().every(({ state }) => state !== "waiting"));
    expect(seen(before).map(({ type, data }) => [type, data.transactionId])).toEqual([
      ["withdrawal.completed", ended],
      ["withdrawal.created", lost],
      ["withdrawal.created", ended],
    ]);
    expect([row(lost)?.callbackStatus, row(old)?.callbackStatus]).toEqual([1, 2]);
    expect(db().all("SELECT detail FROM audit WHERE act = 'callbacks sent again'")).toEqual([
      { detail: `3 since ${new Date(since).toISOString()}` },
    ]);
    expect(redeliverAll(gateway.operator, target, 0)).toMatchObject({ again: 1 });
  });

  it("refuses an unknown target and one that is off, and keeps to the limit of what waits", async () => {
    receiver.answer = (response) => void response.writeHead(410).end();
    await order("gone");
    await until(() => listCallbacks(gateway.operator, undefined)[0]?.offAt !== "");
    expect(redeliverAll(gateway.operator, "cb_0", 0)).toEqual({
      ok: false,
      code: "GATEWAY_UNKNOWN_CALLBACK",
    });
    expect(redeliverAll(gateway.operator, target, 0)).toEqual({
      ok: false,
      code: "GATEWAY_UNKNOWN_CALLBACK",
    });
    receiver.answer = takes;
    expect(await testCallback(gateway.operator, target, callbackSender())).toMatchObject({
      switchedOn: true,
    });
    callbacks.close();
    const filler = `WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < ?)`;
    db().run(
      `${filler} INSERT INTO callbackEvents SELECT value, 'msg_' || value, merchant, transactionId, type, value, at, body
         FROM callbackEvents, n WHERE transactionId IS NOT NULL`,
      50_010,
    );
    db().run(
      `INSERT INTO callbackDeliveries (event, target, state, nextAt, rank)
         SELECT id, ?, CASE WHEN sequence <= 49990 THEN 'waiting' ELSE 'given up' END, ?, 1 FROM callbackEvents WHERE sequence <= 50010`,
      ...[target, gateway.clock.nowMs + 3_600_000],
    );
    expect(redeliverAll(gateway.operator, target, 0)).toEqual({
      ok: true,
      again: 50_000,
      left: 11,
    });
  });
});
