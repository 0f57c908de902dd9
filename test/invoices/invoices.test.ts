/**
 * Invoices over HTTP, rule by rule (docs/api.md, Invoices), beside the watcher's own judgement of
 * payments: the currency and the price at which money counts, how often an invoice completes, and
 * the events that a shop gets.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { makeEventsOfChanges } from "../../gateway/callbacks/outbox.ts";
import { endInvoices } from "../../gateway/invoices/ends.ts";
import { createChoicePricing } from "../../gateway/invoices/pricing.ts";
import { invoiceBodyOf } from "../../gateway/invoices/view.ts";
import { addCallback } from "../../gateway/operator/callbacks.ts";
import { rightClock } from "../../gateway/own-clock.ts";
import { keepArrivingPayment } from "../../gateway/store/arriving.ts";
import { keepDetectedPayment, keepFinalPayment } from "../../gateway/store/payments.ts";
import { insertAsideRow, rowOfBug } from "../../gateway/store/set-aside.ts";
import { judgeRequests } from "../../gateway/watcher/payments.ts";
import { keepFirstSights } from "../../gateway/watcher/sights.ts";
import { handmadeToken } from "../../lab/kit/gateway-server.ts";
import { countOf, db, deposit, eachTestItsGateway, gateway, read, ready } from "../support/shop.ts";
import { watchedBy } from "../support/watched-by.ts";

eachTestItsGateway();

const network = "eip155:31337";
const minuteMs = 60_000;
const tryOf = { fiatCurrency: "TRY", fiatAmount: "1000" };

const post = (operation: string, order: object, headers: Record<string, string> = {}) =>
  gateway.call("POST", `/api/v1/${operation}`, order, headers);
const create = (change: object = {}) =>
  post("createInvoice", { ...tryOf, orderId: "in-1", ...change });
const choose = (invoice: string, currency = "usdt") =>
  post("chooseCurrency", { invoice, currency });
const shown = async (invoice: string) => (await read(`/invoice/${invoice}`)).body;
const made = async (change: object = {}): Promise<string> => (await create(change)).body.invoice;

/** The typed prices of the currencies in lira. */
function price(currency: "usdt" | "eth", lira: string): void {
  const typed = { usd: "1", eur: "1", try: lira, atMs: gateway.clock.nowMs };
  Object.assign(gateway.service.config.prices.manual, { [currency]: typed });
}

/** The watcher's part: what it finds in blocks, and judges. */
const chainOf = (timeOfBlock: () => number) => {
  const { service } = gateway;
  const currencies = Object.values(service.config.currencies);
  const chain = watchedBy({
    db: { store: service.store } as never,
    ...{ network, currencies, clock: service.clock },
    reader: { timestamp: async () => timeOfBlock() / 1_000 } as never,
  });
  return { ...chain, choices: createChoicePricing(service) };
};
let payments = 0;
interface Paid {
  readonly final?: boolean;
  readonly atMs?: number; // its block's own time
  readonly currency?: string; // another one than was chosen
  readonly hash?: string;
}

/** Pays a choice in a block, and passes once. Answers with the hash. */
async function pay(transactionId: string, units: bigint, how: Paid = {}): Promise<string> {
  payments += 1;
  const { final = true, atMs = gateway.clock.nowMs, hash = `0x${payments}` } = how;
  const row = db().get<{ address: string; currency: string }>(
    "SELECT address, currency FROM deposits WHERE id = ?",
    transactionId,
  );
  const payment = {
    ...{ network, txHash: hash, logIndex: -1, address: row?.address ?? "" },
    ...{ currency: how.currency ?? row?.currency ?? "", units: `${units}`, block: payments },
    ...({ blockHash: `0xb${payments}`, final: final ? 1 : 0, transactionId } as const),
  };
  const chain = chainOf(() => atMs);
  gateway.service.store.write((database) => {
    if (final) keepFinalPayment(database, payment);
    else keepDetectedPayment(database, payment);
    return judgeRequests(chain, database, [transactionId], 0);
  });
  await keepFirstSights(chain, (fn) => void gateway.service.store.write(fn));
  return hash;
}

