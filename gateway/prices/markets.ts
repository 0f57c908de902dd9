/**
 * The public markets, each with its documented address and answer format. Markets that trade
 * against dollars or euros are asked for those, and only the Turkish markets for liras, because
 * nobody trades at a dollar price times an official rate. Pure: makes addresses and reads answers.
 *
 * Sources: docs.cdp.coinbase.com/exchange (get product ticker); docs.kraken.com/api (get ticker
 * information); bitstamp.net/api (ticker); docs.coingecko.com (simple price); docs.btcturk.com
 * (ticker); paribu.com/ticker; developers.binance.com (spot, 24hr ticker of type MINI).
 */
import type { JsonValue } from "../../base/json.ts";
import type { Fiat } from "../config/fiat.ts";
import type { SourceName } from "../config/price-settings.ts";
import { readPrice } from "./decimal.ts";
import { textAt, valueAt } from "./exact-json.ts";

/** An asset and the money of its price: a ticker such as ETH, against dollars, euros or liras. */
export interface Pair {
  readonly asset: string;
  readonly fiat: Fiat;
}

/** An exchange's statement about a pair. `mark` is a text that changes with each trade there. */
export interface StatedPrice {
  readonly price: bigint; // decimal.ts
  readonly atMs: number | null; // by the exchange's own clock; null if it states no time
  readonly mark: string;
}

export interface MarketQuestion {
  readonly path: string;
  readonly pairs: readonly Pair[];
}

export interface MarketApi {
  readonly origin: string;
  readonly fiats: readonly Fiat[];
  /** The requests for these pairs, all of which are against one of `fiats`. */
  questions(pairs: readonly Pair[]): readonly MarketQuestion[];
  /** The statement about a pair in the answer; null if there is no usable one. */
  read(answer: JsonValue, pair: Pair): StatedPrice | null;
}

const secondMs = 1_000;

function said(price: string, mark: string, atMs: number | null = null): StatedPrice | null {
  const units = readPrice(price);
  return units === null || (atMs !== null && !Number.isSafeInteger(atMs))
    ? null
    : { price: units, atMs, mark };
}

/** Integer seconds or milliseconds, as milliseconds; NaN for any other text. */
const epochMs = (text: string, unitMs: number): number =>
  /^\d{1,14}$/.test(text) ? Number(text) * unitMs : Number.NaN;

/** For exchanges that answer one pair at a time. */
const each =
  (path: (pair: Pair) => string): MarketApi["questions"] =>
  (pairs) =>
    pairs.map((pair) => ({ path: path(pair), pairs: [pair] }));

/** For exchanges that answer all pairs at once. */
const all =
  (path: string): MarketApi["questions"] =>
  (pairs) =>
    pairs.length === 0 ? [] : [{ path, pairs }];

const coinbase: MarketApi = {
  origin: "https://api.exchange.coinbase.com",
  fiats: ["USD", "EUR"],
  questions: each(({ asset, fiat }) => `/products/${asset}-${fiat}/ticker`),
  read: (answer) =>
    said(textAt(answer, "price"), textAt(answer, "trade_id"), Date.parse(textAt(answer, "time"))),
};

const krakenNames: Readonly<Record<string, string>> = { BTC: "XBT", DOGE: "XDG" };

/** The answer names the pair in its own spelling, so one pair is asked at a time. */
const kraken: MarketApi = {
  origin: "https://api.kraken.com",
  fiats: ["USD", "EUR"],
  questions: each(
    ({ asset, fiat }) => `/0/public/Ticker?pair=${krakenNames[asset] ?? asset}${fiat}`,
  ),
  read(answer) {
    const result = valueAt(answer, "result");
    if (typeof result !== "object" || result === null) return null;
    const names = Object.keys(result);
    const [name = ""] = names;
    const [price, lot] = [textAt(result, name, "c", "0"), textAt(result, name, "c", "1")];
    const trades = textAt(result, name, "t", "1");
    return names.length === 1
      ? said(price, `${price} ${lot} ${trades} ${textAt(result, name, "v", "1")}`)
      : null;
  },
};

const bitstamp: MarketApi = {
  origin: "https://www.bitstamp.net",
  fiats: ["USD", "EUR"],
  questions: each(
    ({ asset, fiat }) => `/api/v2/ticker/${asset.toLowerCase()}${fiat.toLowerCase()}/`,
  ),
  read(answer) {
    const mark = `${textAt(answer, "last")} ${textAt(answer, "volume")}`;
    return said(textAt(answer, "last"), mark, epochMs(textAt(answer, "timestamp"), secondMs));
  },
};

const coinIds: Readonly<Record<string, string>> = {
  BTC: "bitcoin",
  ETH: "ethereum",
  USDT: "tether",
  USDC: "usd-coin",
  BNB: "binancecoin",
  TRX: "tron",
  LTC: "litecoin",
  DOGE: "dogecoin",
  XRP: "ripple",
  SOL: "solana",
  TON: "the-open-network",
  POL: "polygon-ecosystem-token",
  DAI: "dai",
  AVAX: "avalanche-2",
};

/** Its lira prices are calculated from dollars, so it is not asked for liras. */
const coingecko: MarketApi = {
  origin: "https://api.coingecko.com",
  fiats: ["USD", "EUR"],
  questions(pairs) {
    const known = pairs.filter(({ asset }) => Object.hasOwn(coinIds, asset));
    const ids = [...new Set(known.map(({ asset }) => coinIds[asset]))].join(",");
    const path = `/api/v3/simple/price?ids=${ids}&vs_currencies=usd,eur&include_last_updated_at=true&precision=full`;
    return known.length === 0 ? [] : [{ path, pairs: known }];
  },
  read(answer, { asset, fiat }) {
    const coin = valueAt(answer, coinIds[asset] ?? "");
    const price = textAt(coin, fiat.toLowerCase());
    return said(price, price, epochMs(textAt(coin, "last_updated_at"), secondMs));
  },
};

const btcturk: MarketApi = {
  origin: "https://api.btcturk.com",
  fiats: ["TRY"],
  questions: all("/api/v2/ticker"),
  read(answer, { asset, fiat }) {
    const list = valueAt(answer, "data");
    if (!Array.isArray(list)) return null;
    const row: JsonValue | undefined = list.find(
      (one: JsonValue) => textAt(one, "pairNormalized") === `${asset}_${fiat}`,
    );
    const mark = `${textAt(row, "last")} ${textAt(row, "volume")}`;
    return said(textAt(row, "last"), mark, epochMs(textAt(row, "timestamp"), 1));
  },
};

/** Paribu calls the lira TL. */
const paribu: MarketApi = {
  origin: "https://www.paribu.com",
  fiats: ["TRY"],
  questions: all("/ticker"),
  read(answer, { asset }) {
    const row = valueAt(answer, `${asset}_TL`);
    return said(textAt(row, "last"), `${textAt(row, "last")} ${textAt(row, "volume")}`);
  },
};

const binance: MarketApi = {
  origin: "https://api.binance.com",
  fiats: ["EUR", "TRY"],
  questions: each(({ asset, fiat }) => `/api/v3/ticker/24hr?symbol=${asset}${fiat}&type=MINI`),
  read: (answer, { asset, fiat }) =>
    textAt(answer, "symbol") === `${asset}${fiat}`
      ? said(textAt(answer, "lastPrice"), textAt(answer, "lastId"))
      : null,
};

export const markets: Readonly<Record<SourceName, MarketApi>> = {
  coinbase,
  kraken,
  bitstamp,
  coingecko,
  btcturk,
  paribu,
  binance,
};
