/**
 * What a sum of dollars, euros or liras is in a currency, for one deposit request. Rounded up, so
 * that a payer never pays less than was asked, and to no more decimals than wallets and exchanges
 * let him send. A stale price makes no quote.
 */
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import type { GatewayCurrency } from "../config.ts";
import { type FiatSum, fiatDecimal, type Quote } from "../fiat.ts";
import type { Prices } from "../service.ts";
import { priceDecimal, priceText } from "./decimal.ts";

/** @public */
export type Quoted =
  | { readonly ok: true; readonly amount: string; readonly quote: Quote }
  | { readonly ok: false; readonly code: "currency_unpriced" | "price_stale" };

/** Fraction digits that exchanges let people withdraw, and wallets let them type. */
const payableDecimal = 8;

const ceiling = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor;

/**
 * `sum` holds a canonical amount above zero. The same price gives the same quote.
 * @public
 */
export function quote(prices: Prices, currency: GatewayCurrency, sum: FiatSum): Quoted {
  const found = prices.of(currency, sum.fiatCurrency);
  if (found === null || found.isStale) {
    const isPassing = found !== null || prices.canHave(currency, sum.fiatCurrency);
    return { ok: false, code: isPassing ? "price_stale" : "currency_unpriced" };
  }
  const fiat = parseAmount(sum.fiatAmount, fiatDecimal);
  if (!fiat.ok) throw new TypeError("a sum that was not checked");
  const decimal = Math.min(currency.decimal, payableDecimal);
  const units = ceiling(fiat.units * 10n ** BigInt(priceDecimal - fiatDecimal + decimal), found.price);
  return {
    ok: true,
    amount: formatAmount(units, decimal),
    quote: { ...sum, price: priceText(found.price), priceUpdatedAt: new Date(found.atMs).toISOString() },
  };
}
