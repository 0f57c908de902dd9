/**
 * The page of an invoice over HTTP: the currencies that a payer may choose, the rows that each act
 * makes, and those that no look, no preview of the link and no guess at a token makes.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { changeMerchantPage } from "../../gateway/operator/merchant-page.ts";
import { countOf, db, eachTestItsGateway, gateway, read, ready } from "../support/shop.ts";

eachTestItsGateway();
const minuteMs = 60_000;
let token = "";
let invoice = "";

const page = (path: string, method = "GET", headers: Record<string, string> = {}) =>
  gateway.send(`/pay/${path}`, { method, headers });
/** As a browser sends a form without fields. */
const press = (path: string) =>
  page(path, "POST", {
    "Content-Type": "application/x-www-form-urlencoded",
    "Content-Length": "0",
  });
const create = (change: object = {}) =>
  gateway.call("POST", "/api/v1/createInvoice", {
    ...{ orderId: "in-1", fiatCurrency: "TRY", fiatAmount: "1249.90" },
    ...change,
  });
const tokenOf = (url: string): string => url.split("/pay/")[1] ?? "";
const state = async (of: string) => (await page(`${of}/state`)).body.state;
/** The page to which an answer sends the browser. */
const nextOf = (answer: Awaited<ReturnType<typeof press>>): string =>
  `${answer.headers.location}`.replace(/^(?:\.\.\/)+/, "");

beforeEach(async () => {
  await ready();
  changeMerchantPage(gateway.operator, gateway.merchant.merchantId, {
    ...{ shownName: "Kahve", contact: "help@shop.example.com" },
    origins: ["https://shop.example.com"],
  });
  const { body } = await create();
  ({ invoice } = body);
  token = tokenOf(body.paymentUrl);
});

describe("a payer chooses", () => {
  it("among the currencies, each with its network and its amount at the price of now", async () => {
    const { status, text, headers } = await page(token);
    expect(status).toBe(200);
    for (const part of [
      ...["Pay Kahve: TRY\u00a01,249.90", "How do you want to pay?", "119 min left", "in-1"],
      ...["Choose a currency: its price then holds for 20 min.", "29.759524", "0.00991985"],
      ...[
        `action="${token}/choose/usdt?lang=en"`,
        `action="${token}/choose/eth?lang=en"`,
        "help@shop.example.com",
      ],
    ])
      expect(text.replace("120 min left", "119 min left")).toContain(part);
    expect(headers["content-security-policy"]).toContain("form-action 'self'");
    const turkish = (await page(`${token}?lang=tr`)).text;
    expect(turkish).toContain("Nasıl ödemek istersiniz?");
    expect(turkish).toContain("29,759524");
  });

  it("and gets an address and a price by a POST alone, then the same ones again", async () => {
    const methods = ["GET", "HEAD"] as const;
    for (const method of methods)
      for (const path of [token, `${token}/state`]) await page(path, method);
    for (const method of methods)
      expect((await page(`${token}/choose/usdt`, method)).status).toBe(405);
    expect([countOf("deposits"), countOf("quotes")]).toEqual([0, 0]);
    const first = await press(`${token}/choose/usdt`);
    expect([first.status, first.headers["cache-control"]]).toEqual([303, "no-store"]);
    expect(nextOf(await press(`${token}/choose/usdt`))).toBe(nextOf(first));
    expect([countOf("deposits"), countOf("quotes")]).toEqual([1, 1]);
    const { text } = await page(nextOf(first));
    expect(text).toContain("Waiting for your payment");
    expect(text).toContain("20 min left");
    expect(text).toContain(`href="${token}?lang=en">Pay with another currency`);
    expect((await page(token)).text).toContain(`href="${nextOf(first)}?lang=en"`);
  });

  it("and never makes more addresses than the invoice has currencies", async () => {
    const all = ["usdt", "eth", "off", "doge", "__proto__", "usdt"];
    await Promise.all([...all, ...all, ...all].map((id) => press(`${token}/choose/${id}`)));
    expect([countOf("deposits"), countOf("quotes")]).toEqual([2, 2]);
  });

  it("and is told why a currency cannot be taken now", async () => {
    const { service } = gateway;
    Object.assign(service, { outOfService: (id: string) => (id === "eth" ? "silent" : "") });
    expect((await page(token)).text).toContain("out of service");
    Object.assign(service.config.prices.manual, { usdt: undefined });
    const { text } = await page(token);
    expect(text).toContain("no price right now");
    expect(text).not.toContain("<form");
    expect(await state(token)).toBe("noChoice");
    const refused = await press(`${token}/choose/usdt`);
    expect([refused.status, nextOf(refused)]).toEqual([303, `${token}?tried=usdt`]);
    Object.assign(service, { outOfService: () => "" });
    expect((await page(`${token}?tried=usdt`)).text).toContain("USDT could not be taken just now");
    expect((await page(`${token}?tried=<b>`)).text).not.toContain("could not be taken");
    const small = tokenOf((await create({ orderId: "in-2", fiatAmount: "0.5" })).body.paymentUrl);
    expect((await page(small)).text).toContain("at least 0.001 ETH");
  });

  it("a new price once the old one is over, and not before", async () => {
    const choice = nextOf(await press(`${token}/choose/usdt`));
    expect(nextOf(await press(`${choice}/price`))).toBe(choice);
    expect(countOf("quotes")).toBe(1);
    gateway.clock.nowMs += 20 * minuteMs;
    Object.assign(gateway.service.config.prices.manual, {
      usdt: { usd: "1", eur: "1", try: "50", atMs: null },
    });
    expect(await state(choice)).toBe("quoteOver");
    const { text } = await page(choice);
    expect(text).toContain("Continue with 24.998 USDT");
    expect(text).not.toContain('id="address"');
    expect(countOf("quotes")).toBe(1);
    expect(nextOf(await press(`${choice}/price`))).toBe(choice);
    expect(await state(choice)).toBe("waiting");
    expect((await page(choice)).text).toContain('data-value="24.998"');
  });

  it("in the language of the page, which each way keeps", async () => {
    const { text } = await page(`${token}?lang=tr`);
    expect(text).toContain(`action="${token}/choose/usdt?lang=tr"`);
    const chosen = await press(`${token}/choose/usdt?lang=tr`);
    expect(nextOf(chosen)).toMatch(/\?lang=tr$/);
    expect((await page(nextOf(chosen))).text).toContain("Ödemeniz bekleniyor");
  });

  it("and is told on another choice's page that one is being paid", async () => {
    const choice = nextOf(await press(`${token}/choose/usdt`));
    const other = nextOf(await press(`${token}/choose/eth`));
    db().run("UPDATE deposits SET stage = 'confirming' WHERE payToken = ?", choice);
    expect(await state(other)).toBe("paidOtherwise");
    expect((await page(other)).text).toContain("Another currency is being paid");
    const again = await gateway.call("POST", "/api/v1/chooseCurrency", {
      invoice,
      currency: "eth",
    });
    expect([again.status, again.body.reason]).toEqual([409, "paid"]);
  });

  it("so often and no oftener than an address may act", async () => {
    const many = await Promise.all(Array.from({ length: 40 }, () => press(`${token}/choose/usdt`)));
    const statuses = new Set(many.map(({ status }) => status));
    expect([...statuses].sort()).toEqual([303, 429]);
    expect((await page(token)).status).toBe(200);
  });

  it("and a page of the invoice shows the choice to which money came", async () => {
    const choice = nextOf(await press(`${token}/choose/usdt`));
    const other = nextOf(await press(`${token}/choose/eth`));
    const set = (columns: string, of: string) =>
      db().run(`UPDATE deposits SET ${columns} WHERE payToken = ?`, of);
    set("stage = 'partial', receivedUnits = '1000000'", choice);
    expect(await state(token)).toBe("short");
    set("status = 1, stage = 'completed', receivedUnits = '29759524', changedAt = 5", choice);
    expect([await state(token), await state(choice)]).toEqual(["completed", "completed"]);
    expect(await state(other)).toBe("paidOtherwise");
    expect((await page(token)).text).toContain("Paid");
  });
});

