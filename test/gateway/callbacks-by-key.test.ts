/**
 * Callback targets by a shop's key with the scope `callbacks`, over a real gateway and a receiver
 * on loopback: each act, each refusal with a twin that passes, and nothing of another merchant.
 */
import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Client, createClient } from "../../clients/typescript/client.ts";
import { recordOf } from "../../gateway/answer/record.ts";
import { type Callbacks, startCallbacks } from "../../gateway/callbacks/callbacks.ts";
import { nameLookupFaults } from "../../gateway/callbacks/guard.ts";
import { createCallbackSender, whyNoAddress } from "../../gateway/callbacks/send.ts";
import { targetsMax } from "../../gateway/callbacks/targets.ts";
import { addKey, createMerchant } from "../../gateway/operator/accounts.ts";
import { addCallback, listCallbacks, removeCallback } from "../../gateway/operator/callbacks.ts";
import { type TargetState, targetStates } from "../../gateway/store/callback-targets.ts";
import { type Receiver, startReceiver } from "../../lab/kit/callback-receiver.ts";
import { handmadeToken, startTestGateway, type TestGateway } from "../../lab/kit/gateway-server.ts";
import { until } from "../support/until.ts";

const limits = { readsPerSecond: 1_000, writesPerSecond: 1_000, withdrawalWaitMs: 0 };
let gateway: TestGateway;
let receiver: Receiver;
let callbacks: Callbacks;
let shop: Client;

const clientOf = (apiKey: string): Client =>
  createClient({ baseUrl: gateway.url, key: { apiKey } });
const keyOf = (merchant: string): string => {
  const made = addKey(gateway.operator, {
    merchant,
    scopes: ["callbacks"],
    profile: "compatible",
    alg: "HS256",
  });
  if (!made.ok) throw new Error(made.code);
  return made.apiKey;
};
const database = () => gateway.service.store.database;

beforeEach(async () => {
  gateway = await startTestGateway({
    limits,
    callbacks: { allowPrivate: true, retrySeconds: [3_600], timeoutSeconds: 1 },
  });
  gateway.clock.nowMs = Date.now();
  receiver = await startReceiver();
  const { service } = gateway;
  callbacks = startCallbacks({
    ...{ ...service, random: randomBytes, sealingKey: service.key.sealingKey },
    recordOf: (one) => recordOf(one, service),
    invoiceOf: ({ id }: { readonly id: string }) => ({ invoice: id }),
    fiatValueOf: () => "",
    callbackSender: createCallbackSender({
      settings: service.config.callbacks,
      monotonic: () => performance.now(),
    }),
  });
  await gateway.pair();
  gateway.fund("eth", 10n ** 19n);
  shop = clientOf(keyOf(gateway.merchant.merchantId));
});
afterEach(async () => {
  callbacks.close();
  await receiver.close();
  await gateway.close();
});

async function add(url = receiver.url): Promise<string> {
  const added = await shop.createCallback({ url });
  if (!added.ok) throw new Error(added.code);
  if (url === receiver.url) receiver.secret = added.value.secret;
  return added.value.callbackId;
}

async function only(client = shop) {
  const read = await client.callbacks();
  if (!read.ok || read.value.callbacks.length !== 1) throw new Error("one target was expected");
  return read.value.callbacks[0]!;
}

/** The row of the only target. */
function held(): TargetState {
  const [state] = targetStates(database(), gateway.merchant.merchantId);
  if (state === undefined) throw new Error("a target was expected");
  return state;
}

/** The status that the receiver answers from now on. */
function answer(status: number): void {
  receiver.answer = (response) => void response.writeHead(status).end();
}

let orders = 0;
/** A withdrawal, whose first event is `withdrawal.created`. */
async function order(): Promise<void> {
  const address = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
  const client = createClient({ baseUrl: gateway.url, key: { apiKey: gateway.merchant.shopKey } });
  const made = await client.autoWithdraw({
    currency: "eth",
    amount: "0.01",
    address,
    orderId: `out-${++orders}`,
  });
  if (!made.ok) throw new Error(made.code);
  gateway.clock.nowMs += 1;
  gateway.service.signals.emit("changed", { transactionId: "" });
}

