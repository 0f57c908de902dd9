/**
 * Converts a fiat amount into a currency, for one deposit request. The result is rounded up, so
 * that a customer never pays less than the order, and has only as many decimals as wallets and
 * exchanges accept. A stale price makes no quote.
 */
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import type { GatewayCurrency } from "../config/config.ts";
import { type Fiat, type FiatSum, fiatDecimal, type Quote } from "../config/fiat.ts";
import type { FiatPrice, Prices } from "../service.ts";
import { divideUp, payableDecimal, priceDecimal, priceText } from "./decimal.ts";

export type QuoteResult =
  | { readonly ok: true; readonly amount: string; readonly quote: Quote }
  /** `comes` is true if a source can bring a price; only an operator renews a typed one. */
  | {
      readonly ok: false;
      readonly code: "currency_unpriced" | "price_stale";
      readonly comes: boolean;
    };

/** Without a fresh price: whether a source can bring one, and the code that says so. */
export type MissingPrice = Extract<QuoteResult, { readonly ok: false }>;

/** The present price of a currency in a fiat currency, if it is fresh. */
export function findFreshPrice(
  prices: Prices,
  currency: GatewayCurrency,
  fiat: Fiat,
): { readonly ok: true; readonly price: FiatPrice } | MissingPrice {
  const found = prices.of(currency, fiat);
  if (found !== null && !found.isStale) return { ok: true, price: found };
  const comes = found === null ? prices.canHave(currency, fiat) : found.origin === "markets";
  const code = found !== null || comes ? "price_stale" : "currency_unpriced";
  return { ok: false, code, comes };
}

/** Makes a quote. `sum` has a canonical amount above zero. The same price gives the same quote. */
export function quoteAmount(prices: Prices, currency: GatewayCurrency, sum: FiatSum): QuoteResult {
  const fresh = findFreshPrice(prices, currency, sum.fiatCurrency);
  if (!fresh.ok) return fresh;
  const { price: found } = fresh;
  const fiat = parseAmount(sum.fiatAmount, fiatDecimal);
  if (!fiat.ok) throw new TypeError("a sum that was not checked");
  const decimal = Math.min(currency.decimal, payableDecimal);
  const units = divideUp(
    fiat.units * 10n ** BigInt(priceDecimal - fiatDecimal + decimal),
    found.price,
  );
  return {
    ok: true,
    amount: formatAmount(units, decimal),
    quote: {
      ...sum,
      price: priceText(found.price),
      priceUpdatedAt: new Date(found.atMs).toISOString(),
    },
  };
}
