/**
 * GET /supportedCurrency: the configuration's currencies with their prices. Prices are for people: nothing here decides about money.
 * A currency without any price is listed with empty prices marked stale; none is ever invented.
 */
import { type Answer, data } from "../api/answer.ts";
import type { GatewayConfig } from "../config.ts";

/** @public */
export function listCurrencies(config: GatewayConfig): Answer {
  const updatedAt = new Date(config.prices.changedAtMs).toISOString();
  const list = Object.values(config.currencies).map((currency) => {
    const price = Object.hasOwn(config.prices.manual, currency.id) ? config.prices.manual[currency.id] : undefined;
    return {
      id: currency.id,
      name: currency.name,
      symbol: currency.symbol,
      decimal: currency.decimal,
      usdPrice: price?.usd ?? "",
      eurPrice: price?.eur ?? "",
      tryPrice: price?.try ?? "",
      minPaymentAmount: currency.minPaymentAmount,
      minWithdrawAmount: currency.minWithdrawAmount,
      network: currency.network,
      contract: currency.contract,
      requiresTag: false,
      enabled: currency.enabled,
      priceUpdatedAt: price === undefined ? "" : updatedAt,
      priceStale: price === undefined,
    };
  });
  return data(list);
}