/** All blocks up to this time are read: a choice whose time is over ends. */
function readTo(atMs: number, ids: readonly string[]): void {
  const chain = chainOf(() => atMs);
  gateway.service.store.write((database) => judgeRequests(chain, database, ids, atMs));
}

const endNow = () =>
  endInvoices({
    store: gateway.service.store,
    clock: gateway.service.clock,
    ownClock: () => rightClock,
  });

beforeEach(ready);

describe("an invoice is made (rule 1)", () => {
  it("with the currencies that the merchant can receive, and without address and price", async () => {
    const { status, body } = await create();
    expect([status, body]).toEqual([
      200,
      {
        ...tryOf,
        invoice: expect.stringMatching(/^[0-9a-f]{32}$/),
        ...{ orderId: "in-1", status: 0, stage: "choosing", currencies: ["eth", "usdt"] },
        createdAt: "2026-01-02T03:04:05.678Z",
        changedAt: "2026-01-02T03:04:05.678Z",
        expiresAt: "2026-01-02T05:04:05.678Z",
        paymentUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:8080\/pay\/[\w-]{22}$/),
        ...{ exceptions: [], choices: [], metadata: {} },
      },
    ]);
    expect([countOf("deposits"), countOf("quotes")]).toEqual([0, 0]);
    expect((await read("/invoices")).body).toEqual({ invoices: [body], next: "" });
  });

  it("with the order's own currencies, each of which the merchant can receive", async () => {
    expect((await create({ currencies: ["usdt"] })).body.currencies).toEqual(["usdt"]);
    for (const currencies of [["off"], ["doge"], [], ["usdt", "usdt"], "usdt", [1]])
      expect((await create({ orderId: "in-2", currencies })).body.code).toBe("currencies_invalid");
  });

  it.each([
    [{ quoteMinutes: 9 }, "quote_minutes_invalid"],
    [{ quoteMinutes: 121 }, "quote_minutes_invalid"],
    [{ quoteMinutes: "20" }, "quote_minutes_invalid"],
    [{ expiresInMinutes: 4 }, "lifetime_invalid"],
    [{ tolerancePercent: "11" }, "tolerance_invalid"],
    [{ fiatCurrency: "GBP" }, "fiat_currency_unknown"],
    [{ fiatAmount: "0" }, "amount_format"],
    [{ orderId: "a b" }, "order_id_invalid"],
    [{ renew: "x" }, "renew_invalid"],
    [{ metadata: { a: 1 } }, "metadata_invalid"],
    [{ returnUrl: "https://elsewhere.example/" }, "return_url_invalid"],
    [{ amount: "1" }, "field_unknown"],
  ])("and is refused with %o: %s", async (change, code) => {
    const { status, body } = await create(change);
    expect([status, body.code, countOf("invoices")]).toEqual([400, code, 0]);
    expect((await create()).status).toBe(200);
  });
});

