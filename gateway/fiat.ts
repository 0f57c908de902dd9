/** The money that prices are told in, and sums of it as a shop asks for them. */

/** @public */
export const fiats = ["USD", "EUR", "TRY"] as const;
/** @public */
export type Fiat = (typeof fiats)[number];

/**
 * Cents and kuruş.
 * @public
 */
export const fiatDecimal = 2;

/** @public */
export interface FiatSum {
  readonly fiatCurrency: Fiat;
  readonly fiatAmount: string; // decimal string above zero, at most `fiatDecimal` fraction digits
}

/**
 * What a sum came to, as it is kept on the record and shown: decimal strings.
 * @public
 */
export interface Quote extends FiatSum {
  readonly price: string; // of one whole unit of the currency
  readonly priceUpdatedAt: string; // when that price was right
}
