/**
 * Deposits asked for in dollars, euros and liras: the quote, its rounding, its life; refusals;
 * payment links as EIP-681 spells them. And that nothing else of the gateway looks at a price.
 */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { paymentUri } from "../../chains/evm/family.ts";
import { createClient } from "../../clients/typescript/client.ts";
import type { GatewayCurrency } from "../../gateway/config/config.ts";
import { readPrice } from "../../gateway/prices/decimal.ts";
import { createPriceBoard } from "../../gateway/prices/price-cache.ts";
import { quoteAmount } from "../../gateway/prices/quote.ts";
import type { Prices } from "../../gateway/service.ts";
import { receiver, usdtContract } from "../../lab/kit/gateway-server.ts";
import { parseAmount } from "../../protocol/amount.ts";
import {
  anotherGateway,
  auto,
  countOf,
  db,
  deposit,
  eachTestItsGateway,
  gateway,
  manual,
  many,
  read,
  ready,
} from "../support/shop.ts";

eachTestItsGateway();

const inFiat = (change: object = {}) =>
  gateway.call("POST", "/api/v1/createTransactionRequest", {
    ...{ currency: "usdt", fiatCurrency: "TRY", fiatAmount: "1000", orderId: "order-1" },
    ...change,
  });

describe("a deposit in fiat money", () => {
  it("is a quote that holds for the request's life, whatever the price does", async () => {
    await ready();
    const first = await inFiat({ fiatAmount: "1000.00" });
    expect([first.status, first.body]).toEqual([
      200,
      expect.objectContaining({
        ...{ currency: "usdt", amount: "23.809524", status: 0, stage: "waiting" },
        paymentUri: `ethereum:${usdtContract}@31337/transfer?address=${first.body.address}&uint256=23809524`,
        quote: {
          fiatCurrency: "TRY",
          fiatAmount: "1000",
          price: "42",
          priceUpdatedAt: "2026-01-02T03:04:05.678Z",
        },
      }),
    ]);
    Object.assign(gateway.service.config.prices.manual, {
      usdt: { usd: "1", eur: "1", try: "84", atMs: null },
    });
    expect((await inFiat()).body).toEqual(first.body);
    const record = (await read(`/transaction/${first.body.transactionId}?transactionType=1`)).body;
    expect(record).toMatchObject({
      amount: "23.809524",
      quote: first.body.quote,
      paymentUri: first.body.paymentUri,
    });
    expect((await read("/transactions")).body[0]).toEqual(record);
    expect((await inFiat({ orderId: "order-2" })).body).toMatchObject({
      amount: "11.904762",
      quote: { price: "84" },
    });
    for (const other of [{ fiatAmount: "1000.01" }, { fiatCurrency: "USD" }, { currency: "eth" }])
      expect((await inFiat(other)).body.code, JSON.stringify(other)).toBe("order_id_reused");
    expect((await deposit({ currency: "usdt", amount: "23.809524" })).body.code).toBe(
      "order_id_reused",
    );
  });

  it("has an amount that a customer can send: eight decimals at most, rounded up", async () => {
    await ready();
    const { amount } = (await inFiat({ currency: "eth", fiatCurrency: "EUR", fiatAmount: "100" }))
      .body;
    expect(amount).toBe("0.03570791");
  });

  it("is refused while the price is stale, and not once it is fresh again", async () => {
    await ready();
    const first = await inFiat();
    gateway.clock.nowMs += 25 * 3_600_000;
    const stale = await inFiat({ orderId: "order-2" });
    // Only an operator renews a typed price, so no time to wait is named.
    expect([stale.status, stale.body.code, stale.headers["retry-after"]]).toEqual([
      503,
      "price_stale",
      undefined,
    ]);
    expect((await inFiat()).body.transactionId).toBe(first.body.transactionId);
    expect((await deposit({ currency: "usdt", amount: "5", orderId: "order-2" })).status).toBe(200);
    gateway.clock.nowMs -= 25 * 3_600_000;
    expect((await inFiat({ orderId: "order-3" })).status).toBe(200);
  });

  it("is refused permanently if no price can come, and for now if one can", async () => {
    for (const [sources, status, code, later] of [
      [{}, 400, "currency_unpriced", undefined],
      [{ btcturk: {} }, 400, "currency_unpriced", undefined],
      [{ btcturk: {}, paribu: {} }, 503, "price_stale", "60"],
    ] as const) {
      await anotherGateway({ ...many, prices: { sources } });
      await ready();
      const answer = await inFiat();
      expect([answer.status, answer.body.code, answer.headers["retry-after"]]).toEqual([
        status,
        code,
        later,
      ]);
      expect(["deposits", "transfers"].map(countOf)).toEqual([0, 0]);
    }
  });

  it("names the field that is wrong, and makes nothing", async () => {
    await ready();
    for (const [change, code, field] of [
      [{ amount: "1" }, "amount_twice", "amount"],
      [{ fiatAmount: undefined }, "field_missing", "fiatAmount"],
      [{ fiatCurrency: undefined }, "field_missing", "fiatCurrency"],
      [{ fiatCurrency: "try" }, "fiat_currency_unknown", "fiatCurrency"],
      [{ fiatCurrency: "GBP" }, "fiat_currency_unknown", "fiatCurrency"],
      [{ fiatCurrency: 1 }, "fiat_currency_unknown", "fiatCurrency"],
      [{ fiatAmount: "0" }, "amount_format", "fiatAmount"],
      [{ fiatAmount: "1e3" }, "amount_format", "fiatAmount"],
      [{ fiatAmount: 10 }, "amount_format", "fiatAmount"],
      [{ fiatAmount: "10.001" }, "amount_precision", "fiatAmount"],
      [{ fiatAmount: "209.99" }, "amount_below_minimum", "amount"],
      [{ fiatAmount: "9".repeat(75) }, "amount_format", "amount"],
      [{ currency: "nope" }, "currency_unknown", "currency"],
      [{ currency: "off" }, "currency_disabled", "currency"],
      [{ address: receiver }, "field_unknown", "address"],
    ] as const) {
      const answer = await inFiat(change);
      expect([answer.status, answer.body.code, answer.body.field], JSON.stringify(change)).toEqual([
        400,
        code,
        field,
      ]);
    }
    expect(
      (await gateway.call("POST", "/api/v1/createTransactionRequest", '{"fiatAmount": 1.5}')).body,
    ).toMatchObject({
      ...{ code: "amount_format", field: "fiatAmount" },
    });
    expect(["deposits", "transfers"].map(countOf)).toEqual([0, 0]);
    expect((await inFiat({ fiatAmount: "210" })).status).toBe(200);
    expect((await auto({ fiatCurrency: "TRY", fiatAmount: "1" })).body.code).toBe("field_unknown");
  });

  it("is typed in the client", async () => {
    await ready();
    const key = { apiKey: gateway.merchant.shopKey };
    const client = createClient({ baseUrl: gateway.url, key, now: () => gateway.clock.nowMs });
    const asked = await client.createTransactionRequest({
      ...{ currency: "usdt", fiatCurrency: "USD", fiatAmount: "9.99", orderId: "order-1" },
    });
    expect(asked).toMatchObject({
      ok: true,
      value: { amount: "9.99", quote: { fiatCurrency: "USD", price: "1" } },
    });
    gateway.clock.nowMs += 25 * 3_600_000;
    const late = await client.createTransactionRequest({
      ...{ currency: "usdt", fiatCurrency: "USD", fiatAmount: "9.99", orderId: "order-2" },
    });
    expect(late).toMatchObject({ ok: false, code: "price_stale", retry: "later" });
  });
});

