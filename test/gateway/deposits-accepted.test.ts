/**
 * A shop accepts a late or short payment over HTTP, by a key with the scope of its own. Every other
 * state of a deposit is refused with its reason, and nothing is written then.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { createMerchant } from "../../gateway/operator/accounts.ts";
import { addCallback } from "../../gateway/operator/callbacks.ts";
import { creditDeposit } from "../../gateway/operator/crediting.ts";
import { revokeDeposit } from "../../gateway/store/deposits.ts";
import { handmadeToken } from "../../lab/kit/gateway-server.ts";
import {
  auto,
  db,
  deposit,
  eachTestItsGateway,
  gateway,
  read,
  ready,
  row,
} from "../support/shop.ts";

eachTestItsGateway();

const ether = 10n ** 18n;
let key: { readonly keyId: string; readonly apiKey: string };
beforeEach(async () => {
  await ready();
  key = gateway.key({ scopes: ["deposit:accept"] });
});

const accept = (order: object, apiKey = key.apiKey) =>
  gateway.call("POST", "/api/v1/acceptDeposit", order, {
    signatureToken: handmadeToken(apiKey, gateway.clock.nowMs),
  });
const reason = "the customer wrote in time";

/** A request that ended with so much final money; `late` says that it came behind the end. */
async function ended(receivedUnits: bigint, orderId = "in-1"): Promise<string> {
  const { transactionId } = (await deposit({ orderId })).body;
  const sql =
    "UPDATE deposits SET status = 2, stage = 'expired', code = 'deposit_expired', receivedUnits = ?, late = ? WHERE id = ?";
  db().run(sql, `${receivedUnits}`, receivedUnits > 0n ? 1 : 0, transactionId);
  return transactionId;
}
const actsOn = (id: string) =>
  db().all<object>("SELECT actor, act, detail FROM audit WHERE subject = ? ORDER BY id", id);
const stateOf = (id: string) => [row(id)?.status, actsOn(id).length];

describe("a late payment", () => {
  it("is accepted by the shop: the record is Completed, its key and reason are kept, once", async () => {
    const id = await ended(ether);
    expect((await read(`/transaction/${id}?transactionType=1`)).body).not.toHaveProperty(
      "accepted",
    );
    const answer = await accept({ transactionId: id, reason: ` ${reason} ` });
    const body = { transactionId: id, status: 1, stage: "completed", code: "", late: true };
    expect(answer).toMatchObject({
      status: 200,
      body: { ...body, accepted: true, amountReceived: "1" },
    });
    expect(actsOn(id)).toEqual([{ actor: key.keyId, act: "deposit credited", detail: reason }]);
    const { body: again } = await accept({ transactionId: id, reason: "another word" });
    expect(again).toEqual(answer.body);
    expect(actsOn(id)).toHaveLength(1);
    expect((await read(`/transaction/${id}?transactionType=1`)).body).toEqual(answer.body);
    const csv = (
      await gateway.send("/api/v1/transactions", {
        headers: {
          Accept: "text/csv",
          signatureToken: handmadeToken(gateway.merchant.shopKey, gateway.clock.nowMs),
        },
      })
    ).text
      .trim()
      .split("\r\n");
    expect(csv.map((line) => line.split(",").at(-2))).toEqual(["accepted", "true"]);
  });

  it("that an operator credited is accepted too, and answers the shop the same", async () => {
    const id = await ended(ether);
    expect(creditDeposit(gateway.operator, id, { reason, isShortFine: false }).ok).toBe(true);
    expect((await accept({ transactionId: id, reason })).body).toMatchObject({
      status: 1,
      accepted: true,
    });
    expect(actsOn(id)).toHaveLength(1);
  });

  it("is told to the shop's callbacks with `accepted`", async () => {
    addCallback(
      gateway.operator,
      { merchant: gateway.merchant.merchantId, url: "https://shop.example/cb", events: [] },
      gateway.service.config.callbacks,
    );
    const id = await ended(ether);
    await accept({ transactionId: id, reason });
    const [change] = db().all<{ after: string }>(
      "SELECT after FROM callbackChanges WHERE transactionId = ? ORDER BY id DESC LIMIT 1",
      id,
    );
    expect(JSON.parse(change?.after ?? "{}")).toMatchObject({ status: 1, stage: "completed" });
  });

  it("whose block left the chain is accepted no more", async () => {
    const id = await ended(ether);
    await accept({ transactionId: id, reason });
    const now = row(id);
    if (now === undefined) throw new Error(id);
    revokeDeposit(db(), id, {
      ...{ status: 2, stage: "revoked", code: "", receivedUnits: "0", late: 0, txHash: "" },
      ...{ finalBlock: null, changedAt: gateway.clock.nowMs },
    });
    const { body } = await read(`/transaction/${id}?transactionType=1`);
    expect([body.status, body.accepted]).toEqual([2, undefined]);
    expect(await accept({ transactionId: id, reason })).toMatchObject({
      status: 409,
      body: { reason: "nothing" },
    });
  });
});