describe("a currency is chosen (rules 2 and 3)", () => {
  it("at the price of now, with an address of its own", async () => {
    const invoice = await made();
    price("usdt", "40");
    const { status, body } = await choose(invoice);
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({
        ...{ invoice, currency: "usdt", amount: "25", amountReceived: "0", stage: "waiting" },
        quote: { number: 1, price: "40", until: "2026-01-02T03:24:05.678Z" },
        expiresAt: "2026-01-02T05:04:05.678Z",
      }),
    ]);
    expect(await shown(invoice)).toMatchObject({ stage: "waiting", choices: [body] });
  });

  it("until the first price ends, if the invoice ends earlier", async () => {
    const invoice = await made({ expiresInMinutes: 5 });
    gateway.clock.nowMs += 4 * minuteMs;
    const { expiresAt, quote } = (await choose(invoice)).body;
    expect([expiresAt, quote.until]).toEqual([
      "2026-01-02T03:28:05.678Z",
      "2026-01-02T03:28:05.678Z",
    ]);
  });

  it("once: a choice of it again, at the same time too, finds the same address", async () => {
    const invoice = await made();
    const all = await Promise.all(Array.from({ length: 20 }, () => choose(invoice)));
    expect(new Set(all.map(({ body }) => body.address)).size).toBe(1);
    expect((await choose(invoice, "eth")).body.address).not.toBe(all[0]?.body.address);
    expect([countOf("deposits"), countOf("quotes")]).toEqual([2, 2]);
  });

  it("and not for another merchant's invoice, nor an unknown one", async () => {
    const invoice = await made();
    expect((await choose(`${"0".repeat(31)}1`)).body.code).toBe("invoice_not_found");
    expect((await choose("x")).body.code).toBe("invoice_not_found");
    expect((await choose(invoice, "doge")).body.code).toBe("currency_unknown");
    expect((await read(`/invoice/${"0".repeat(32)}`)).status).toBe(404);
  });

  it("and after the end no more", async () => {
    const invoice = await made();
    gateway.clock.nowMs += 120 * minuteMs;
    const { status, body } = await choose(invoice);
    expect([status, body.code, body.reason]).toEqual([409, "invoice_ended", "expired"]);
  });

  it("and no second one while a payment of the whole sum is on its way", async () => {
    const invoice = await made();
    const { transactionId } = (await choose(invoice)).body;
    await pay(transactionId, 23_809_524n, { final: false });
    const { status, body } = await choose(invoice, "eth");
    expect([status, body.code, body.reason]).toEqual([409, "invoice_ended", "paid"]);
    expect(await shown(invoice)).toMatchObject({ status: 0, stage: "confirming" });
  });
});

describe("a new price (rule 4)", () => {
  it("comes after the old one's end, at the same address, and by no GET", async () => {
    const invoice = await made();
    const first = (await choose(invoice)).body;
    price("usdt", "50");
    expect((await choose(invoice)).body).toEqual(first);
    gateway.clock.nowMs += 20 * minuteMs;
    await shown(invoice);
    expect(countOf("quotes")).toBe(1);
    const { body } = await choose(invoice);
    expect(body).toMatchObject({
      ...{ address: first.address, transactionId: first.transactionId, amount: "20" },
      quote: { number: 2, price: "50", until: "2026-01-02T03:44:05.678Z" },
    });
    const record = (await read(`/transaction/${body.transactionId}?transactionType=1`)).body;
    expect(record).toMatchObject({ amount: "20", invoice, quote: { ...tryOf, price: "50" } });
  });

  it("comes not in the last five minutes", async () => {
    const invoice = await made({ expiresInMinutes: 24 });
    const first = (await choose(invoice)).body;
    gateway.clock.nowMs += 20 * minuteMs;
    expect((await choose(invoice)).body).toEqual(first);
    expect(countOf("quotes")).toBe(1);
  });

  it("and none without a fresh price", async () => {
    const invoice = await made({ expiresInMinutes: 5_000 });
    await choose(invoice);
    gateway.clock.nowMs += 25 * 60 * minuteMs;
    expect((await choose(invoice)).body.code).toBe("price_stale");
    expect(countOf("quotes")).toBe(1);
    price("usdt", "42");
    expect((await choose(invoice)).body.quote.number).toBe(2);
  });
});