const acts: readonly (readonly [
  string,
  (client: Client, id: string) => Promise<{ readonly ok: boolean }>,
])[] = [
  ["pauseCallback", (client, id) => client.pauseCallback(id)],
  ["resumeCallback", (client, id) => client.resumeCallback(id)],
  ["testCallback", (client, id) => client.testCallback(id)],
  ["redeliverCallback", (client, id) => client.redeliverCallback(id)],
  ["removeCallback", (client, id) => client.removeCallback(id)],
];

describe("callback targets by a key", () => {
  it("callback targets by a key: one is added, its secret is shown once, and it signs what arrives", async () => {
    const id = await add();
    expect(receiver.secret).toMatch(/^whsec_/);
    expect(await only()).toEqual({
      ...{ callbackId: id, url: receiver.url, events: [], state: "active", waiting: 0, givenUp: 0 },
      createdAt: new Date(gateway.clock.nowMs).toISOString(),
      ...{ succeededAt: "", failedAt: "", failedStatus: 0, failedReason: "" },
    });
    expect(JSON.stringify(await shop.callbacks())).not.toContain(receiver.secret);
    await order();
    await until(() => held().succeededAt !== null);
    expect(receiver.received.map(({ type }) => type)).toEqual(["withdrawal.created"]);
    expect(receiver.refused).toEqual([]);
    const line = database().get<{ actor: string }>(
      "SELECT actor FROM audit WHERE act = 'callback added' AND subject = ?",
      id,
    );
    expect(line?.actor).toMatch(/^k_/);
  });

  it("callback targets by a key: a filter is kept, in the order of the list, and an unknown event is refused", async () => {
    const url = "https://shop.example/hook";
    const events = ["withdrawal.failed", "deposit.completed"] as const;
    for (const wrong of [["deposit.paid"], "deposit.completed", [1]]) {
      const refused = await shop.createCallback({ url, events: wrong as never });
      expect(refused).toMatchObject({
        status: 400,
        code: "callback_events_invalid",
        field: "events",
      });
    }
    const kept = { events: ["deposit.completed", "withdrawal.failed"] };
    expect(await shop.createCallback({ url, events })).toMatchObject({ ok: true, value: kept });
    expect(await only()).toMatchObject(kept);
  });

  it.each([
    ["http://shop.example/hook", "must begin with https://"],
    ["https://10.0.0.1/hook", "leads to an address that is not public"],
    ["https://[::ffff:169.254.169.254]/", "leads to an address that is not public"],
    ["https://localhost/hook", "leads to a name that is not public"],
    ["https://user:word@shop.example/", "must have no user name"],
    ["https://shop.example:22/", "must use port 443, or one above 1023"],
    ["nothing", "is no URL"],
  ])(
    "callback targets by a key: the guard of the operator's command refuses %s",
    async (url, reason) => {
      Object.assign(gateway.service.config.callbacks, { allowLoopback: false, allowNetworks: [] });
      const refused = {
        ok: false,
        status: 400,
        code: "callback_url_invalid",
        field: "url",
        reason,
      };
      expect(await shop.createCallback({ url })).toMatchObject(refused);
      const { merchantId: merchant } = gateway.merchant;
      const typed = addCallback(
        gateway.operator,
        { merchant, url, events: [] },
        gateway.service.config.callbacks,
      );
      expect(typed).toMatchObject({
        ok: false,
        code: "GATEWAY_CALLBACK_URL",
        detail: `the URL ${reason}`,
      });
      expect(await shop.createCallback({ url: "https://shop.example/hook" })).toMatchObject({
        ok: true,
      });
    },
  );

  it("callback targets by a key: a URL that is no text is refused", async () => {
    expect(await shop.createCallback({ url: 1 as never })).toMatchObject({
      status: 400,
      code: "callback_url_invalid",
    });
    expect(await shop.createCallback({ url: "https://shop.example/1" })).toMatchObject({
      ok: true,
    });
  });

  it("callback targets by a key: the same URL makes no second target, also one that the operator added", async () => {
    const callbackId = await add("https://shop.example/hook");
    const again = await shop.createCallback({ url: "https://SHOP.example/hook" });
    expect(again).toMatchObject({ status: 409, code: "callback_exists", callbackId });
    expect(await only()).toMatchObject({ callbackId });
    expect((await shop.removeCallback(callbackId)).ok).toBe(true);
    expect((await shop.createCallback({ url: "https://shop.example/hook" })).ok).toBe(true);
  });

  it("callback targets by a key: sixteen and no more, those of the operator included", async () => {
    const { merchantId: merchant } = gateway.merchant;
    const put = (at: number) => ({ merchant, url: `https://shop.example/${at}`, events: [] });
    const first = addCallback(gateway.operator, put(0), gateway.service.config.callbacks);
    for (let at = 1; at < targetsMax; at += 1) await add(`https://shop.example/${at}`);
    expect(await shop.createCallback({ url: "https://shop.example/more" })).toMatchObject({
      status: 409,
      code: "callbacks_full",
    });
    if (first.ok) removeCallback(gateway.operator, first.callbackId);
    expect(await shop.createCallback({ url: "https://shop.example/more" })).toMatchObject({
      ok: true,
    });
  });
});