describe("a short payment", () => {
  it("is refused without a word of it, and accepted with `short`", async () => {
    const id = await ended(ether / 2n);
    expect(await accept({ transactionId: id, reason })).toMatchObject({
      status: 409,
      body: { code: "not_acceptable", reason: "short", transactionId: id },
    });
    expect(await accept({ transactionId: id, reason, short: false })).toMatchObject({
      status: 409,
    });
    expect(stateOf(id)).toEqual([2, 0]);
    expect(await accept({ transactionId: id, reason, short: true })).toMatchObject({
      status: 200,
      body: { accepted: true, amount: "1", amountReceived: "0.5" },
    });
  });

  it("within the tolerance of its request needs no word of it", async () => {
    const id = await ended(ether - 5n);
    db().run("UPDATE deposits SET toleranceUnits = '5' WHERE id = ?", id);
    expect(await accept({ transactionId: id, reason })).toMatchObject({ status: 200 });
  });
});

describe("no other deposit is accepted", () => {
  it.each([
    ["open", "open", "UPDATE deposits SET status = 0, stage = 'waiting', code = NULL WHERE id = ?"],
    [
      "paid in time",
      "completed",
      "UPDATE deposits SET status = 1, stage = 'completed', code = NULL WHERE id = ?",
    ],
    ["without money", "nothing", "UPDATE deposits SET receivedUnits = '0' WHERE id = ?"],
  ])("one that is %s", async (_name, why, sql) => {
    const id = await ended(ether);
    db().run(sql, id);
    const before = row(id);
    for (const short of [false, true])
      expect(await accept({ transactionId: id, reason, short })).toMatchObject({
        status: 409,
        body: { code: "not_acceptable", reason: why },
      });
    expect([row(id), actsOn(id)]).toEqual([before, []]);
  });

  it("one that was paid back", async () => {
    const id = await ended(ether);
    gateway.fund("eth", 10n * ether);
    expect((await auto({ refundOf: id, amount: "1" })).body).toMatchObject({ status: 0 });
    expect(await accept({ transactionId: id, reason, short: true })).toMatchObject({
      status: 409,
      body: { reason: "nothing" },
    });
  });

  it("one of another merchant, a withdrawal, or an id that nobody made", async () => {
    const id = await ended(ether);
    const other = createMerchant(gateway.operator, {
      name: "Other",
      language: "en",
    });
    const foreign = gateway.key({ merchant: other.merchantId, scopes: ["deposit:accept"] });
    const paid = (await auto()).body.transactionId;
    for (const [order, apiKey] of [
      [{ transactionId: id, reason }, foreign.apiKey],
      [{ transactionId: paid, reason }, key.apiKey],
      [{ transactionId: "0".repeat(32), reason }, key.apiKey],
      [{ transactionId: "x", reason }, key.apiKey],
      [{ transactionId: 7, reason }, key.apiKey],
    ] as const)
      expect(await accept(order, apiKey), JSON.stringify(order)).toMatchObject({
        status: 404,
        body: { code: "transaction_not_found" },
      });
    expect(stateOf(id)).toEqual([2, 0]);
    expect((await accept({ transactionId: id, reason })).status).toBe(200);
  });
});

describe("an order of it", () => {
  it.each([
    [{ reason: "" }, "reason"],
    [{ reason: "   " }, "reason"],
    [{ reason: "two\nlines" }, "reason"],
    [{ reason: "x".repeat(501) }, "reason"],
    [{ reason: 7 }, "reason"],
    [{ reason, short: "true" }, "short"],
    [{ reason, short: 1 }, "short"],
  ])("of the wrong form is refused: %j", async (order, field) => {
    const id = await ended(ether);
    expect(await accept({ transactionId: id, ...order })).toMatchObject({
      status: 400,
      body: { code: "accept_invalid", field },
    });
    expect(stateOf(id)).toEqual([2, 0]);
    expect((await accept({ transactionId: id, reason: "x".repeat(500), short: null })).status).toBe(
      200,
    );
  });

  it("needs the scope, which no shop's key has by itself", async () => {
    const id = await ended(ether);
    const { status, body } = await accept({ transactionId: id, reason }, gateway.merchant.shopKey);
    expect([status, body.code, body.scope]).toEqual([403, "scope_missing", "deposit:accept"]);
    expect(stateOf(id)).toEqual([2, 0]);
  });
});
