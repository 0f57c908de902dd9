/**
 * The prices that are valid now: the operator's typed price, else the newest price that the markets
 * agreed on, with its age. Answers at once, without waiting for a market. Prices are for people,
 * for quotes and for the value of a sweep: no withdrawal, no fee and no limit reads them.
 */
import type { GatewayConfig, GatewayCurrency } from "../config/config.ts";
import type { Fiat } from "../config/fiat.ts";
import type { FiatPrice, Prices } from "../service.ts";
import { readPrice } from "./decimal.ts";
import { markets, type Pair } from "./markets.ts";
import { isOlder } from "./price-median.ts";

export interface MarketPrice extends Pair {
  readonly price: bigint;
  readonly atMs: number;
}

export interface PriceBoard extends Prices {
  /** Takes a price that the markets agree on, and replaces the pair's older price. */
  publish(price: MarketPrice): void;
  /** Says that no source lists a pair, or that one may have it. */
  unlist(pair: Pair, isUnlisted: boolean): void;
  isUnlisted(pair: Pair): boolean;
  /** The newest price that the markets agreed on, for every pair. */
  agreed(): readonly MarketPrice[];
}

const hourMs = 3_600_000;
const minuteMs = 60_000;
const typedNames = { USD: "usd", EUR: "eur", TRY: "try" } as const;
/** A single price could be a mistake. */
const sourcesMin = 2;

const nameOf = ({ asset, fiat }: Pair): string => `${asset} ${fiat}`;

/** A board that starts with the prices of an earlier run. */
export function createPriceBoard(
  { prices: settings }: Pick<GatewayConfig, "prices">,
  clock: () => number,
  earlier: readonly MarketPrice[] = [],
): PriceBoard {
  const unlisted = new Set<string>();
  const byPair = new Map(earlier.map((one) => [nameOf(one), one]));

  function typedOf(id: string, fiat: Fiat): FiatPrice | null {
    const typed = Object.hasOwn(settings.manual, id) ? settings.manual[id] : undefined;
    const price = typed === undefined ? null : readPrice(typed[typedNames[fiat]]);
    if (typed === undefined || price === null) return null;
    const atMs = typed.atMs ?? settings.changedAtMs;
    return {
      price,
      atMs,
      isStale: isOlder(atMs, settings.manualHoursMax * hourMs, clock()),
      origin: "typed",
    };
  }

  function agreedOn({ market: asset }: GatewayCurrency, fiat: Fiat): FiatPrice | null {
    const one = asset === "" ? undefined : byPair.get(nameOf({ asset, fiat }));
    if (one === undefined) return null;
    return {
      price: one.price,
      atMs: one.atMs,
      isStale: isOlder(one.atMs, settings.staleMinutes * minuteMs, clock()),
      origin: "markets",
    };
  }

  return {
    of: (currency, fiat) => typedOf(currency.id, fiat) ?? agreedOn(currency, fiat),
    canHave(currency, fiat) {
      const asked = settings.sources.filter(({ name }) => markets[name].fiats.includes(fiat));
      if (typedOf(currency.id, fiat) !== null) return true;
      const { market: asset } = currency;
      return asset !== "" && asked.length >= sourcesMin && !unlisted.has(nameOf({ asset, fiat }));
    },
    unlist: (pair, isUnlisted) =>
      void (isUnlisted ? unlisted.add(nameOf(pair)) : unlisted.delete(nameOf(pair))),
    isUnlisted: (pair) => unlisted.has(nameOf(pair)),
    publish: (price) => void byPair.set(nameOf(price), price),
    agreed: () => [...byPair.values()],
  };
}

/**
 * Every pair that the markets are asked for: the enabled currencies that have a market and no typed
 * price.
 */
export function pairsOf(
  { currencies, prices: { manual } }: Pick<GatewayConfig, "currencies" | "prices">,
  of: readonly Fiat[],
): readonly Pair[] {
  const assets = Object.values(currencies)
    .filter(({ id, enabled, market }) => enabled && market !== "" && !Object.hasOwn(manual, id))
    .map(({ market }) => market);
  return [...new Set(assets)].flatMap((asset) => of.map((fiat) => ({ asset, fiat })));
}
