/**
 * The worth of payments to a choice of an invoice, and the amount that it asks for: a pure function
 * of quotes and sights. A payment counts at the price that was in force when it was first seen, so
 * that neither a slow chain nor a later price changes what a payer has done. No rounding is in the
 * payer's favour and none is hidden: the worth of a payment is rounded down, an amount up. Source:
 * docs/api.md, Invoices.
 */
import { invariant } from "../../base/fault.ts";
import { fiatDecimal } from "../config/fiat.ts";
import { divideUp, payableDecimal, priceDecimal } from "../prices/decimal.ts";

/** A price of one unit of the currency, in 10^-18 of the fiat currency, from a time to a time. */
export interface PriceQuote {
  readonly number: number; // counts up from 1 in each choice
  readonly price: bigint; // above zero
  readonly fromMs: number; // milliseconds since 1970
  readonly untilMs: number; // not in force any more at this time
}

/** A payment at its first sight, in the order of sights. */
export interface PaymentSight {
  readonly units: bigint;
  readonly quote: number; // the quote at which it counts
}

/** A payment that comes so long after a quote's end still counts at it. */
export const graceMs = 10 * 60_000;

/**
 * The quote at which a payment counts that is first seen at a time. Within the grace of an ended
 * quote it is that one or the one in force, whichever asks for less. Null: none was in force or in
 * its grace, so that the price of now makes one for this payment alone, or the last one stands.
 */
export function quoteOfSight(quotes: readonly PriceQuote[], atMs: number): PriceQuote | null {
  const counting = quotes.filter(
    ({ fromMs, untilMs }) => fromMs < untilMs && fromMs <= atMs && atMs < untilMs + graceMs,
  );
  return counting.reduce<PriceQuote | null>(
    (best, next) => (best === null || next.price > best.price ? next : best),
    null,
  );
}

/**
 * The newest quote that was given to the payer, which says what is missing: not those that one
 * payment alone made. A choice has one from its beginning on.
 */
export function newestQuoteOf(quotes: readonly PriceQuote[]): PriceQuote {
  const given = quotes.filter(({ fromMs, untilMs }) => fromMs < untilMs);
  const newest = given.reduce<PriceQuote | null>(
    (last, next) => (last === null || next.number > last.number ? next : last),
    null,
  );
  invariant(newest !== null, "a choice without a quote");
  return newest;
}

/** Units of a fiat sum in 10^-18, from its units in `fiatDecimal`. */
const fiatScale = 10n ** BigInt(priceDecimal - fiatDecimal);

/** A currency's units as a payer can send them. */
interface UnitScale {
  readonly oneUnits: bigint; // base units of one unit of the currency
  readonly stepUnits: bigint; // base units of the last decimal that wallets accept
}

function scaleOf(decimal: number): UnitScale {
  return {
    oneUnits: 10n ** BigInt(decimal),
    stepUnits: 10n ** BigInt(Math.max(0, decimal - payableDecimal)),
  };
}

/** The base units that are worth a sum in 10^-18 at a price, rounded up to what wallets accept. */
function unitsWorth(sum: bigint, price: bigint, { oneUnits, stepUnits }: UnitScale): bigint {
  return divideUp(divideUp(sum * oneUnits, price), stepUnits) * stepUnits;
}

/** The sum that a choice asks for, and the payments to it so far. */
export interface PricedSum {
  readonly fiatUnits: bigint; // in `fiatDecimal`, above zero
  readonly decimal: number; // the currency's
  readonly quotes: readonly PriceQuote[]; // one at least
  readonly sights: readonly PaymentSight[]; // in the order of sights
}

/**
 * The base units with which a choice has its sum: those of the payments until the sum is reached,
 * and what is missing at the newest price. One payment at the only price makes it the quote's own
 * amount.
 */
export function askedUnitsOf({ fiatUnits, decimal, quotes, sights }: PricedSum): bigint {
  const scale = scaleOf(decimal);
  const prices = new Map(quotes.map(({ number, price }) => [number, price]));
  let missing = fiatUnits * fiatScale;
  let askedUnits = 0n;
  for (const { units, quote } of sights) {
    const price = prices.get(quote);
    invariant(price !== undefined, `no quote ${quote}`);
    const worth = (units * price) / scale.oneUnits;
    if (worth >= missing) {
      const lastUnits = unitsWorth(missing, price, scale);
      // Units that are worth the sum are enough without its rounding to a wallet's decimals.
      if (lastUnits > units) return askedUnits + units;
      return askedUnits + lastUnits;
    }
    missing -= worth;
    askedUnits += units;
  }
  return askedUnits + unitsWorth(missing, newestQuoteOf(quotes).price, scale);
}
