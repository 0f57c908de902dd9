/** The fiat currencies of prices, and amounts in them as a shop asks for them. */

export const fiats = ["USD", "EUR", "TRY"] as const;
export type Fiat = (typeof fiats)[number];

/** Cents and kuruş. */
export const fiatDecimal = 2;

export interface FiatSum {
  readonly fiatCurrency: Fiat;
  readonly fiatAmount: string; // decimal string above zero, at most `fiatDecimal` fraction digits
}

/** The quote of a fiat amount, as the record keeps and shows it: decimal strings. */
export interface Quote extends FiatSum {
  readonly price: string; // for one unit of the currency
  readonly priceUpdatedAt: string; // time of the price
}

/** Sums of money by fiat, rounded down to two decimals, and the time of their oldest price. */
export type FiatSums = Readonly<Partial<Record<Lowercase<Fiat>, string>>> & {
  readonly pricedAt: string;
};
