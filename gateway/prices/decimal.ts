/**
 * Prices as integers: 10^-18 of a dollar, euro or lira for one unit of a currency. No floating
 * point. Pure.
 */
import { formatAmount } from "../../protocol/amount.ts";

/** Fraction digits of a price. */
export const priceDecimal = 18;

const grammar = /^([0-9]{1,30})(?:\.([0-9]{1,60}))?(?:[eE]([+-]?[0-9]{1,2}))?$/;
/** No asset costs more than 10^15 of any fiat currency. */
const priceMax = 10n ** 15n * 10n ** BigInt(priceDecimal);

/**
 * Reads `3000.12` or `1.2e-7` as 10^-18 units, without further digits. Null if the text is no price
 * above zero.
 */
export function readPrice(text: string): bigint | null {
  const [, whole, fraction = "", exponent = "0"] = grammar.exec(text) ?? [];
  if (whole === undefined) return null;
  const shift = priceDecimal - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  const price = shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
  return price > 0n && price <= priceMax ? price : null;
}

/** The price's canonical text. */
export function priceText(price: bigint): string {
  return formatAmount(price, priceDecimal);
}

/** Decimals that exchanges and wallets accept for a payment. */
export const payableDecimal = 8;

/** The quotient, rounded up. Both are above zero. */
export const divideUp = (dividend: bigint, divisor: bigint): bigint =>
  (dividend + divisor - 1n) / divisor;