describe("a payment counts at the price of its first sight (rule 5)", () => {
  const setUp = async (): Promise<{ readonly invoice: string; readonly id: string }> => {
    price("usdt", "40"); // 25 USDT
    const invoice = await made();
    return { invoice, id: (await choose(invoice)).body.transactionId };
  };

  it("in time", async () => {
    const { invoice, id } = await setUp();
    price("usdt", "20");
    await pay(id, 25_000_000n);
    expect(await shown(invoice)).toMatchObject({
      ...{ status: 1, stage: "completed", paidWith: "usdt", transactionId: id, exceptions: [] },
    });
  });

  it("in the ten minutes after its end, at that or at the new one, whichever asks for less", async () => {
    const { invoice, id } = await setUp();
    gateway.clock.nowMs += 20 * minuteMs;
    price("usdt", "30"); // 33.3 USDT
    await choose(invoice);
    gateway.clock.nowMs += 9 * minuteMs;
    await pay(id, 25_000_000n);
    expect((await shown(invoice)).status).toBe(1);
  });

  it("later at the new one, so that a part is missing", async () => {
    const { invoice, id } = await setUp();
    gateway.clock.nowMs += 20 * minuteMs;
    price("usdt", "30");
    await choose(invoice);
    gateway.clock.nowMs += 10 * minuteMs;
    await pay(id, 25_000_000n);
    // 25 USDT are worth 750 lira; the rest is 250 lira at 30.
    expect((await shown(invoice)).choices[0]).toMatchObject({
      ...{ stage: "partial", amount: "33.333334", amountReceived: "25" },
    });
    await pay(id, 8_333_334n);
    expect((await shown(invoice)).status).toBe(1);
  });

  it("without any price then, at the price of the sight", async () => {
    const { invoice, id } = await setUp();
    gateway.clock.nowMs += 31 * minuteMs;
    price("usdt", "80");
    await pay(id, 12_500_000n);
    expect(await shown(invoice)).toMatchObject({ status: 1, stage: "completed" });
    expect(countOf("quotes")).toBe(2);
  });

  it("without a fresh price, at the last one", async () => {
    price("usdt", "40");
    const invoice = await made({ expiresInMinutes: 5_000 });
    const id = (await choose(invoice)).body.transactionId;
    gateway.clock.nowMs += 25 * 60 * minuteMs;
    await pay(id, 12_500_000n);
    expect((await shown(invoice)).choices[0]).toMatchObject({ stage: "partial", amount: "25" });
    await pay(id, 12_500_000n);
    expect((await shown(invoice)).status).toBe(1);
    expect(countOf("quotes")).toBe(1);
  });

  it("at its block's own time where this gateway was away", async () => {
    const { invoice, id } = await setUp();
    const atMs = gateway.clock.nowMs;
    gateway.clock.nowMs += 60 * minuteMs;
    price("usdt", "20");
    await pay(id, 25_000_000n, { atMs });
    expect((await shown(invoice)).status).toBe(1);
  });

  it("at its first sight although its block comes much later", async () => {
    const { invoice, id } = await setUp();
    const hash = await pay(id, 25_000_000n, { final: false });
    gateway.clock.nowMs += 60 * minuteMs;
    price("usdt", "20");
    await pay(id, 25_000_000n, { hash });
    expect((await shown(invoice)).status).toBe(1);
  });

  it("and dust keeps no price alive", async () => {
    const { invoice, id } = await setUp();
    await pay(id, 1n);
    gateway.clock.nowMs += 31 * minuteMs;
    price("usdt", "20");
    await pay(id, 25_000_000n);
    expect((await shown(invoice)).status).toBe(0);
    expect((await choose(invoice)).body).toMatchObject({ amount: "49.999999", stage: "partial" });
  });

  it("and the tolerance is a part of the sum of money", async () => {
    price("usdt", "40");
    const invoice = await made({ tolerancePercent: "1" });
    const id = (await choose(invoice)).body.transactionId;
    await pay(id, 24_749_999n);
    expect((await shown(invoice)).status).toBe(0);
    await pay(id, 1n);
    expect((await shown(invoice)).status).toBe(1);
  });
});