describe("the scope callbacks", () => {
  it("is what an existing key lacks, and a key of that scope does nothing else", async () => {
    const id = await add("https://shop.example/hook");
    const old = clientOf(gateway.merchant.shopKey);
    const refused = { ok: false, status: 403, code: "scope_missing", scope: "callbacks" };
    expect(await old.callbacks()).toMatchObject(refused);
    expect(await old.createCallback({ url: "https://shop.example/2" })).toMatchObject(refused);
    for (const [name, act] of acts) expect(await act(old, id), name).toMatchObject(refused);
    expect(await shop.balances()).toMatchObject({
      status: 403,
      code: "scope_missing",
      scope: "read",
    });
    for (const [name, act] of acts) expect(await act(shop, id), name).toMatchObject({ ok: true });
  });

  it("reaches the key's own merchant alone", async () => {
    const id = await add("https://shop.example/hook");
    const outsider = clientOf(
      keyOf(createMerchant(gateway.operator, { name: "Other", language: "en" }).merchantId),
    );
    expect(await outsider.callbacks()).toMatchObject({ ok: true, value: { callbacks: [] } });
    const before = listCallbacks(gateway.operator, undefined);
    const refused = { ok: false, status: 404, code: "callback_not_found", field: "callbackId" };
    for (const [name, act] of acts) {
      expect(await act(outsider, id), name).toMatchObject(refused);
      expect(await act(shop, "cb_0000000000000000"), name).toMatchObject(refused);
      expect(await act(shop, 1 as never), name).toMatchObject(refused);
    }
    expect(listCallbacks(gateway.operator, undefined)).toEqual(before);
    // Another merchant may have the same URL.
    expect(await outsider.createCallback({ url: "https://shop.example/hook" })).toMatchObject({
      ok: true,
    });
    for (const [name, act] of acts) expect(await act(shop, id), name).toMatchObject({ ok: true });
    for (const [name, act] of acts) expect(await act(shop, id), name).toMatchObject(refused);
  });

  it("does not let one token act twice", async () => {
    const apiKey = keyOf(gateway.merchant.merchantId);
    const headers = {
      "Content-Type": "application/json",
      signatureToken: handmadeToken(apiKey, gateway.clock.nowMs),
    };
    const send = (at: number) => {
      const body = JSON.stringify({ url: `https://shop.example/${at}` });
      return gateway.send("/api/v1/createCallback", { method: "POST", headers, body });
    };
    expect((await send(1)).status).toBe(200);
    expect(await send(2)).toMatchObject({ status: 401, body: { code: "token_invalid" } });
  });
});