describe("a quote", () => {
  it("is worth what was asked for and less than one smallest step more, at any price and any decimals", () => {
    const bigints = {
      price: fc.bigInt(1n, 10n ** 26n),
      cents: fc.bigInt(1n, 10n ** 15n),
      decimal: fc.integer({ min: 0, max: 36 }),
    };
    void fc.assert(
      fc.property(fc.record(bigints), ({ price, cents, decimal }) => {
        const prices: Prices = {
          of: () => ({ price, atMs: 0, isStale: false, origin: "markets" }),
          canHave: () => true,
        };
        const fiatAmount = `${cents / 100n}.${(cents % 100n).toString().padStart(2, "0")}`;
        const made = quoteAmount(prices, { decimal } as GatewayCurrency, {
          fiatCurrency: "USD",
          fiatAmount,
        });
        const steps = Math.min(decimal, 8);
        const units = made.ok ? parseAmount(made.amount, steps) : null;
        if (units?.ok !== true) throw new Error("no quote");
        const worth = units.units * price * 100n;
        const asked = cents * 10n ** BigInt(steps) * 10n ** 18n;
        expect(worth >= asked && worth - price * 100n < asked).toBe(true);
      }),
    );
  });
});

describe("a payment link", () => {
  it("is the one of EIP-681, for the native coin and for a token, in whole base units", async () => {
    await ready();
    const native = (await deposit({ amount: "2.014" })).body;
    expect(native.paymentUri).toBe(`ethereum:${native.address}@31337?value=2014000000000000000`);
    expect((await deposit({ amount: "2.014" })).body.paymentUri).toBe(native.paymentUri);
    // The standard's own example, with its chain written out.
    const contract = "0x89205A3A3b2A69De6Dbf7f01ED13B2108B2c43e7";
    const to = "0x8e23Ee67d1332aD560396262C48ffbB01f93d052";
    expect(paymentUri({ network: "eip155:1", contract, receiver: to, units: 1n })).toBe(
      `ethereum:${contract}@1/transfer?address=${to}&uint256=1`,
    );
    expect(() =>
      paymentUri({ network: "tron:1", contract: "", receiver: to, units: 1n }),
    ).toThrow();
    expect(paymentUri({ network: "eip155:1", contract: "", receiver: to, units: 0n })).toBe(
      `ethereum:${to}@1`,
    );
    expect(paymentUri({ network: "eip155:1", contract, receiver: to, units: 0n })).toBe(
      `ethereum:${contract}@1/transfer?address=${to}`,
    );
  });

  it("stands on every deposit, and is empty for a currency that is no longer there", async () => {
    await ready();
    const { transactionId, paymentUri: link } = (await deposit()).body;
    expect((await read("/transactions?transactionType=1")).body[0].paymentUri).toBe(link);
    db().run("UPDATE deposits SET currency = 'gone' WHERE id = ?", transactionId);
    expect((await read("/transactions?transactionType=1")).body[0].paymentUri).toBe("");
    await auto();
    expect((await read("/transactions?transactionType=2")).body[0]).not.toHaveProperty(
      "paymentUri",
    );
  });
});