describe("a payment that can still vanish, or was paid back, fixes no price", () => {
  const begin = async (): Promise<{ readonly invoice: string; readonly id: string }> => {
    price("usdt", "40"); // 25 USDT
    const invoice = await made();
    return { invoice, id: (await choose(invoice)).body.transactionId };
  };
  const newPrice = async (invoice: string, lira: string) => {
    gateway.clock.nowMs += 31 * minuteMs;
    price("usdt", lira);
    return (await choose(invoice)).body;
  };
  const arrive = (id: string, txHash: string, isHeld: 0 | 1) => {
    const at = gateway.clock.nowMs;
    const chain = chainOf(() => at);
    gateway.service.store.write((database) => {
      const row = { transactionId: id, txHash, units: "25000000", firstAt: at, seenAt: at };
      keepArrivingPayment(database, { ...row, isReplaceable: 1, isHeld });
      return judgeRequests(chain, database, [id], 0);
    });
  };

  it("one that no block takes at its fee counts at the price of its block", async () => {
    const { invoice, id } = await begin();
    arrive(id, "0xlow", 0);
    await newPrice(invoice, "20");
    await pay(id, 25_000_000n, { hash: "0xlow" });
    expect((await shown(invoice)).choices[0]).toMatchObject({ stage: "partial", amount: "37.5" });
  });

  it("one that holds the request open counts at its first sight", async () => {
    const { invoice, id } = await begin();
    arrive(id, "0xheld", 1);
    gateway.clock.nowMs += 31 * minuteMs;
    price("usdt", "20");
    await pay(id, 25_000_000n, { hash: "0xheld" });
    expect((await shown(invoice)).status).toBe(1);
  });

  it("one that vanished leaves the price of another payment alone", async () => {
    const { invoice, id } = await begin();
    await pay(id, 25_000_000n, { final: false, hash: "0xgone" });
    await newPrice(invoice, "20");
    await pay(id, 25_000_000n);
    expect(await shown(invoice)).toMatchObject({ status: 0 });
  });

  it("money that was paid back is worth nothing at any price", async () => {
    const { invoice, id } = await begin();
    await pay(id, 20_000_000n);
    const refund = { currency: "usdt", amount: "20", orderId: "back", refundOf: id };
    const address = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
    expect((await post("autoWithdraw", { ...refund, address })).status).toBe(200);
    await newPrice(invoice, "20");
    await pay(id, 30_000_000n);
    expect((await shown(invoice)).status).toBe(0);
    await pay(id, 20_000_000n);
    expect((await shown(invoice)).status).toBe(1);
  });

  it("dust makes no price for the payments after it", async () => {
    const { invoice, id } = await begin();
    gateway.clock.nowMs += 31 * minuteMs;
    price("usdt", "80");
    await pay(id, 1n);
    gateway.clock.nowMs += 5 * minuteMs;
    price("usdt", "20");
    await pay(id, 12_500_000n);
    expect((await shown(invoice)).choices[0]).toMatchObject({ status: 0, stage: "partial" });
    // Nor does it end the price that the payer is given.
    const { quote } = (await choose(invoice)).body;
    await pay(id, 1n, { atMs: gateway.clock.nowMs - 10 * minuteMs });
    expect((await shown(invoice)).choices[0].quote).toEqual(quote);
  });

  it("a choice without its price names its row, and once it is set aside holds no other up", async () => {
    const { id: bad } = await begin();
    const invoice = await made({ orderId: "in-2" });
    const good = (await choose(invoice)).body.transactionId;
    db().run("DELETE FROM quotes WHERE transactionId = ?", bad);
    const about = { kind: "judgement", id: bad, about: bad } as const;
    const error: unknown = await pay(bad, 1n).catch((cause: unknown) => cause);
    expect(rowOfBug(error)).toEqual(about);
    gateway.service.store.write((database) => insertAsideRow(database, about, error, 0));
    await pay(good, 25_000_000n);
    expect((await shown(invoice)).status).toBe(1);
  });

  it("a currency that left the configuration ends its choice, and completes none", async () => {
    const { invoice, id } = await begin();
    const { usdt, ...rest } = gateway.service.config.currencies;
    Object.assign(gateway.service.config, { currencies: rest });
    await pay(id, 25_000_000n);
    expect((await shown(invoice)).status).toBe(0);
    gateway.clock.nowMs += 121 * minuteMs;
    readTo(gateway.clock.nowMs, [id]);
    expect(endNow()).toBe(1);
    expect(await shown(invoice)).toMatchObject({ status: 2, exceptions: ["short"] });
    Object.assign(gateway.service.config, { currencies: { ...rest, usdt } });
  });
});