describe("a paused target", () => {
  it("gets nothing until it is resumed, and then all that waited", async () => {
    const id = await add();
    expect(await shop.pauseCallback(id)).toMatchObject({
      value: { callbackId: id, state: "paused" },
    });
    expect(await shop.pauseCallback(id)).toMatchObject({ value: { state: "paused" } });
    const beside = await startReceiver();
    const besideId = await add(beside.url);
    await order();
    await order();
    // All that is due has gone out, which the target beside it shows.
    await until(() => beside.received.length === 2);
    removeCallback(gateway.operator, besideId);
    await beside.close();
    expect(held().waiting).toBe(2);
    expect(receiver.received).toEqual([]);
    expect(listCallbacks(gateway.operator, undefined)[0]?.pausedAt).not.toBe("");
    expect(await shop.testCallback(id)).toMatchObject({
      status: 409,
      code: "callback_off",
      field: "callbackId",
    });
    expect(await shop.resumeCallback(id)).toMatchObject({ value: { state: "active", waiting: 2 } });
    expect(await shop.resumeCallback(id)).toMatchObject({ value: { state: "active" } });
    await until(() => held().waiting === 0);
    expect(receiver.received).toHaveLength(2);
    expect(await shop.testCallback(id)).toMatchObject({ ok: true });
    const lines = database().all<{ act: string }>(
      "SELECT act FROM audit WHERE subject = ? ORDER BY id",
      id,
    );
    expect(lines.map(({ act }) => act)).toEqual([
      "callback added",
      "callback paused",
      "callback resumed",
      "callback tested",
    ]);
  });

  it("a target that answered 410 is off, which resuming ends", async () => {
    const id = await add();
    answer(410);
    await order();
    await until(() => held().offAt !== null);
    expect(await only()).toMatchObject({
      state: "off",
      givenUp: 1,
      failedStatus: 410,
      failedReason: "",
    });
    for (const call of [shop.testCallback(id), shop.redeliverCallback(id)])
      expect(await call).toMatchObject({ status: 409, code: "callback_off" });
    answer(200);
    expect(await shop.resumeCallback(id)).toMatchObject({ value: { state: "active", givenUp: 1 } });
    expect(await shop.redeliverCallback(id)).toMatchObject({ value: { deliveries: 1, left: 0 } });
    await until(() => held().givenUp === 0 && held().succeededAt !== null);
  });
});

