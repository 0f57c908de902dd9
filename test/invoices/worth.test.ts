/**
 * Rule 5 of an invoice, against a second implementation that keeps fractions whole: which price a
 * payment counts at, and how much a choice asks for.
 */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  askedUnitsOf,
  graceMs,
  newestQuoteOf,
  type PricedSum,
  type PriceQuote,
  quoteOfSight,
} from "../../gateway/invoices/worth.ts";

const minute = 60_000;
const one = 10n ** 18n; // units of a price
const quote = (number: number, price: bigint, from: number, until: number): PriceQuote => ({
  number,
  price,
  fromMs: from * minute,
  untilMs: until * minute,
});

describe("the quote of a first sight", () => {
  const quotes = [quote(1, 40n * one, 0, 20), quote(2, 42n * one, 25, 45)];
  const at = (minutes: number, of = quotes) => quoteOfSight(of, minutes * minute)?.number ?? null;

  it.each([
    [0, 1],
    [19.99, 1],
    [20, 1], // within its grace
    [24.99, 1],
    [25, 2], // asks for less
    [29.99, 2],
    [44.99, 2],
    [54.99, 2],
    [55, null],
    [-1, null],
  ])("at minute %d is %j", (minutes, number) => {
    expect(at(minutes)).toBe(number);
  });

  it("within a grace is the one that asks for less, whichever came first", () => {
    const higher = [quote(1, 42n * one, 0, 20), quote(2, 40n * one, 21, 41)];
    expect([20.5, 22, 29.99, 30].map((minutes) => at(minutes, higher))).toEqual([1, 1, 1, 2]);
    expect(graceMs).toBe(10 * minute);
  });

  it("is none where the newest one is over for longer than its grace", () => {
    expect(at(30, quotes.slice(0, 1))).toBeNull();
    expect(newestQuoteOf([...quotes].reverse()).number).toBe(2);
  });
});

/** A fraction, never rounded. */
interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

/** The same amount by fractions: each unit of a payment is given until the sum is reached. */
function askedByFractions({ fiatUnits, decimal, quotes, sights }: PricedSum): bigint {
  const priceOf = (number: number): Fraction => ({
    over: quotes.find((found) => found.number === number)?.price ?? 0n,
    under: one,
  });
  const step = decimal > 8 ? 10n ** BigInt(decimal - 8) : 1n;
  let left: Fraction = { over: fiatUnits, under: 100n };
  let asked = 0n;
  const newest = [...quotes].sort((a, b) => b.number - a.number)[0]?.number ?? 0;
  for (const { units, quote: number } of [...sights, { units: -1n, quote: newest }]) {
    const { over, under } = priceOf(number);
    // Units that are worth what is left: left * 10^decimal / price, up, then up to a step.
    const top = left.over * 10n ** BigInt(decimal) * under;
    const bottom = left.under * over;
    let need = top / bottom;
    if (need * bottom < top) need += 1n;
    while (need % step !== 0n) need += step - (need % step);
    if (units < 0n) return asked + need;
    // The worth of a payment is cut to 10^-18.
    const worth = (units * over) / 10n ** BigInt(decimal);
    const isReached = worth * left.under >= left.over * one;
    if (isReached && need > units) return asked + units;
    if (isReached) return asked + need;
    asked += units;
    left = { over: left.over * one - worth * left.under, under: left.under * one };
  }
  return asked;
}

describe("the amount of a choice", () => {
  const usdt = { decimal: 6, quotes: [quote(1, 42n * one, 0, 20)] };

  it("is the quote's own before a payment, and after the whole one, and after more than it", () => {
    const sum = { ...usdt, fiatUnits: 124_990n };
    const asked = askedUnitsOf({ ...sum, sights: [] });
    expect(asked).toBe(29_759_524n);
    for (const units of [asked, asked + 1n, 2n * asked])
      expect(askedUnitsOf({ ...sum, sights: [{ units, quote: 1 }] })).toBe(asked);
  });

  it("after a part of it has that part at its own price, and the rest at the newest", () => {
    const quotes = [...usdt.quotes, quote(2, 21n * one, 20, 40)];
    const half = {
      ...usdt,
      quotes,
      fiatUnits: 84_000n,
      sights: [{ units: 10_000_000n, quote: 1 }],
    };
    expect(askedUnitsOf(half)).toBe(10_000_000n + 20_000_000n);
    const both = [...half.sights, { units: 20_000_000n, quote: 2 }];
    expect(askedUnitsOf({ ...half, sights: both })).toBe(30_000_000n);
  });

  it("is that of the second implementation, for any payments at any prices", () => {
    const arbitrary = fc.record({
      fiatUnits: fc.bigInt(1n, 10n ** 12n),
      decimal: fc.constantFrom(0, 2, 6, 8, 18),
      prices: fc.array(fc.bigInt(1n, 10n ** 24n), { minLength: 1, maxLength: 4 }),
      sights: fc.array(fc.tuple(fc.bigInt(1n, 10n ** 22n), fc.nat(3)), { maxLength: 5 }),
    });
    void fc.assert(
      fc.property(arbitrary, ({ fiatUnits, decimal, prices, sights: found }) => {
        const quotes = prices.map((price, at) => quote(at + 1, price, at * 20, at * 20 + 20));
        const sights = found.map(([units, at]) => ({ units, quote: (at % prices.length) + 1 }));
        const sum = { fiatUnits, decimal, quotes, sights };
        expect(askedUnitsOf(sum)).toBe(askedByFractions(sum));
      }),
      { numRuns: 5_000 },
    );
  });

  it("asks for nothing more once payments are worth the sum, and for more as long as they are not", () => {
    const sums = fc.record({
      fiatUnits: fc.bigInt(1n, 10n ** 9n),
      prices: fc.array(fc.bigInt(10n ** 10n, 10n ** 23n), { minLength: 1, maxLength: 3 }),
      paid: fc.array(fc.tuple(fc.bigInt(1n, 10n ** 12n), fc.nat(2)), { maxLength: 6 }),
    });
    void fc.assert(
      fc.property(sums, ({ fiatUnits, prices, paid }) => {
        const quotes = prices.map((price, at) => quote(at + 1, price, at * 20, at * 20 + 20));
        const sights = paid.map(([units, at]) => ({ units, quote: (at % prices.length) + 1 }));
        const asked = askedUnitsOf({ fiatUnits, decimal: 6, quotes, sights });
        const sent = sights.reduce((sum, { units }) => sum + units, 0n);
        const worth = sights.reduce(
          (sum, { units, quote: number }) => sum + (units * (prices[number - 1] ?? 0n)) / 10n ** 6n,
          0n,
        );
        expect(asked <= sent).toBe(worth >= fiatUnits * 10n ** 16n);
      }),
      { numRuns: 5_000 },
    );
  });
});
