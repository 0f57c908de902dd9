/**
 * A payer, or the shop for a payer, chooses the currency of an invoice: an address of its own, and
 * a price that holds for some time. A second choice of the same currency finds the first, so that
 * an invoice uses one address for each of its currencies at most. After the price's end the same
 * call gives the price of now at the same address. Source: docs/api.md, Invoices.
 */
import { createHash } from "node:crypto";
import { domainHash } from "../../protocol/identity.ts";
import { type Answer, dataAnswer, isAnswer, problemAnswer } from "../answer/answer.ts";
import type { GatewayCurrency } from "../config/config.ts";
import type { Fiat } from "../config/fiat.ts";
import { answerWithoutPrice } from "../deposits/deposits.ts";
import { makeAtFreshAddress, type PlannedRecord } from "../deposits/fresh-address.ts";
import { newPayToken } from "../deposits/pay-page.ts";
import { priceText } from "../prices/decimal.ts";
import { findFreshPrice } from "../prices/quote.ts";
import type { FiatPrice, Service } from "../service.ts";
import { isHeldOpen } from "../store/arriving.ts";
import {
  choiceOf,
  endNameOf,
  type InvoiceRow,
  listChoices,
  listCurrenciesOf,
  readInvoice,
  readInvoiceOf,
} from "../store/invoices.ts";
import { readMerchant } from "../store/merchants.ts";
import { insertQuote, listQuotes, type QuoteRow } from "../store/quotes.ts";
import type { DepositRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { insertDeposit } from "../store/transactions.ts";
import { checkAmount, checkCurrency } from "../withdrawals/checks.ts";
import { askedSumNow, askedSumOf, createChoicePricing } from "./pricing.ts";
import { choiceBodyOf } from "./view.ts";

export interface ChoiceRequest {
  readonly merchant: string;
  readonly invoice: string; // its id
  readonly currency: string;
  readonly write: <T>(fn: (database: Database) => T) => Promise<T>; // resolves when it is durable
}

const minuteMs = 60_000;
/** A request that ends so soon gets no new price. */
const newPriceMsMin = 5 * minuteMs;
/** Most prices of a choice: its lifetime of a week, asked for again after each quote. */
const quotesMax = 1_100;

const choiceIdOf = ({ id }: InvoiceRow, currency: string): string =>
  domainHash("choice", Buffer.from(JSON.stringify([id, currency]))).slice(0, 32);

const contentHashOf = ({ contentHash }: InvoiceRow, currency: string): string =>
  createHash("sha256")
    .update(JSON.stringify([contentHash, currency]))
    .digest("hex");

/**
 * The open choice of an invoice to which its whole amount is on its way. Nobody must pay a second
 * time meanwhile.
 */
export function payingChoiceOf(database: Database, invoice: string): DepositRow | undefined {
  return listChoices(database, invoice).find(
    (one) => one.status === 0 && (one.stage === "confirming" || isHeldOpen(database, one.id)),
  );
}

/** The reason why an invoice takes no choice now, beside `known`; "" for none. */
function reasonAgainstChoice(
  database: Database,
  invoice: InvoiceRow,
  nowMs: number,
  known: DepositRow | undefined,
): string {
  const { id, status, expiresAt } = invoice;
  if (status !== 0) return endNameOf(invoice);
  // A choice that was made can be paid until its own end.
  if (nowMs >= expiresAt && known === undefined) return "expired";
  const paying = payingChoiceOf(database, id);
  return paying === undefined || paying.id === known?.id ? "" : "paid";
}

/** The price of now, or the answer that there is none. */
function priceFor(
  service: Service,
  currency: GatewayCurrency,
  invoice: InvoiceRow,
): FiatPrice | Answer {
  const fresh = findFreshPrice(service.prices, currency, invoice.fiatCurrency as Fiat);
  return fresh.ok ? fresh.price : answerWithoutPrice(fresh, "currency");
}

function quoteAt(
  { price, atMs }: FiatPrice,
  { quoteMinutes }: InvoiceRow,
  place: Pick<QuoteRow, "transactionId" | "number"> & { readonly nowMs: number },
): QuoteRow {
  const { transactionId, number, nowMs } = place;
  const untilAt = nowMs + quoteMinutes * minuteMs;
  return { transactionId, number, price: priceText(price), priceAt: atMs, fromAt: nowMs, untilAt };
}

/** The choice as a transaction finds it, or is about to make it. */
function planChoice(
  service: Service,
  { merchant, invoice: id, currency: name }: ChoiceRequest,
  database: Database,
): PlannedRecord | DepositRow | Answer {
  const nowMs = service.clock();
  const invoice = readInvoiceOf(database, { id, merchant });
  if (invoice === undefined) return problemAnswer("invoice_not_found");
  // A payer has no key that would end with the merchant.
  const { disabledAt = 0 } = readMerchant(database, merchant) ?? {};
  if (disabledAt !== null) return problemAnswer("merchant_disabled");
  const known = choiceOf(database, id, name);
  const reason = reasonAgainstChoice(database, invoice, nowMs, known);
  // The choice that paid is answered again, as each order is.
  if (known !== undefined && known.id === invoice.completedBy) return known;
  if (reason !== "") return problemAnswer("invoice_ended", { invoice: id, reason });
  if (known !== undefined) return renewPrice(service, database, invoice, known);
  if (!listCurrenciesOf(invoice).includes(name))
    return problemAnswer("currency_unknown", { field: "currency" });
  const currency = checkCurrency(service.config, name);
  if (isAnswer(currency)) return currency;
  const price = priceFor(service, currency, invoice);
  if (isAnswer(price)) return price;
  const transactionId = choiceIdOf(invoice, name);
  const quote = quoteAt(price, invoice, { transactionId, number: 1, nowMs });
  const sum = askedSumOf(invoice, currency, [quote], []);
  const amount = checkAmount(
    service.config,
    { currency: name, amount: sum.amount ?? "" },
    "minPaymentAmount",
  );
  if ("kind" in amount) return amount;
  return {
    id: transactionId,
    currency,
    insert: (place) => {
      insertDeposit(database, {
        ...place,
        ...sum,
        id: transactionId,
        merchant,
        invoice: id,
        orderId: invoice.orderId,
        contentHash: contentHashOf(invoice, name),
        currency: name,
        network: currency.network,
        stage: "waiting",
        metadata: invoice.metadata,
        createdAt: nowMs,
        changedAt: nowMs,
        expiresAt: Math.max(invoice.expiresAt, quote.untilAt),
        payToken: newPayToken(service),
        returnUrl: invoice.returnUrl,
        renews: "",
      });
      insertQuote(database, quote);
    },
  };
}

/** True if a payer has not paid all of an open choice, and has time for it. */
const takesNewPrice = ({ status, stage, expiresAt }: DepositRow, nowMs: number): boolean =>
  status === 0 && ["waiting", "partial"].includes(stage) && expiresAt - nowMs >= newPriceMsMin;

/**
 * The quote that a choice would get now; null while its price holds, and for a choice that takes no
 * new one.
 */
function nextQuoteOf(
  service: Service,
  invoice: InvoiceRow,
  row: DepositRow,
  quotes: readonly QuoteRow[],
): QuoteRow | Answer | null {
  const nowMs = service.clock();
  const isInForce = quotes.some(({ untilAt }) => nowMs < untilAt);
  if (isInForce || !takesNewPrice(row, nowMs)) return null;
  if (quotes.length >= quotesMax) return null;
  const currency = checkCurrency(service.config, row.currency);
  if (isAnswer(currency)) return currency;
  const price = priceFor(service, currency, invoice);
  if (isAnswer(price)) return price;
  const place = { transactionId: row.id, number: quotes.length + 1, nowMs };
  return quoteAt(price, invoice, place);
}

/** The units that a choice would ask for at the price of now; null if it takes no new price. */
export function unitsAtNewPrice(service: Service, row: DepositRow): bigint | null {
  const { database } = service.store;
  const invoice = readInvoice(database, row.invoice);
  const currency = checkCurrency(service.config, row.currency);
  if (invoice === undefined || isAnswer(currency)) return null;
  const quotes = listQuotes(database, row.id);
  const next = nextQuoteOf(service, invoice, row, quotes);
  if (next === null || isAnswer(next)) return null;
  return BigInt(askedSumNow(database, invoice, currency, row, [...quotes, next]).units ?? 0);
}

/** The amount of a currency that an invoice is worth now, and the reason why it is not offered. */
export interface CurrencyOffer {
  readonly amount: string; // "" without a price
  readonly reason: "" | "outOfService" | "noPrice" | "belowMinimum";
}

export function offerOf(
  service: Service,
  invoice: InvoiceRow,
  currency: GatewayCurrency,
): CurrencyOffer {
  const fiat = invoice.fiatCurrency as Fiat;
  const price = currency.enabled ? findFreshPrice(service.prices, currency, fiat) : null;
  if (price?.ok !== true)
    return { amount: "", reason: currency.enabled ? "noPrice" : "outOfService" };
  const place = { transactionId: "", number: 1, nowMs: service.clock() };
  const { amount } = askedSumOf(invoice, currency, [quoteAt(price.price, invoice, place)], []);
  const least = checkAmount(
    service.config,
    { currency: currency.id, amount: amount ?? "" },
    "minPaymentAmount",
  );
  const { network, id } = currency;
  const isOut =
    service.outOfService(id) !== "" ||
    service.unreadSince({ network, currency: id, address: "" }) !== null;
  if (isOut) return { amount: "", reason: "outOfService" };
  return { amount: amount ?? "", reason: "kind" in least ? "belowMinimum" : "" };
}

/** A choice whose price is over gets the price of now; any other one stays as it is. */
function renewPrice(
  service: Service,
  database: Database,
  invoice: InvoiceRow,
  row: DepositRow,
): DepositRow | Answer {
  const next = nextQuoteOf(service, invoice, row, listQuotes(database, row.id));
  if (next === null) return row;
  if (isAnswer(next)) return next;
  insertQuote(database, next);
  return createChoicePricing(service).priceChoice(database, row)?.row ?? row;
}

/**
 * Makes the choice, or finds it. Answers 404 for an unknown invoice, 409 `invoice_ended`, 400 or
 * 503 if the currency cannot be taken now. Harmless to call twice.
 */
export async function chooseCurrency(
  service: Service,
  request: ChoiceRequest,
): Promise<DepositRow | Answer> {
  const { merchant, write } = request;
  const made = await makeAtFreshAddress(service, {
    merchant,
    write,
    plan: (database) => planChoice(service, request, database),
  });
  return isAnswer(made) ? made : made.row;
}

/** Chooses like `chooseCurrency`, and answers an operation with the choice. */
export async function requestChoice(service: Service, request: ChoiceRequest): Promise<Answer> {
  const row = await chooseCurrency(service, request);
  return isAnswer(row) ? row : dataAnswer(choiceBodyOf(service, row));
}