describe("the first choice that is paid completes the invoice (rules 6 and 7)", () => {
  const both = async () => {
    price("usdt", "40");
    price("eth", "100000");
    const invoice = await made();
    const usdt = (await choose(invoice, "usdt")).body.transactionId as string;
    const eth = (await choose(invoice, "eth")).body.transactionId as string;
    return { invoice, usdt, eth };
  };
  const ether = 10n ** 16n; // 1000 lira

  it("and ends the others, whose money is a surplus", async () => {
    const { invoice, usdt, eth } = await both();
    await pay(eth, ether / 2n);
    await pay(usdt, 25_000_000n);
    const body = await shown(invoice);
    expect(body).toMatchObject({ status: 1, paidWith: "usdt", exceptions: ["surplus"] });
    expect(body.choices).toMatchObject([
      { status: 1, stage: "completed", code: "" },
      { status: 2, stage: "expired", code: "invoice_paid", amountReceived: "0.005" },
    ]);
    await pay(eth, ether);
    expect((await shown(invoice)).choices[1]).toMatchObject({
      ...{ status: 2, code: "invoice_paid", amountReceived: "0.015" },
    });
    const key = gateway.key({ scopes: ["deposit:accept"] });
    const token = handmadeToken(key.apiKey, gateway.clock.nowMs);
    const accepted = await post(
      "acceptDeposit",
      { transactionId: eth, reason: "why", short: true },
      { signatureToken: token },
    );
    expect([accepted.status, accepted.body.reason]).toEqual([409, "invoice_paid"]);
  });

  it("once, although both are paid before either is judged", async () => {
    const { invoice, usdt, eth } = await both();
    const chain = chainOf(() => gateway.clock.nowMs);
    const rows = [usdt, eth].map((id, at) => ({
      ...{ network, txHash: `0xf${at}`, logIndex: -1, address: `${at}`, block: 1 },
      ...{ currency: at === 0 ? "usdt" : "eth", units: `${at === 0 ? 25_000_000n : ether}` },
      ...({ blockHash: "0xb", final: 1, transactionId: id } as const),
    }));
    gateway.service.store.write((database) => {
      for (const one of rows) keepFinalPayment(database, one);
    });
    await keepFirstSights(chain, (fn) => void gateway.service.store.write(fn));
    const { status, choices } = await shown(invoice);
    const ends = choices.map((one: { status: number; code: string }) => [one.status, one.code]);
    expect([status, ends.sort()]).toEqual([
      1,
      [
        [1, ""],
        [2, "invoice_paid"],
      ],
    ]);
  });

  it("and sums of two currencies never add up", async () => {
    const { invoice, usdt, eth } = await both();
    await pay(eth, ether / 2n);
    await pay(usdt, 12_500_000n);
    expect(await shown(invoice)).toMatchObject({ status: 0, stage: "partial" });
    gateway.clock.nowMs += 121 * minuteMs;
    readTo(gateway.clock.nowMs, [usdt, eth]);
    expect(endNow()).toBe(1);
    expect(await shown(invoice)).toMatchObject({
      ...{ status: 2, stage: "expired", exceptions: ["short"] },
    });
  });
});

