/**
 * The fiat value of a record at the moment of its completion, from the prices of that moment. A
 * price that is old or unknown is left out; none is ever guessed, and nothing waits for one. Pure.
 */
import { formatAmount } from "../../protocol/amount.ts";
import type { GatewayCurrency } from "../config/config.ts";
import { fiatDecimal, fiats } from "../config/fiat.ts";
import type { Prices } from "../service.ts";
import type { UnvaluedCompletion } from "../store/transactions.ts";
import { priceDecimal } from "./decimal.ts";

/**
 * The amount that came, or left, in fiat money, as JSON; "" without any fresh price, and for a
 * currency that is no longer configured.
 */
export function fiatValueOf(
  row: Pick<UnvaluedCompletion, "currency" | "movedUnits">,
  {
    currencies,
    prices,
  }: { readonly currencies: Readonly<Record<string, GatewayCurrency>>; readonly prices: Prices },
): string {
  const currency = Object.hasOwn(currencies, row.currency) ? currencies[row.currency] : undefined;
  if (currency === undefined) return "";
  const units = BigInt(row.movedUnits);
  const divisor = 10n ** BigInt(currency.decimal + priceDecimal - fiatDecimal);
  const known = fiats.flatMap((fiat) => {
    const price = prices.of(currency, fiat);
    return price === null || price.isStale ? [] : [{ fiat, price }];
  });
  if (known.length === 0) return "";
  const sums = known.map(({ fiat, price }) => [
    fiat.toLowerCase(),
    formatAmount((units * price.price) / divisor, fiatDecimal),
  ]);
  const pricedAt = new Date(Math.min(...known.map(({ price }) => price.atMs))).toISOString();
  return JSON.stringify({ ...Object.fromEntries(sums), pricedAt });
}
