/**
 * Every operation by the client of @hey-api/openapi-ts, as a shop would write the calls. The
 * compiler judges this file by the generated types.
 */
import { createTokenMaker } from "../../../clients/typescript/signature-token.ts";
import * as service from "../../generated/hey-api";
import { createClient } from "../../generated/hey-api/client";
import type { Called, Orders } from "./called.ts";

export async function callAll(baseUrl: string, apiKey: string, orders: Orders): Promise<Called> {
  const makeToken = createTokenMaker({ apiKey });
  const client = createClient({ baseUrl, auth: () => makeToken() });
  const { currency, address, orderId } = orders;
  const deposit = await service.createTransactionRequest({
    ...{ client, body: { currency, amount: "0.5", orderId: orderId("in"), metadata: { a: "1" } } },
  });
  const money = await service.createTransactionRequest({
    ...{
      client,
      body: { currency, fiatCurrency: "TRY", fiatAmount: "1000", orderId: orderId("in") },
    },
  });
  const order = { currency, amount: "0.01", address };
  const out = await service.autoWithdraw({ client, body: { ...order, orderId: orderId("out") } });
  const many = await service.autoWithdraws({
    client,
    body: { orders: [{ ...order, orderId: orderId("out") }] },
  });
  const held = await service.manualWithdraw({
    client,
    body: { currency, amount: "0.01", orderId: orderId("out") },
  });
  const transactionId = out.data?.transactionId ?? "";
  const accepted = await service.acceptDeposit({
    client,
    body: { transactionId: orders.late, reason: "in time" },
  });
  const sum = { fiatCurrency: "TRY", fiatAmount: "1000" } as const;
  const invoice = await service.createInvoice({
    client,
    body: { ...sum, orderId: orderId("in") },
  });
  const { invoice: id = "" } = invoice.data ?? {};
  const chosen = await service.chooseCurrency({ client, body: { invoice: id, currency } });
  const shown = await service.invoice({ client, path: { invoice: id } });
  const shownAll = await service.invoices({ client, query: { limit: 1 } });
  const unwanted = await service.cancelRequest({ client, body: { invoice: id } });
  const cancel = await service.cancelWithdraw({
    client,
    body: { transactionId: held.data?.transactionId ?? "" },
  });
  const record = await service.transaction({
    client,
    path: { transactionId },
    query: { transactionType: 2 },
  });
  const list = await service.transactions({ client, query: { limit: 2, status: 0 } });
  const currencies = await service.supportedCurrency({ client });
  const balance = await service.balance({ client, path: { currencyId: currency } });
  const balances = await service.balances({ client });
  const report = await service.report({ client, query: { month: orders.month } });
  const estimate = await service.estimate({ client, path: { currencyId: currency } });
  const check = await service.address({ client, path: { currencyId: currency, address } });
  const events = await service.events({ client, query: { limit: 2 } });
  const target = await service.createCallback({
    client,
    body: { url: "https://shop.example.com/hook", events: ["deposit.completed"] },
  });
  const callbackId = target.data?.callbackId ?? "";
  const paused = await service.pauseCallback({ client, body: { callbackId } });
  const resumed = await service.resumeCallback({ client, body: { callbackId } });
  const tested = await service.testCallback({ client, body: { callbackId } });
  const redelivered = await service.redeliverCallback({
    client,
    body: { callbackId, since: "2026-01-02" },
  });
  const removed = await service.removeCallback({ client, body: { callbackId } });
  const targets = await service.callbacks({ client });
  const health = await service.health({ client });
  const ready = await service.ready({ client });
  const refused = await service.autoWithdraw({
    client,
    body: { ...order, amount: "1e3", orderId: orderId("out") },
  });
  return {
    status: {
      ...{ createTransactionRequest: deposit.response?.status, autoWithdraw: out.response?.status },
      ...{ autoWithdraws: many.response?.status, manualWithdraw: held.response?.status },
      ...{ cancelWithdraw: cancel.response?.status },
      ...{ acceptDeposit: accepted.response?.status, createInvoice: invoice.response?.status },
      ...{ chooseCurrency: chosen.response?.status, invoice: shown.response?.status },
      ...{ invoices: shownAll.response?.status, cancelRequest: unwanted.response?.status },
      ...{ transaction: record.response?.status, transactions: list.response?.status },
      ...{ supportedCurrency: currencies.response?.status, balance: balance.response?.status },
      ...{ report: report.response?.status },
      ...{ balances: balances.response?.status, estimate: estimate.response?.status },
      ...{ address: check.response?.status, events: events.response?.status },
      ...{
        createCallback: target.response?.status,
        pauseCallback: paused.response?.status,
        resumeCallback: resumed.response?.status,
      },
      ...{
        testCallback: tested.response?.status,
        redeliverCallback: redelivered.response?.status,
        removeCallback: removed.response?.status,
      },
      ...{ callbacks: targets.response?.status },
      ...{ health: health.response?.status, ready: ready.response?.status },
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

// @ts-expect-error neither an amount nor a sum of money
export const neither: service.DepositOrder = { currency: "eth", orderId: "a" };
export const unknown: service.DepositOrder = {
  currency: "eth",
  amount: "1",
  orderId: "a",
  // @ts-expect-error a field that no order has
  speed: "fast",
};
export const numeric: service.WithdrawalOrder = {
  currency: "eth",
  // @ts-expect-error an amount that is a number
  amount: 1,
  orderId: "a",
  address: "0x",
};