describe("the path of money", () => {
  it("never looks at a price", async () => {
    await ready();
    const away = (): never => {
      throw new Error("a price was looked at");
    };
    Object.assign(gateway.service, { prices: { of: away, canHave: away } });
    expect((await deposit()).status).toBe(200);
    expect((await auto({ orderId: "out-1" })).status).toBe(200);
    expect((await manual({ orderId: "out-2" })).status).toBe(200);
    expect((await read("/balance/eth")).status).toBe(200);
    expect((await read("/transactions")).body).toHaveLength(3);
    expect((await inFiat()).status).toBe(409);
    expect((await inFiat({ orderId: "in-2" })).status).toBe(500);
  });
});

describe("the board", () => {
  const currency = (id: string) => ({ id, market: "ETH" }) as GatewayCurrency;
  const board = (prices: object, clock: () => number) =>
    createPriceBoard({ prices: { ...gateway.service.config.prices, ...prices } }, clock);

  it("the price cache puts a typed price before the markets', and forgets no last good one", () => {
    let nowMs = gateway.clock.nowMs;
    const one = board(
      { manual: { typed: { usd: "5", eur: "5", try: "5", atMs: null } } },
      () => nowMs,
    );
    one.publish({ asset: "ETH", fiat: "USD", price: readPrice("3000") as bigint, atMs: nowMs });
    expect(one.of(currency("typed"), "USD")).toMatchObject({
      price: readPrice("5"),
      origin: "typed",
    });
    expect(one.of(currency("asked"), "USD")).toMatchObject({
      price: readPrice("3000"),
      isStale: false,
    });
    expect(one.of(currency("asked"), "EUR")).toBeNull();
    nowMs += 5 * 60_000 + 1;
    expect(one.of(currency("asked"), "USD")).toMatchObject({
      price: readPrice("3000"),
      isStale: true,
    });
  });
});
