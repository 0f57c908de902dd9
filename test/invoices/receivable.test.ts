/** An invoice offers only what its merchant can receive, and a sight is kept once. */
import { describe, expect, it } from "vitest";
import { keepFirstSight, listFirstSights } from "../../gateway/store/quotes.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";
import {
  anotherGateway,
  countOf,
  db,
  eachTestItsGateway,
  gateway,
  ready,
} from "../support/shop.ts";

eachTestItsGateway();

const create = (change: object = {}) =>
  gateway.call("POST", "/api/v1/createInvoice", {
    ...{ orderId: "in-1", fiatCurrency: "TRY", fiatAmount: "1000" },
    ...change,
  });
const later = {
  ...{ chain: "local", decimal: 6, contract: "0x90F79bf6EB2c4f870365E785982E1f101E93b906" },
  ...{ name: "Later", symbol: "LTR", minPaymentAmount: "1" },
};

describe("an invoice", () => {
  it("offers only what the merchant can receive", async () => {
    // Its agent was paired before the currency came, and does not pay it out.
    const { currencies } = testConfig;
    await anotherGateway({ currencies: { ...currencies, later } });
    await ready();
    expect((await create()).body.currencies).toEqual(["eth", "usdt"]);
    const named = { orderId: "in-2", currencies: ["later"] };
    expect((await create(named)).body.code).toBe("currencies_invalid");
    Object.assign(gateway.service.config.currencies.later ?? {}, { depositOnly: true });
    expect((await create(named)).body.currencies).toEqual(["later"]);
  });

  it("of a merchant without any wallet is refused", async () => {
    expect((await create()).body.code).toBe("deposits_not_ready");
    expect(countOf("invoices")).toBe(0);
  });

  it("of a merchant that is switched off takes no choice of a payer", async () => {
    await ready();
    const { paymentUrl } = (await create()).body;
    const path = `/pay/${paymentUrl.split("/pay/")[1]}/choose/eth`;
    const press = () => gateway.send(path, { method: "POST" });
    db().run("UPDATE merchants SET disabledAt = 1");
    expect((await press()).headers.location).toContain("?tried=eth");
    expect(countOf("deposits")).toBe(0);
    db().run("UPDATE merchants SET disabledAt = NULL");
    await press();
    expect(countOf("deposits")).toBe(1);
  });
});

it("the first sight of a transaction stays", async () => {
  await ready();
  const { invoice } = (await create()).body;
  const chosen = await gateway.call("POST", "/api/v1/chooseCurrency", { invoice, currency: "eth" });
  const sight = { transactionId: chosen.body.transactionId, txHash: "0x1", at: 5, quote: 1 };
  const { store } = gateway.service;
  store.write((database) => {
    keepFirstSight(database, sight);
    keepFirstSight(database, { ...sight, at: 6, quote: 2 });
  });
  expect(listFirstSights(store.database, sight.transactionId)).toEqual([sight]);
});
