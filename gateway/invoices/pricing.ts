/**
 * Brings the amount that a choice of an invoice asks for up to date with each payment that is seen,
 * from the choice's quotes. Runs inside the transaction that judges the choice. Source:
 * docs/api.md, Invoices.
 */
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import { lifetimeAndToleranceLimits } from "../answer/body.ts";
import type { GatewayConfig, GatewayCurrency } from "../config/config.ts";
import { type Fiat, fiatDecimal, type Quote } from "../config/fiat.ts";
import { priceText, readPrice } from "../prices/decimal.ts";
import { findFreshPrice } from "../prices/quote.ts";
import type { Prices } from "../service.ts";
import { listArrivingPayments } from "../store/arriving.ts";
import { listCountedPayments } from "../store/credits.ts";
import { type InvoiceRow, readInvoice } from "../store/invoices.ts";
import {
  type AskedSum,
  forgetLostSights,
  hasUnsightedPayment,
  insertQuote,
  keepFirstSight,
  listFirstSights,
  listQuotes,
  type QuoteRow,
  updateAskedSum,
} from "../store/quotes.ts";
import type { DepositRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { refundedUnits } from "../store/transactions.ts";
import type { ChoicePricing } from "../watcher/chain.ts";
import {
  askedUnitsOf,
  newestQuoteOf,
  type PaymentSight,
  type PriceQuote,
  quoteOfSight,
} from "./worth.ts";

export interface PricingOptions {
  readonly config: Pick<GatewayConfig, "currencies">;
  readonly prices: Prices;
  readonly clock: () => number;
}

/** The currency of a choice, if the configuration still has it. */
const currencyOf = (
  { currencies }: PricingOptions["config"],
  { currency }: Pick<DepositRow, "currency">,
): GatewayCurrency | undefined =>
  Object.hasOwn(currencies, currency) ? currencies[currency] : undefined;

function quoteOf({ number, price, fromAt, untilAt }: QuoteRow): PriceQuote {
  const read = readPrice(price);
  if (read === null) throw new TypeError(`the price of quote ${number} cannot be read`);
  return { number, price: read, fromMs: fromAt, untilMs: untilAt };
}

/** The part of a sum that may be missing, in the units of the fiat currency. */
function toleranceFiatUnits(fiatUnits: bigint, { tolerancePercent }: InvoiceRow): bigint {
  const { percentDecimal } = lifetimeAndToleranceLimits;
  const percent = parseAmount(tolerancePercent, percentDecimal);
  return percent.ok ? (fiatUnits * percent.units) / (100n * 10n ** BigInt(percentDecimal)) : 0n;
}

/** The sum of an invoice in the units of its fiat currency. */
export function fiatUnitsOf({ fiatAmount }: Pick<InvoiceRow, "fiatAmount">): bigint {
  const fiat = parseAmount(fiatAmount, fiatDecimal);
  if (!fiat.ok) throw new TypeError("a sum that was not checked");
  return fiat.units;
}

/** The amount that a choice asks for, by its quotes and its payments so far. */
export function askedSumOf(
  invoice: InvoiceRow,
  currency: GatewayCurrency,
  quotes: readonly QuoteRow[],
  sights: readonly PaymentSight[],
): AskedSum {
  const { decimal } = currency;
  const fiatUnits = fiatUnitsOf(invoice);
  const read = quotes.map(quoteOf);
  const asked = { fiatUnits, decimal, quotes: read, sights };
  const units = askedUnitsOf(asked);
  const { number } = newestQuoteOf(read);
  const newest = quotes.find((one) => one.number === number) as QuoteRow;
  const quote: Quote = {
    fiatCurrency: invoice.fiatCurrency as Fiat,
    fiatAmount: invoice.fiatAmount,
    price: newest.price,
    priceUpdatedAt: new Date(newest.priceAt).toISOString(),
  };
  return {
    amount: formatAmount(units, decimal),
    units: `${units}`,
    toleranceUnits: `${toleranceUnits()}`,
    quote: JSON.stringify(quote),
  };

  function toleranceUnits(): bigint {
    if (invoice.tolerancePercent === "0") return 0n;
    if (invoice.tolerancePercent === "") {
      const parsed = parseAmount(currency.paymentTolerance, decimal);
      return parsed.ok ? parsed.units : 0n;
    }
    const least = fiatUnits - toleranceFiatUnits(fiatUnits, invoice);
    return units - askedUnitsOf({ ...asked, fiatUnits: least });
  }
}

/**
 * The first sights with their units, and the payments that have none of their own, last. `which`:
 * all payments, or the final ones alone.
 */
function sightsOf(
  database: Database,
  row: DepositRow,
  newest: number,
  which: "all" | "final",
): readonly PaymentSight[] {
  const counted = listCountedPayments(database, row).filter(
    ({ final }) => final || which === "all",
  );
  const inBlocks = new Set(counted.map(({ txHash }) => txHash));
  const arriving = listArrivingPayments(database, row.id)
    .filter(({ txHash }) => which === "all" && !inBlocks.has(txHash))
    .map(({ txHash, units }) => ({ txHash, units: BigInt(units) }));
  const unitsBy = new Map<string, bigint>();
  for (const { txHash, units } of [...counted, ...arriving])
    unitsBy.set(txHash, (unitsBy.get(txHash) ?? 0n) + units);
  const seen = listFirstSights(database, row.id).flatMap(({ txHash, quote }) => {
    const units = unitsBy.get(txHash);
    unitsBy.delete(txHash);
    return units === undefined ? [] : [{ units, quote }];
  });
  // Sums of many payments, and what an operator credited, count at the newest quote.
  const others = [...unitsBy.values()].map((units) => ({ units, quote: newest }));
  return withoutRefunds([...seen, ...others], refundedUnits(database, row.id));
}

/** The payments without the units that refunds pay back, which are the earliest ones. */
function withoutRefunds(
  sights: readonly PaymentSight[],
  refundedUnits: bigint,
): readonly PaymentSight[] {
  let leftUnits = refundedUnits;
  return sights.map(({ units, quote }) => {
    const isAllBack = units <= leftUnits;
    const keptUnits = isAllBack ? 0n : units - leftUnits;
    leftUnits = isAllBack ? leftUnits - units : 0n;
    return { units: keptUnits, quote };
  });
}

/**
 * The amount that a choice asks for with these quotes, by its payments so far. One that is not
 * final may vanish, so that only the sum by the final ones says what completes the choice.
 */
export function askedSumNow(
  database: Database,
  invoice: InvoiceRow,
  currency: GatewayCurrency,
  row: DepositRow,
  quotes: readonly QuoteRow[],
  which: "all" | "final" = "all",
): AskedSum {
  const { number } = newestQuoteOf(quotes.map(quoteOf));
  return askedSumOf(invoice, currency, quotes, sightsOf(database, row, number, which));
}

export function createChoicePricing(options: PricingOptions): ChoicePricing {
  const { config, clock } = options;

  /** The quote at which a payment counts; made from the price of now if none was in force. */
  function quoteFor(database: Database, row: DepositRow, atMs: number): number {
    const rows = listQuotes(database, row.id);
    const quotes = rows.map(quoteOf);
    const standing = quoteOfSight(quotes, atMs);
    if (standing !== null) return standing.number;
    const newest = newestQuoteOf(quotes);
    const invoice = readInvoice(database, row.invoice);
    const currency = currencyOf(config, row);
    const price =
      invoice === undefined || currency === undefined
        ? null
        : findFreshPrice(options.prices, currency, invoice.fiatCurrency as Fiat);
    if (price?.ok !== true) return newest.number;
    const number = rows.length + 1;
    insertQuote(database, {
      transactionId: row.id,
      number,
      price: priceText(price.price.price),
      priceAt: price.price.atMs,
      // It is in force for this payment alone.
      fromAt: atMs,
      untilAt: atMs,
    });
    return number;
  }

  function keepSight(database: Database, row: DepositRow, txHash: string, atMs: number): void {
    const { id: transactionId, createdAt } = row;
    if (listFirstSights(database, transactionId).some((one) => one.txHash === txHash)) return;
    // A block's own time may lie before the address was given.
    const at = Math.max(atMs, createdAt);
    const quote = quoteFor(database, row, at);
    keepFirstSight(database, { transactionId, txHash, at, quote });
  }

  return {
    keepSight,
    priceChoice(database, row) {
      forgetLostSights(database, row.id);
      // A payment that one node shows, or that no block takes at its fee, fixes no price.
      for (const { txHash, firstAt, isHeld } of listArrivingPayments(database, row.id))
        if (isHeld === 1) keepSight(database, row, txHash, firstAt);
      if (hasUnsightedPayment(database, row)) return null;
      const currency = currencyOf(config, row);
      const invoice = readInvoice(database, row.invoice);
      // Without its currency a choice cannot be judged as paid, and ends like each other request.
      if (currency === undefined || invoice === undefined) return { row, finalSum: null };
      const quotes = listQuotes(database, row.id);
      const finalSum = askedSumNow(database, invoice, currency, row, quotes, "final");
      const sum = askedSumNow(database, invoice, currency, row, quotes);
      const isSame = (Object.keys(sum) as (keyof AskedSum)[]).every(
        (name) => row[name] === sum[name],
      );
      if (isSame) return { row, finalSum };
      const nowMs = clock();
      updateAskedSum(database, row.id, sum, nowMs);
      return { row: { ...row, ...sum, changedAt: nowMs }, finalSum };
    },
  };
}
