/** Amounts of the plans, which are all below one. Touches nothing. */
const decimals = { eth: 18, trx: 6, xrp: 6, btc: 8, ltc: 8, usdt: 6 } as const;

export type CurrencyId = keyof typeof decimals;

/** Base units of an amount with one digit after the point. */
export function unitsOf(amount: string, currency: CurrencyId): bigint {
  return BigInt(amount.slice("0.".length)) * 10n ** BigInt(decimals[currency] - 1);
}
