/**
 * GET /supportedCurrency: the enabled currencies that have prices in dollars, euros and liras. A
 * currency that lacks a price is listed if the operator wants it, with "" in place of the price. No
 * price is ever invented. Nothing here decides about money.
 */
import { type Answer, dataAnswer } from "../answer/answer.ts";
import type { GatewayConfig, GatewayCurrency } from "../config/config.ts";
import { fiats } from "../config/fiat.ts";
import type { FiatPrice, Prices } from "../service.ts";
import { priceText } from "./decimal.ts";

const textOf = (price: FiatPrice | null | undefined): string =>
  price ? priceText(price.price) : "";

function row(currency: GatewayCurrency, prices: Prices): object | null {
  const found = fiats.map((fiat) => prices.of(currency, fiat));
  const known = found.flatMap((price) => price ?? []);
  const isWhole = known.length === fiats.length;
  if (!isWhole && !currency.listUnpriced) return null;
  const [usd, eur, lira] = found;
  return {
    id: currency.id,
    name: currency.name,
    symbol: currency.symbol,
    decimal: currency.decimal,
    usdPrice: textOf(usd),
    eurPrice: textOf(eur),
    tryPrice: textOf(lira),
    minPaymentAmount: currency.minPaymentAmount,
    minWithdrawAmount: currency.minWithdrawAmount,
    network: currency.network,
    contract: currency.contract,
    requiresTag: false,
    enabled: currency.enabled,
    depositOnly: currency.depositOnly,
    priceUpdatedAt:
      known.length === 0 ? "" : new Date(Math.min(...known.map(({ atMs }) => atMs))).toISOString(),
    priceStale: !isWhole || known.some(({ isStale }) => isStale),
  };
}

export function answerCurrencyList(
  { currencies }: Pick<GatewayConfig, "currencies">,
  prices: Prices,
): Answer {
  return dataAnswer(
    Object.values(currencies)
      .filter(({ enabled }) => enabled)
      .flatMap((currency) => row(currency, prices) ?? []),
  );
}
