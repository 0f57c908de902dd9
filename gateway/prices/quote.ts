/**
 * Converts a fiat amount into a currency, for one deposit request. The result is rounded up, so
 * that a customer never pays less than the order, and has only as many decimals as wallets and
 * exchanges accept. A stale price makes no quote.
 */
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import type { GatewayCurrency } from "../config/config.ts";
import { type FiatSum, fiatDecimal, type Quote } from "../config/fiat.ts";
import type { Prices } from "../service.ts";
import { priceDecimal, priceText } from "./decimal.ts";

export type QuoteResult =
  | { readonly ok: true; readonly amount: string; readonly quote: Quote }
  /** `comes` is true if a source can bring a price; only an operator renews a typed one. */
  | {
      readonly ok: false;
      readonly code: "currency_unpriced" | "price_stale";
      readonly comes: boolean;
    };

/** Decimals that exchanges and wallets accept for a payment. */
const payableDecimal = 8;

const ceiling = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor;

/** Makes a quote. `sum` has a canonical amount above zero. The same price gives the same quote. */
export function quoteAmount(prices: Prices, currency: GatewayCurrency, sum: FiatSum): QuoteResult {
  const found = prices.of(currency, sum.fiatCurrency);
  if (found === null || found.isStale) {
    const comes =
      found === null ? prices.canHave(currency, sum.fiatCurrency) : found.origin === "markets";
    return {
      ok: false,
      code: found !== null || comes ? "price_stale" : "currency_unpriced",
      comes,
    };
  }
  const fiat = parseAmount(sum.fiatAmount, fiatDecimal);
  if (!fiat.ok) throw new TypeError("a sum that was not checked");
  const decimal = Math.min(currency.decimal, payableDecimal);
  const units = ceiling(
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