describe("an invoice ends (rules 8 and 9)", () => {
  it("when choosing is over and no choice is open", async () => {
    const invoice = await made();
    const id = (await choose(invoice)).body.transactionId;
    gateway.clock.nowMs += 120 * minuteMs - 1;
    expect(endNow()).toBe(0);
    gateway.clock.nowMs += 1;
    expect(endNow()).toBe(0);
    expect((await shown(invoice)).status).toBe(0);
    readTo(gateway.clock.nowMs, [id]);
    expect([endNow(), endNow()]).toEqual([1, 0]);
    expect(await shown(invoice)).toMatchObject({ status: 2, stage: "expired", exceptions: [] });
  });

  it("and completes all the same when the shop accepts what came late", async () => {
    price("usdt", "40");
    const invoice = await made();
    const id = (await choose(invoice)).body.transactionId;
    gateway.clock.nowMs += 120 * minuteMs;
    readTo(gateway.clock.nowMs, [id]);
    endNow();
    await pay(id, 25_000_000n);
    expect(await shown(invoice)).toMatchObject({ status: 2, exceptions: ["late"] });
    const key = gateway.key({ scopes: ["deposit:accept"] });
    const signatureToken = handmadeToken(key.apiKey, gateway.clock.nowMs);
    await post("acceptDeposit", { transactionId: id, reason: "why" }, { signatureToken });
    expect(await shown(invoice)).toMatchObject({ status: 1, transactionId: id, exceptions: [] });
  });

  it("by the shop's word while nothing was paid", async () => {
    const invoice = await made();
    const id = (await choose(invoice)).body.transactionId;
    const cancelled = await post("cancelRequest", { invoice });
    const acts = "SELECT act FROM audit WHERE subject = ? AND actor LIKE 'k_%'";
    expect(db().all(acts, invoice)).toEqual([{ act: "request cancelled" }]);
    expect([cancelled.status, cancelled.body]).toEqual([200, { invoice, cancelled: true }]);
    expect((await post("cancelRequest", { invoice })).body).toEqual(cancelled.body);
    expect(await shown(invoice)).toMatchObject({
      ...{ status: 2, stage: "cancelled" },
      choices: [{ status: 2, stage: "cancelled", code: "deposit_cancelled" }],
    });
    expect((await choose(invoice, "eth")).body.reason).toBe("cancelled");
    await pay(id, 25_000_000n);
    expect(await shown(invoice)).toMatchObject({ status: 2, exceptions: ["late"] });
  });

  it("and not by it as soon as money was seen", async () => {
    const invoice = await made();
    await pay((await choose(invoice)).body.transactionId, 1n, { final: false });
    const { status, body } = await post("cancelRequest", { invoice });
    expect([status, body.code, body.reason]).toEqual([409, "not_cancellable", "paid"]);
    expect((await shown(invoice)).status).toBe(0);
  });

  it("as a plain request does", async () => {
    const { transactionId } = (await deposit()).body;
    expect((await post("cancelRequest", { transactionId })).body).toEqual({
      ...{ transactionId, cancelled: true },
    });
    const record = (await read(`/transaction/${transactionId}?transactionType=1`)).body;
    expect(record).toMatchObject({ status: 2, stage: "cancelled", code: "deposit_cancelled" });
    expect((await post("cancelRequest", { transactionId: "0".repeat(32) })).status).toBe(404);
    expect((await post("cancelRequest", {})).body.code).toBe("field_missing");
    const invoice = await made();
    expect((await post("cancelRequest", { transactionId, invoice })).body.code).toBe(
      "field_unknown",
    );
    const { transactionId: choice } = (await choose(invoice)).body;
    expect((await post("cancelRequest", { transactionId: choice })).body.reason).toBe("invoice");
  });

  it("and is renewed by a second one only without money", async () => {
    const invoice = await made();
    expect((await create({ renew: invoice })).body.reason).toBe("open");
    const id = (await choose(invoice)).body.transactionId;
    await post("cancelRequest", { invoice });
    const next = (await create({ renew: invoice })).body;
    expect(next).toMatchObject({ renews: invoice, status: 0, choices: [] });
    expect((await create({ renew: invoice })).body).toEqual(next);
    expect((await choose(next.invoice)).body.transactionId).not.toBe(id);
    await post("cancelRequest", { invoice: next.invoice });
    await pay(id, 1n);
    expect((await create({ renew: next.invoice })).status).toBe(200);
    const other = await made({ orderId: "in-2" });
    const paid = (await choose(other)).body.transactionId;
    await post("cancelRequest", { invoice: other });
    await pay(paid, 1n);
    expect((await create({ orderId: "in-2", renew: other })).body.reason).toBe("paid");
  });
});

