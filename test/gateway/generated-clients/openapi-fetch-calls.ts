/**
 * Every operation by the client of openapi-typescript and openapi-fetch, as a shop would write the
 * calls. The compiler judges this file by the generated types.
 */
import createClient from "openapi-fetch";
import { createTokenMaker } from "../../../clients/typescript/signature-token.ts";
import type { paths } from "../../generated/openapi-fetch.d.ts";
import type { Called, Orders } from "./called.ts";

export async function callAll(baseUrl: string, apiKey: string, orders: Orders): Promise<Called> {
  const makeToken = createTokenMaker({ apiKey });
  const client = createClient<paths>({ baseUrl });
  client.use({
    async onRequest({ request }) {
      const body = request.method === "POST" ? await request.clone().text() : "";
      const { pathname, search } = new URL(request.url);
      request.headers.set(
        "signatureToken",
        makeToken({ bound: { method: request.method, path: `${pathname}${search}`, body } }),
      );
    },
  });
  const { currency, address, orderId } = orders;
  const deposit = await client.POST("/api/v1/createTransactionRequest", {
    body: { currency, amount: "0.5", orderId: orderId("in"), metadata: { a: "1" } },
  });
  const money = await client.POST("/api/v1/createTransactionRequest", {
    body: { currency, fiatCurrency: "TRY", fiatAmount: "1000", orderId: orderId("in") },
  });
  const order = { currency, amount: "0.01", address };
  const out = await client.POST("/api/v1/autoWithdraw", {
    body: { ...order, orderId: orderId("out") },
  });
  const many = await client.POST("/api/v1/autoWithdraws", {
    body: { orders: [{ ...order, orderId: orderId("out") }] },
  });
  const held = await client.POST("/api/v1/manualWithdraw", {
    body: { currency, amount: "0.01", orderId: orderId("out") },
  });
  const transactionId = out.data?.transactionId ?? "";
  const accepted = await client.POST("/api/v1/acceptDeposit", {
    body: { transactionId: orders.late, reason: "in time" },
  });
  const sum = { fiatCurrency: "TRY", fiatAmount: "1000" } as const;
  const invoice = await client.POST("/api/v1/createInvoice", {
    body: { ...sum, orderId: orderId("in") },
  });
  const { invoice: id = "" } = invoice.data ?? {};
  const chosen = await client.POST("/api/v1/chooseCurrency", { body: { invoice: id, currency } });
  const shown = await client.GET("/api/v1/invoice/{invoice}", {
    params: { path: { invoice: id } },
  });
  const shownAll = await client.GET("/api/v1/invoices", { params: { query: { limit: 1 } } });
  const unwanted = await client.POST("/api/v1/cancelRequest", { body: { invoice: id } });
  const cancel = await client.POST("/api/v1/cancelWithdraw", {
    body: { transactionId: held.data?.transactionId ?? "" },
  });
  const record = await client.GET("/api/v1/transaction/{transactionId}", {
    params: { path: { transactionId }, query: { transactionType: 2 } },
  });
  const list = await client.GET("/api/v1/transactions", {
    params: { query: { limit: 2, status: 0 } },
  });
  const currencies = await client.GET("/api/v1/supportedCurrency");
  const balance = await client.GET("/api/v1/balance/{currencyId}", {
    params: { path: { currencyId: currency } },
  });
  const balances = await client.GET("/api/v1/balances");
  const report = await client.GET("/api/v1/report", {
    params: { query: { month: orders.month } },
  });
  const estimate = await client.GET("/api/v1/estimate/{currencyId}", {
    params: { path: { currencyId: currency } },
  });
  const check = await client.GET("/api/v1/address/{currencyId}/{address}", {
    params: { path: { currencyId: currency, address } },
  });
  const events = await client.GET("/api/v1/events", { params: { query: { limit: 2 } } });
  const target = await client.POST("/api/v1/createCallback", {
    body: { url: "https://shop.example.com/hook", events: ["deposit.completed"] },
  });
  const callbackId = target.data?.callbackId ?? "";
  const paused = await client.POST("/api/v1/pauseCallback", { body: { callbackId } });
  const resumed = await client.POST("/api/v1/resumeCallback", { body: { callbackId } });
  const tested = await client.POST("/api/v1/testCallback", { body: { callbackId } });
  const redelivered = await client.POST("/api/v1/redeliverCallback", {
    body: { callbackId, since: "2026-01-02" },
  });
  const removed = await client.POST("/api/v1/removeCallback", { body: { callbackId } });
  const targets = await client.GET("/api/v1/callbacks");
  const health = await client.GET("/health");
  const ready = await client.GET("/ready");
  const refused = await client.POST("/api/v1/autoWithdraw", {
    body: { ...order, amount: "1e3", orderId: orderId("out") },
  });
  return {
    status: {
      ...{ createTransactionRequest: deposit.response.status, autoWithdraw: out.response.status },
      ...{ autoWithdraws: many.response.status, manualWithdraw: held.response.status },
      ...{ cancelWithdraw: cancel.response.status },
      ...{ acceptDeposit: accepted.response.status, createInvoice: invoice.response.status },
      ...{ chooseCurrency: chosen.response.status, invoice: shown.response.status },
      ...{ invoices: shownAll.response.status, cancelRequest: unwanted.response.status },
      ...{ transaction: record.response.status, transactions: list.response.status },
      ...{ supportedCurrency: currencies.response.status, balance: balance.response.status },
      ...{ report: report.response.status },
      ...{ balances: balances.response.status, estimate: estimate.response.status },
      ...{ address: check.response.status, events: events.response.status },
      ...{
        createCallback: target.response.status,
        pauseCallback: paused.response.status,
        resumeCallback: resumed.response.status,
      },
      ...{
        testCallback: tested.response.status,
        redeliverCallback: redelivered.response.status,
        removeCallback: removed.response.status,
      },
      ...{ callbacks: targets.response.status },
      ...{ health: health.response.status, ready: ready.response.status },
    },
    read: {
      ...{
        money: money.data?.quote?.fiatAmount,
        many: many.data?.answers[0]?.httpStatus,
        held: held.data?.stage,
      },
      ...{
        record: record.data?.metadata,
        list: list.data?.length,
        balance: balance.data?.feeAsset,
      },
      ...{
        currencies: currencies.data?.map(({ id }) => id),
        refused: [refused.error?.code, refused.error?.field],
      },
    },
  };
}

type Body = NonNullable<
  paths["/api/v1/createTransactionRequest"]["post"]["requestBody"]
>["content"]["application/json"];

export const both: Body = {
  currency: "eth",
  amount: "1",
  // @ts-expect-error an amount and a sum of money at once
  fiatCurrency: "TRY",
  fiatAmount: "1",
  orderId: "a",
};
// @ts-expect-error neither of them
export const neither: Body = { currency: "eth", orderId: "a" };
// @ts-expect-error a field that no order has
export const unknown: Body = { currency: "eth", amount: "1", orderId: "a", speed: "fast" };