describe("deliveries by a key", () => {
  it("a test is sent once, its outcome is in the list, and a failed one stays failed", async () => {
    const id = await add();
    const sent = await shop.testCallback(id);
    await until(() => held().succeededAt !== null);
    expect(receiver.received.map(({ type, headers }) => [type, headers["webhook-id"]])).toEqual([
      ["webhook.test", sent.ok ? sent.value.messageId : ""],
    ]);
    answer(503);
    await shop.testCallback(id);
    await until(() => held().failedAt !== null);
    expect(await only()).toMatchObject({
      waiting: 0,
      givenUp: 0,
      failedStatus: 503,
      failedReason: "",
    });
    const states = database().all<{ state: string }>(
      "SELECT state FROM callbackDeliveries ORDER BY id",
    );
    expect(states.map(({ state }) => state)).toEqual(["delivered", "given up"]);
  });

  it("a test that waits stays the only one, and after its end comes another", async () => {
    const id = await add();
    Object.assign(gateway.service.config.callbacks, { timeoutMs: 15_000 });
    let release = (): void => {};
    receiver.answer = (response) => {
      release = () => void response.writeHead(204).end();
    };
    const first = await shop.testCallback(id);
    await until(() => receiver.received.length === 1);
    expect(await shop.testCallback(id)).toEqual(first);
    release();
    await until(() => held().succeededAt !== null);
    answer(204);
    const second = await shop.testCallback(id);
    expect(second).toMatchObject({ ok: true });
    expect(second).not.toEqual(first);
    await until(() => receiver.received.length === 2);
  });

  it("the cause of a failure without an answer is in the list", async () => {
    const id = await add();
    await receiver.close();
    await shop.testCallback(id);
    await until(() => held().failedAt !== null);
    expect(await only()).toMatchObject({
      failedStatus: 0,
      failedReason: "could not be reached (ECONNREFUSED)",
      succeededAt: "",
    });
    receiver = await startReceiver();
  });

  it("the cause of a failure does not tell a key which names the gateway's own name servers know; the operator reads it", async () => {
    await add();
    const read = async (reason: string): Promise<unknown> => {
      database().run("UPDATE callbackTargets SET failedAt = 1, failedReason = ?", reason);
      expect(held().failedReason).toBe(reason);
      return ((await only()) as { failedReason: string }).failedReason;
    };
    const reasons = [
      whyNoAddress(["ENOTFOUND", "ENOTFOUND"]),
      whyNoAddress([]),
      nameLookupFaults.closed,
    ];
    expect(new Set(reasons).size).toBe(3);
    for (const reason of reasons)
      expect(await read(reason)).toBe("the name leads to no public address");
    expect(await read("no answer in time")).toBe("no answer in time");
  });

  it("deliveries that failed since a time are sent again, and delivered ones are not", async () => {
    const id = await add();
    await order();
    await until(() => held().succeededAt !== null);
    answer(500);
    await order();
    await until(() => held().failedAt !== null);
    const middle = gateway.clock.nowMs;
    gateway.clock.nowMs += 60_000;
    await order();
    await until(() => held().waiting === 2);
    // A try under way would write its delivery's state once more.
    const due = "SELECT 1 FROM callbackDeliveries WHERE state = 'waiting' AND nextAt <= ?";
    await until(() => database().all(due, gateway.clock.nowMs).length === 0);
    database().run("UPDATE callbackDeliveries SET state = 'given up' WHERE state = 'waiting'");
    answer(200);
    const late = new Date(middle + 30_000).toISOString();
    expect(await shop.redeliverCallback(id, late)).toMatchObject({
      value: { callbackId: id, since: late, deliveries: 1, left: 0 },
    });
    await until(() => held().givenUp === 1 && held().waiting === 0);
    expect(await shop.redeliverCallback(id)).toMatchObject({
      value: { since: "", deliveries: 1, left: 0 },
    });
    await until(() => held().givenUp === 0 && held().waiting === 0);
    expect(await shop.redeliverCallback(id)).toMatchObject({ value: { deliveries: 0 } });
  });

  it.each(["yesterday", "2026-02-30", "2026-01-02T03:04:05+03:00", 5, ""])(
    "the time %j is refused, and a day is not",
    async (since) => {
      const id = await add();
      const refused = { status: 400, code: "since_invalid", field: "since" };
      expect(await shop.redeliverCallback(id, since as never)).toMatchObject(refused);
      expect(await shop.redeliverCallback(id, "2026-02-28")).toMatchObject({ ok: true });
    },
  );

  it("more than a step of deliveries are all sent again, and a removed target's are given up", async () => {
    const id = await add("https://shop.example/hook");
    await shop.pauseCallback(id);
    await order();
    await until(() => held().waiting === 1);
    const { merchantId } = gateway.merchant;
    const { id: record } = database().get<{ id: string }>("SELECT id FROM transfers") ?? {
      id: "",
    };
    for (let at = 1; at <= 1_100; at += 1) {
      const row = [`msg_${at}`, merchantId, record, at];
      database().run(
        `INSERT INTO callbackEvents (id, merchant, transactionId, type, sequence, at, body) VALUES (?, ?, ?, 'withdrawal.created', ?, 5, '{}')`,
        ...row,
      );
      database().run(
        "INSERT INTO callbackDeliveries (event, target, state, nextAt) VALUES (?, ?, 'given up', 0)",
        `msg_${at}`,
        id,
      );
    }
    expect(await only()).toMatchObject({ waiting: 1, givenUp: 1_100 });
    expect(await shop.redeliverCallback(id)).toMatchObject({
      value: { deliveries: 1_101, left: 0 },
    });
    expect(await only()).toMatchObject({ waiting: 1_101, givenUp: 0 });
    expect(await shop.removeCallback(id)).toMatchObject({
      value: { callbackId: id, recordsGivenUp: 1 },
    });
    expect(await shop.callbacks()).toMatchObject({ value: { callbacks: [] } });
    const left = database().get<{ n: number }>(
      "SELECT count(*) AS n FROM callbackDeliveries WHERE state = 'waiting'",
    );
    expect(left?.n).toBe(0);
  });
});