describe("an order's invoice (rule 10)", () => {
  it("is the same at any price, and another with other content", async () => {
    const first = (await create({ metadata: { a: "1" } })).body;
    price("usdt", "1");
    expect((await create()).body).toEqual(first);
    for (const change of [
      ...[{ fiatAmount: "1001" }, { fiatCurrency: "USD" }, { currencies: ["usdt"] }],
      ...[{ quoteMinutes: 30 }, { expiresInMinutes: 60 }, { tolerancePercent: "1" }],
    ]) {
      const { status, body } = await create(change);
      expect([status, body.code, body.invoice]).toEqual([409, "order_id_reused", first.invoice]);
    }
  });

  it("is never a deposit's as well", async () => {
    const { transactionId } = (await deposit({ orderId: "in-1" })).body;
    const refused = await create();
    expect([refused.status, refused.body.transactionId]).toEqual([409, transactionId]);
    await create({ orderId: "in-2" });
    expect((await deposit({ orderId: "in-2" })).body.code).toBe("order_id_reused");
    await made({ orderId: "in-3" });
    expect((await deposit({ orderId: "in-4" })).status).toBe(200);
  });
});

describe("a shop is told", () => {
  const tell = () =>
    gateway.service.store.write((database) =>
      makeEventsOfChanges(database, {
        ...gateway.service,
        recordOf: ({ id }) => ({ id }),
        invoiceOf: (row) => invoiceBodyOf(gateway.service, row),
      }),
    );
  const told = (target: string) =>
    db()
      .all<{ type: string }>(
        "SELECT e.type FROM callbackDeliveries d JOIN callbackEvents e ON e.id = d.event WHERE d.target = ? ORDER BY e.number",
        target,
      )
      .map(({ type }) => type);
  const target = (events: readonly string[]): string => {
    const { merchantId: merchant } = gateway.merchant;
    const { config } = gateway.service;
    const url = `https://shop.example/${events.length}`;
    const added = addCallback(
      gateway.operator,
      { merchant, url, events: events as never },
      config.callbacks,
    );
    if (!added.ok) throw new Error(added.code);
    return added.callbackId;
  };

  it("of each end once, and of a choice's own events where it names them (rules 11 and 13)", async () => {
    const all = target([]);
    const named = target(["deposit.completed", "deposit.expired", "deposit.late"]);
    price("usdt", "40");
    const invoice = await made();
    const usdt = (await choose(invoice)).body.transactionId;
    const eth = (await choose(invoice, "eth")).body.transactionId;
    await pay(usdt, 25_000_000n);
    await pay(eth, 1_000n);
    expect(tell().aside).toEqual([]);
    expect(told(all)).toEqual([
      ...["invoice.chosen", "invoice.chosen", "invoice.completed", "invoice.exception"],
    ]);
    expect(told(named)).toEqual(["deposit.completed", "deposit.expired", "deposit.late"]);
    const [{ body = "{}" } = {}] = db().all<{ body: string }>(
      "SELECT body FROM callbackEvents WHERE type = 'invoice.completed'",
    );
    expect(JSON.parse(body)).toMatchObject({
      type: "invoice.completed",
      data: { invoice, status: 1, transactionId: usdt },
    });
  });

  it("of a cancel and of an end", async () => {
    const all = target([]);
    const invoice = await made();
    await post("cancelRequest", { invoice });
    await made({ orderId: "in-2" });
    gateway.clock.nowMs += 120 * minuteMs;
    endNow();
    tell();
    expect(told(all)).toEqual(["invoice.cancelled", "invoice.expired"]);
  });
});
