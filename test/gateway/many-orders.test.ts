/**
 * Many withdrawals in one call: each has its own answer and is safe to repeat, and the rate lets a
 * payout run through.
 */
import { describe, expect, it } from "vitest";
import { createClient } from "../../clients/typescript/client.ts";
import { isOnPostgres, openOtherWriter } from "../../lab/kit/fresh-store.ts";
import { receiver } from "../../lab/kit/gateway-server.ts";
import {
  anotherGateway,
  answering,
  auto,
  countOf,
  eachTestItsGateway,
  gateway,
  online,
  ready,
  row,
} from "../support/shop.ts";
import { until } from "../support/until.ts";

eachTestItsGateway();

const order = (orderId: string, change: object = {}) => ({
  currency: "eth",
  amount: "0.01",
  address: receiver,
  orderId,
  ...change,
});
const many = (orders: unknown) =>
  gateway.call("POST", "/api/v1/autoWithdraws", { orders } as object);

describe("autoWithdraws", () => {
  it("answers each order as autoWithdraw would, and one takes nothing from another", async () => {
    await ready();
    const single = await auto(order("a"));
    const { status, body } = await many([
      order("a"), // a repeat
      order("b"),
      order("b"), // twice in one call
      order("b", { amount: "0.02" }),
      order("c", { amount: "x" }),
      order("d", { amount: "11" }),
      order("e", { more: "1" }),
      7,
    ]);
    expect(status).toBe(200);
    expect(body.answers[0]).toEqual({ orderId: "a", httpStatus: 200, answer: single.body });
    const short = body.answers.map(({ orderId, httpStatus, answer }: never) => [
      orderId,
      httpStatus,
      (answer as { code?: string }).code,
    ]);
    expect(short).toEqual([
      ["a", 200, undefined],
      ["b", 200, undefined],
      ["b", 200, undefined],
      ["b", 409, "order_id_reused"],
      ["c", 400, "amount_format"],
      ["d", 400, "balance_insufficient"],
      ["e", 400, "field_unknown"],
      ["", 400, "json_invalid"],
    ]);
    expect(body.answers[2].answer.transactionId).toBe(body.answers[1].answer.transactionId);
    expect(body.answers[3].answer).toMatchObject({
      transactionId: body.answers[1].answer.transactionId,
      requestId: expect.any(String),
    });
    expect(["deposits", "transfers", "jobs"].map(countOf)).toEqual([0, 2, 2]);
  });

  it("gives the same answers again, and makes nothing new", async () => {
    await ready();
    const orders = Array.from({ length: 100 }, (_, index) => order(`run-${index}`));
    const first = await many(orders);
    const again = await many(orders);
    expect(again.body).toEqual(first.body);
    expect(
      new Set(
        first.body.answers.map(
          (one: { answer: { transactionId: string } }) => one.answer.transactionId,
        ),
      ).size,
    ).toBe(100);
    expect(["deposits", "transfers", "jobs"].map(countOf)).toEqual([0, 100, 100]);
  });

  it("waits for the agent's answer on each, and replies in the language asked for", async () => {
    await ready();
    online();
    answering({ status: 2, stage: "refused", code: "POLICY_DENIED" });
    const { body } = await gateway.call(
      "POST",
      "/api/v1/autoWithdraws",
      { orders: [order("a")] },
      { "Accept-Language": "tr" },
    );
    expect(body.answers[0]).toMatchObject({
      httpStatus: 422,
      answer: {
        code: "withdrawal_failed",
        reason: "POLICY_DENIED",
        message: "Çekim işlemi başarısız oldu.",
      },
    });
    expect(row(body.answers[0].answer.transactionId)?.status).toBe(2);
  });

  it("makes what it can where the database is away for a while, and the same call makes the rest", async () => {
    await ready();
    if (!isOnPostgres) gateway.service.store.database.get("PRAGMA busy_timeout = 0");
    const other = openOtherWriter(gateway.service.config.database);
    let isHeld = false;
    gateway.service.signals.on("job", () => {
      if (countOf("transfers") !== 2) return;
      isHeld = true;
      other.begin();
    });
    const orders = ["a", "b", "c"].map((orderId) => order(orderId));
    const first = await many(orders);
    expect(isHeld).toBe(true);
    expect(first.body.answers.map((one: { httpStatus: number }) => one.httpStatus)).toEqual([
      200, 200, 503,
    ]);
    other.end();
    // A file that was held is looked at again a quarter of a second later.
    await until(() => gateway.service.store.trouble === "");
    const second = await many(orders);
    expect(second.body.answers.map((one: { httpStatus: number }) => one.httpStatus)).toEqual([
      200, 200, 200,
    ]);
    expect(["deposits", "transfers"].map(countOf)).toEqual([0, 3]);
  });

  it("lets a run of 1,000 through in a minute at the default rate, a hundred at a time or alone", async () => {
    await anotherGateway({ limits: { withdrawalWaitMs: 0 } });
    const began = gateway.clock.nowMs;
    const run = async (
      calls: number,
      body: (call: number) => object,
      path: string,
    ): Promise<number> => {
      const from = gateway.clock.nowMs;
      for (let call = 0; call < calls; ) {
        const answer = await gateway.call("POST", `/api/v1/${path}`, body(call));
        if (answer.status === 429)
          gateway.clock.nowMs += Number(answer.headers["retry-after"]) * 1000;
        else call += 1;
      }
      return gateway.clock.nowMs - from;
    };
    // Orders that are refused count as well, and cost the test less time.
    const hundred = {
      orders: Array.from({ length: 100 }, (_, index) => order(`${index}`, { amount: "x" })),
    };
    expect(await run(10, () => hundred, "autoWithdraws")).toBeLessThan(60_000);
    expect(gateway.clock.nowMs - began).toBeGreaterThan(40_000); // all of them counted
    gateway.clock.nowMs += 10_000; // nothing is owed any more
    expect(await run(200, () => order("a", { amount: "x" }), "autoWithdraw")).toBeLessThan(7_000);
  });

  it("tells in its headers what the orders left of the rate", async () => {
    await anotherGateway({ limits: { withdrawalWaitMs: 0 } });
    await ready();
    const { headers } = await many([order("a"), order("b"), order("c")]);
    expect([headers["ratelimit-limit"], headers["ratelimit-remaining"]]).toEqual(["100", "97"]);
  });

  it("is one call of the client's, each order a result of its own", async () => {
    await ready();
    const client = createClient({
      baseUrl: gateway.url,
      key: { apiKey: gateway.merchant.shopKey },
      now: () => gateway.clock.nowMs,
    });
    const done = await client.autoWithdraws([order("a"), order("b", { amount: "11" })]);
    expect(done).toMatchObject({
      ok: true,
      value: [
        { orderId: "a", result: { ok: true, value: { status: 0 } } },
        {
          orderId: "b",
          result: { ok: false, status: 400, code: "balance_insufficient", retry: "later" },
        },
      ],
    });
    expect(await client.autoWithdraws([])).toMatchObject({
      ok: false,
      status: 400,
      code: "orders_count",
    });
  });
});