describe("an invoice that is over", () => {
  it("says so, and takes no choice", async () => {
    gateway.clock.nowMs += 120 * minuteMs;
    expect(await state(token)).toBe("ending");
    expect((await page(token)).text).not.toContain("<form");
    expect(nextOf(await press(`${token}/choose/usdt`))).toContain("?tried=usdt");
    expect(countOf("deposits")).toBe(0);
    db().run("UPDATE invoices SET status = 2, code = 'invoice_expired' WHERE id = ?", invoice);
    expect(await state(token)).toBe("expired");
  });

  it("by the shop's word says that, on the page of a choice too", async () => {
    const choice = nextOf(await press(`${token}/choose/usdt`));
    await gateway.call("POST", "/api/v1/cancelRequest", { invoice });
    expect([await state(token), await state(choice)]).toEqual(["cancelled", "cancelled"]);
    expect((await page(choice)).text).toContain("Do not send anything to this address.");
  });
});

describe("a token", () => {
  it("that nobody made finds nothing, in each path and method alike", async () => {
    const wrong = [token.slice(1), `${token}a`, "a".repeat(22), "../../health", "%00", invoice];
    for (const one of wrong) {
      const path = encodeURIComponent(one);
      const answers = [
        await page(path),
        await press(`${path}/choose/usdt`),
        await press(`${path}/price`),
      ];
      expect(
        answers.map(({ status }) => status),
        one,
      ).toEqual([404, 404, 404]);
    }
    expect((await press(`${token}/price`)).status).toBe(404);
    expect(countOf("deposits")).toBe(0);
  });

  it("of a choice opens the choice alone, and of a plain request takes no act", async () => {
    const choice = nextOf(await press(`${token}/choose/usdt`));
    expect((await press(`${choice}/choose/eth`)).status).toBe(404);
    const order = { currency: "eth", amount: "1", orderId: "plain" };
    const plain = await gateway.call("POST", "/api/v1/createTransactionRequest", order);
    const plainToken = tokenOf(plain.body.paymentUrl);
    expect((await press(`${plainToken}/price`)).status).toBe(404);
    const { headers } = await page(plainToken);
    expect(headers["content-security-policy"]).toContain("form-action 'none'");
    expect(countOf("deposits")).toBe(2);
    expect((await read(`/invoice/${invoice}`)).body.choices).toHaveLength(1);
  });

  it("with any other body than a form's is refused", async () => {
    const sent = { method: "POST", headers: { "Content-Type": "text/plain" }, body: "x" };
    expect((await gateway.send(`/pay/${token}/choose/usdt`, sent)).status).toBe(415);
    expect(countOf("deposits")).toBe(0);
  });
});
