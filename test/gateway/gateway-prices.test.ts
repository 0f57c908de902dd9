/**
 * Prices from markets: every adapter against the shape its market documents, the median and its
 * guard, and what a market can do wrong, from loopback servers: 429, 5xx, nonsense, silence,
 * slowness, a huge body, a redirect, a stuck price, one a thousand times off.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import * as fc from "fast-check";
import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import type { GatewayCurrency } from "../../gateway/config/config.ts";
import { parseConfig } from "../../gateway/config/config.ts";
import { type Fiat, fiats } from "../../gateway/config/fiat.ts";
import { type SourceName, sourceNames } from "../../gateway/config/price-settings.ts";
import { describePrices, listPrices } from "../../gateway/operator/prices.ts";
import { createPriceRequester, type PriceRequester } from "../../gateway/prices/ask.ts";
import { priceText, readPrice } from "../../gateway/prices/decimal.ts";
import { parseExact } from "../../gateway/prices/exact-json.ts";
import { markets } from "../../gateway/prices/markets.ts";
import { createPriceBoard } from "../../gateway/prices/price-cache.ts";
import { judgePrice, type PriceReading } from "../../gateway/prices/price-median.ts";
import { createFeed, openPriceBoard, type PriceFeed } from "../../gateway/prices/prices.ts";
import { type GatewayDatabase, gatewayDatabase } from "../../lab/kit/gateway-database.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";
import { share } from "../../lab/kit/share.ts";

const start = Date.parse("2026-01-02T03:04:05.678Z");
const text = (price: bigint | null | undefined): string | null =>
  price === null || price === undefined ? null : priceText(price);

/**
 * Answers as each market documents them; `at` in Unix milliseconds is the market's clock if the
 * answer has one.
 */
const shapes: Readonly<Record<SourceName, (price: string, at: number, mark: number) => unknown>> = {
  coinbase: (price, at, mark) => ({
    ...{
      ask: price,
      bid: price,
      volume: "53602.03940154",
      trade_id: mark,
      price,
      size: "0.00698254",
    },
    time: new Date(at).toISOString(),
  }),
  kraken: (price, _at, mark) => ({
    error: [],
    result: {
      XETHZUSD: {
        ...{
          a: [price, "1", "1.000"],
          b: [price, "1", "1.000"],
          c: [price, "0.00371000"],
          v: ["1", "2"],
          p: [price, price],
        },
        ...{ t: [1, mark], l: [price, price], h: [price, price], o: price },
      },
    },
  }),
  bitstamp: (price, at, mark) => ({
    ...{
      timestamp: `${Math.trunc(at / 1000)}`,
      open: price,
      high: price,
      low: price,
      last: price,
      volume: `${mark}`,
    },
    ...{
      vwap: price,
      bid: price,
      ask: price,
      side: "0",
      open_24: price,
      percent_change_24: "13.57",
    },
  }),
  coingecko: (price, at) => ({
    ethereum: { usd: price, eur: price, last_updated_at: Math.trunc(at / 1000) },
  }),
  btcturk: (price, at, mark) => ({
    data: [
      { pair: "BTCTRY", pairNormalized: "BTC_TRY", timestamp: at, last: "1", volume: "1" },
      {
        ...{
          pair: "ETHTRY",
          pairNormalized: "ETH_TRY",
          timestamp: at,
          last: price,
          high: price,
          low: price,
          bid: price,
        },
        ...{
          ask: price,
          open: price,
          volume: mark,
          average: price,
          daily: "-95",
          dailyPercent: "-0.38",
        },
        ...{ denominatorSymbol: "TRY", numeratorSymbol: "ETH", order: 2001 },
      },
    ],
    ...{ success: true, message: null, code: 0 },
  }),
  paribu: (price, _at, mark) => ({
    BTC_TL: { lowestAsk: "1", highestBid: "1", last: "1", volume: "1" },
    ETH_TL: {
      ...{
        lowestAsk: price,
        highestBid: price,
        low24hr: price,
        high24hr: price,
        avg24hr: price,
        volume: mark,
        last: price,
      },
      ...{ change: "-95", percentChange: "-0.38", chartData: [] },
    },
  }),
  binance: (price, at, mark) => ({
    ...{
      symbol: "ETHTRY",
      openPrice: price,
      highPrice: price,
      lowPrice: price,
      lastPrice: price,
      volume: "8913.3",
    },
    ...{
      quoteVolume: "1",
      openTime: at - 1,
      closeTime: at,
      firstId: 28_385,
      lastId: mark,
      count: 76,
    },
  }),
};

/** Markets that write numbers without quotes. */
const bare: ReadonlySet<SourceName> = new Set(["coingecko", "btcturk", "paribu"]);

function answerOf(name: SourceName, price: string, at: number, mark: number): string {
  const written = JSON.stringify(shapes[name](price, at, mark));
  return bare.has(name) ? written.replace(/"(-?\d[\d.e+-]*)"(?!:)/g, "$1") : written;
}

type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

interface LocalMarket {
  readonly name: SourceName;
  readonly url: string;
  readonly asked: string[]; // paths
  behaves: Behaviour;
  waitMs: number; // for its answer
  close(): Promise<void>;
}

const says =
  (body: string, status = 200, headers: Record<string, string> = {}): Behaviour =>
  (_request, response) =>
    void response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(body);

async function startMarket(name: SourceName, behaves: Behaviour): Promise<LocalMarket> {
  const asked: string[] = [];
  const market = { name, url: "", asked, behaves, waitMs: 30_000, close: async () => {} };
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    market.behaves(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  market.url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  market.close = () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return market;
}

interface World {
  readonly names: readonly SourceName[];
  canHave(fiat: Fiat): boolean;
  readonly db: GatewayDatabase;
  readonly clock: { nowMs: number };
  readonly markets: readonly LocalMarket[];
  readonly feed: PriceFeed;
  readonly events: string[];
  price(fiat: Fiat): { price: string; isStale: boolean } | null;
  leftOut(fiat: Fiat): Record<string, string>;
  lines(): string;
  round(seconds?: number): Promise<void>;
}

let close: (() => Promise<void>) | null = null;
afterEach(async () => {
  await close?.();
  close = null;
});

const { eth } = testConfig.currencies;

/**
 * Local markets in the place of these sources, each with a price; one gateway's feed on them, whose
 * clock the test moves.
 */
async function world(
  prices: Partial<Record<SourceName, string>>,
  settings: object = {},
): Promise<World> {
  const clock = { nowMs: start };
  let mark = 0;
  const moving = (name: SourceName, price: string): Behaviour => {
    return (request, response) => {
      mark += 1;
      says(answerOf(name, price, clock.nowMs, mark))(request, response);
    };
  };
  const entries = Object.entries(prices) as [SourceName, string][];
  const local = await Promise.all(
    entries.map(([name, price]) => startMarket(name, moving(name, price))),
  );
  const sources = Object.fromEntries(local.map(({ name, url }) => [name, { url }]));
  const raw = { ...testConfig, currencies: { eth }, prices: { sources, ...settings } };
  const config = parseConfig(JSON.stringify(raw), "/nowhere", start);
  const db = gatewayDatabase();
  const board = createPriceBoard(config, () => clock.nowMs);
  const events: string[] = [];
  const log = pino(
    { level: "info" },
    { write: (line: string) => void events.push(JSON.parse(line).event) },
  );
  const ask: PriceRequester = (url, signal) =>
    createPriceRequester(local.find((one) => url.startsWith(one.url))?.waitMs)(url, signal);
  const feed = createFeed({ config, board, store: db.store, ask, log, clock: () => clock.nowMs });
  close = async () => {
    feed.close();
    await Promise.all(local.map((one) => one.close()));
    db.remove();
  };
  const currency = config.currencies.eth as GatewayCurrency;
  const listed = () => listPrices(db.store, config, clock.nowMs);
  return {
    ...{ db, clock, markets: local, feed, events },
    names: entries.map(([name]) => name),
    canHave: (fiat) => board.canHave(currency, fiat),
    price(fiat) {
      const found = board.of(currency, fiat);
      expect(
        openPriceBoard({ config, store: db.store, clock: () => clock.nowMs }).of(currency, fiat),
      ).toEqual(found);
      return found === null ? null : { price: priceText(found.price), isStale: found.isStale };
    },
    leftOut: (fiat) =>
      Object.fromEntries(
        listed()
          .find((line) => line.fiat === fiat)
          ?.sources.map((one) => [one.source, one.leftOut]) ?? [],
      ),
    lines: () => describePrices(listed(), clock.nowMs),
    async round(seconds = 60) {
      clock.nowMs += seconds * 1000;
      await feed.look();
    },
  };
}

const marketOf = (one: World, name: SourceName): LocalMarket =>
  one.markets.find((market) => market.name === name) as LocalMarket;

describe("a price", () => {
  it("is read digit by digit, never as a float", () => {
    for (const [given, read] of [
      ["3000.12", "3000.12"],
      ["0.1000", "0.1"],
      ["1.2e-7", "0.00000012"],
      ["6.5E+4", "65000"],
      ["67187.3358936566", "67187.3358936566"],
      ["0.1234567890123456789", "0.123456789012345678"],
      ["9007199254740993.5", null],
      ["0", null],
      ["0.0000000000000000001", null],
      ["-1", null],
      ["1,5", null],
      ["NaN", null],
      ["", null],
      ["1e99", null],
    ] as const)
      expect(text(readPrice(given)), given).toBe(read);
  });

  it("comes out of a market's JSON as it was written, whatever else stands there", () => {
    expect(parseExact('{"a": 0.1000, "b": [1e-7, -3, "x1.5\\"2"], "c": {"1": true}}')).toEqual({
      ...{ a: "0.1000", b: ["1e-7", "-3", 'x1.5"2'] },
      c: { "1": true },
    });
    const never = `"${"\\".repeat(400_001)}`;
    for (const bad of [
      "",
      "<html>",
      '{"a": 1',
      never,
      `"${'\\"'.repeat(400_000)}`,
      "[".repeat(100),
    ])
      expect(parseExact(bad)).toBeNull();
  });
});

describe("the markets", () => {
  for (const name of sourceNames) {
    it(`the markets: ${name}: its documented answer is read, and nothing else breaks the reader`, () => {
      const market = markets[name];
      const pair = { asset: "ETH", fiat: market.fiats.at(-1) as Fiat };
      const [question] = market.questions([pair]);
      expect(question?.pairs).toEqual([pair]);
      expect(question?.path).toMatch(/^\/[\x21-\x7e]+$/);
      const answer = answerOf(name, "2211.05", start, 7);
      const said = market.read(parseExact(answer) ?? "", pair);
      expect(text(said?.price)).toBe("2211.05");
      expect(market.read(parseExact(answerOf(name, "2211.05", start, 7)) ?? "", pair)?.mark).toBe(
        said?.mark,
      );
      void fc.assert(
        fc.property(fc.jsonValue(), fc.integer({ min: 1, max: answer.length }), (other, at) => {
          for (const text of [
            JSON.stringify(other),
            `${answer.slice(0, at)}${answer.slice(at + 1)}`,
          ]) {
            const value = parseExact(text);
            const read = value === null ? null : market.read(value, pair);
            expect(read === null || read.price > 0n).toBe(true);
          }
        }),
        { numRuns: share(100) },
      );
      for (const wrong of ["0", "-5", "x", ""])
        expect(market.read(shapes[name](wrong, start, 7) as never, pair), wrong).toBeNull();
    });
  }

  it("two markets at least trade against each money, and only markets in liras against liras", () => {
    for (const fiat of fiats)
      expect(
        sourceNames.filter((name) => markets[name].fiats.includes(fiat)).length,
      ).toBeGreaterThan(1);
    const lira = sourceNames.filter((name) => markets[name].fiats.includes("TRY"));
    expect(lira).toEqual(["btcturk", "paribu", "binance"]);
  });
});

describe("the judgement", () => {
  const rules = { guardPercent: 5, readingMsMax: 180_000, stuckMs: 900_000 };
  const readings = (...prices: readonly number[]): PriceReading[] =>
    prices.map((price, place) => ({
      ...{
        source: sourceNames[place] as SourceName,
        price: BigInt(price) * 10n ** 18n,
        mark: "",
        atMs: null,
      },
      ...{ readAtMs: start + place, markSinceMs: start },
    }));
  const judged = (...prices: readonly number[]): string => {
    const { price, leftOut } = judgePrice(readings(...prices), rules, start);
    return `${text(price)} ${[...leftOut.values()].map((why) => why || "counts").join(" ")}`;
  };

  it("of prices is the median of those that agree, when they are two or more and more than half", () => {
    for (const [prices, expected] of [
      [[100], "null alone"],
      [[100, 102], "101 counts counts"],
      [[100, 106], "null split split"],
      [[100, 102, 103], "102 counts counts counts"],
      [[100, 100_000, 102], "101 counts outlier counts"],
      [[100, 102, 1], "101 counts counts outlier"],
      [[100, 102, 200, 202], "null split split split split"],
      [[100, 102, 200, 202, 101], "101 counts counts outlier outlier counts"],
      [[100, 200, 300], "null split split split"],
      [[100, 105, 110], "102.5 counts counts outlier"],
    ] as const)
      expect(judged(...prices), prices.join()).toBe(expected);
  });

  it("of prices never leaves the range of what counts, and is the same in any order", () => {
    const set = fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 0, maxLength: 7 });
    void fc.assert(
      fc.property(set, (prices) => {
        const all = readings(...prices);
        const { price, leftOut, atMs } = judgePrice(all, rules, start);
        const counted = all
          .filter(({ source }) => leftOut.get(source) === "")
          .map((one) => one.price);
        expect(judgePrice([...all].reverse(), rules, start).price).toBe(price);
        if (price === null) {
          expect([counted, atMs]).toEqual([[], 0]);
          return;
        }
        expect(counted.length * 2).toBeGreaterThan(all.length);
        const sorted = [...counted].sort((a, b) => Number(a - b));
        const [low, high] = [sorted[0] as bigint, sorted.at(-1) as bigint];
        expect(low <= price && price <= high && high * 100n <= low * 105n).toBe(true);
      }),
    );
  });
});

describe("the feed", () => {
  it("of prices asks for dollars, euros and liras, and shows each source", async () => {
    const prices = {
      coinbase: "3000.5",
      kraken: "3001",
      bitstamp: "3002",
      btcturk: "126000",
      paribu: "126100",
      binance: "126050",
    };
    const one = await world(prices);
    await one.round();
    expect(one.price("USD")).toEqual({ price: "3001", isStale: false });
    expect(one.price("TRY")).toEqual({ price: "126050", isStale: false });
    expect(one.leftOut("TRY")).toEqual({ btcturk: "", paribu: "", binance: "" });
    expect(marketOf(one, "coinbase").asked).toEqual([
      "/products/ETH-USD/ticker",
      "/products/ETH-EUR/ticker",
    ]);
    expect(marketOf(one, "paribu").asked).toEqual(["/ticker"]);
    one.clock.nowMs += 7_000;
    expect(one.lines()).toMatch(
      /^eth USD {2}3001 {2}markets, 7 s ago\n {2}coinbase {3}3000\.5 +7 s ago +counts$/m,
    );
    expect(one.events).toEqual([]);
  });

  it("of prices does without one that is away, and leaves it alone for as long as it says, else longer and longer", async () => {
    const one = await world({ btcturk: "126000", paribu: "126100", binance: "126050" });
    await one.round();
    const paribu = marketOf(one, "paribu");
    const well = paribu.behaves;
    paribu.behaves = says("slow down", 429, { "Retry-After": "200" });
    await one.round();
    expect(one.leftOut("TRY").paribu).toBe("");
    for (let i = 0; i < 3; i += 1) await one.round();
    expect([paribu.asked.length, one.leftOut("TRY").paribu]).toEqual([2, "silent"]);
    expect(one.lines()).toMatch(/paribu .* left out: no price lately \(answered 429\)/);
    expect(one.price("TRY")).toEqual({ price: "126025", isStale: false });
    paribu.behaves = says("", 503);
    await one.round(30);
    expect(paribu.asked.length).toBe(3);
    paribu.behaves = well;
    await one.round(100);
    expect(paribu.asked.length).toBe(3);
    await one.round(20);
    expect([paribu.asked.length, one.leftOut("TRY").paribu]).toEqual([4, ""]);
    expect(one.events.filter((event) => event !== "price-stale")).toEqual([
      "price-source-failed",
      "price-source-answers",
    ]);
  });

  const failures: Readonly<Record<string, Behaviour>> = {
    "a server error": says("", 500),
    "a page for people": says("<html>maintenance</html>"),
    "JSON of another shape": says('{"data": null, "result": [], "ETH_TL": 1}'),
    "a price that is none": says(JSON.stringify({ ETH_TL: { last: "NaN", volume: "1" } })),
    "a redirect": says("", 302, { Location: "http://127.0.0.1:1/" }),
    silence: () => {},
    "a byte now and then": (_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write(" "), 20);
      response.on("close", () => clearInterval(timer));
    },
    "a body without end": (_request, response) => {
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && response.write("1".repeat(65_536)));
      };
      response.on("drain", more);
      more();
    },
    "an answer cut short": (_request, response) => {
      response.writeHead(200, { "Content-Length": "1000" });
      response.write("{");
      setTimeout(() => response.destroy(), 10);
    },
    "a connection that breaks": (request) => void request.socket.destroy(),
  };
  for (const [name, behaves] of Object.entries(failures)) {
    it(`of prices leaves out a market that gives ${name}, and nobody waits for it`, async () => {
      const one = await world({ btcturk: "126000", paribu: "126100", binance: "126050" });
      Object.assign(marketOf(one, "paribu"), { behaves, waitMs: 150 });
      await one.round();
      expect(one.leftOut("TRY")).toEqual({ btcturk: "", paribu: "silent", binance: "" });
      expect(one.price("TRY")).toEqual({ price: "126025", isStale: false });
      expect(one.lines()).toMatch(/ paribu .*left out: no price lately \(\S/);
    });
  }

  it("of prices leaves out a price a thousand times off, and with two sources that differ keeps the last good one until it is stale", async () => {
    const one = await world({ btcturk: "126000", paribu: "126100", binance: "126050" });
    await one.round();
    marketOf(one, "binance").behaves = says(answerOf("binance", "126.05", start, 1));
    await one.round();
    expect(one.leftOut("TRY").binance).toBe("outlier");
    expect(one.price("TRY")?.price).toBe("126050");
    await marketOf(one, "paribu").close();
    for (let i = 0; i < 4; i += 1) await one.round();
    expect(one.leftOut("TRY")).toEqual({ btcturk: "split", paribu: "silent", binance: "split" });
    expect(one.price("TRY")).toEqual({ price: "126050", isStale: false });
    await one.round();
    await one.round();
    expect(one.price("TRY")).toEqual({ price: "126050", isStale: true });
    expect(one.lines()).toMatch(/^eth TRY {2}126050 {2}markets, \d+ min ago, stale: no quotes$/m);
    expect(one.events).toEqual([
      "price-stale",
      "price-stale",
      "price-source-failed",
      "price-stale",
    ]);
  });

  it("of prices takes none for fresh that came while the clock was a day ahead, and asks again at once", async () => {
    const dayMs = 86_400_000;
    const one = await world({ btcturk: "126000", paribu: "126100", binance: "126050" });
    one.clock.nowMs += dayMs;
    const { behaves } = marketOf(one, "paribu");
    marketOf(one, "paribu").behaves = says("", 500);
    await one.round();
    expect(one.price("TRY")).toEqual({ price: "126025", isStale: false });
    marketOf(one, "paribu").behaves = behaves;
    one.clock.nowMs -= dayMs;
    expect(one.price("TRY")).toEqual({ price: "126025", isStale: true });
    await one.round();
    expect(one.leftOut("TRY")).toEqual({ btcturk: "", paribu: "", binance: "" });
    expect(one.price("TRY")).toEqual({ price: "126050", isStale: false });
  });

  it("of prices counts a market's standing price from now on, if it stood while the clock was a day ahead", async () => {
    const dayMs = 86_400_000;
    const one = await world({ btcturk: "126000", paribu: "126100", binance: "126050" });
    marketOf(one, "btcturk").behaves = says(answerOf("btcturk", "126000", start + dayMs, 999));
    one.clock.nowMs += dayMs;
    await one.round();
    one.clock.nowMs -= dayMs;
    for (let minutes = 0; minutes < 17; minutes += 1) await one.round();
    expect(one.leftOut("TRY")).toEqual({ btcturk: "stuck", paribu: "", binance: "" });
  });

  it("of prices leaves out a stuck price: no trade, or a clock that stands", async () => {
    const one = await world({ btcturk: "126000", paribu: "126100", binance: "126050" });
    marketOf(one, "binance").behaves = says(answerOf("binance", "126050", start, 1));
    for (let i = 0; i < 15; i += 1) await one.round();
    expect(one.leftOut("TRY").binance).toBe("");
    await one.round(61);
    expect(one.leftOut("TRY").binance).toBe("stuck");
    marketOf(one, "btcturk").behaves = says(answerOf("btcturk", "126000", start, 999));
    await one.round();
    expect(one.leftOut("TRY")).toEqual({ btcturk: "stuck", paribu: "alone", binance: "stuck" });
    expect(one.lines()).toMatch(/left out: nothing moves there since 2026-01-02T03:05:05/);
  });

  it("one refusal of all sources costs one round, and quotes go on", async () => {
    const one = await world({ coinbase: "3000", kraken: "3000", bitstamp: "3000" });
    await one.round();
    const before = one.price("USD");
    const well = one.names.map((name) => [name, marketOf(one, name).behaves] as const);
    for (const status of [404, 400]) {
      for (const [name] of well)
        marketOf(one, name).behaves = says('{"message":"NotFound"}', status);
      await one.round();
      for (const [name, behaves] of well) marketOf(one, name).behaves = behaves;
      await one.round();
      await one.round();
      expect([one.price("USD"), one.leftOut("USD").coinbase]).toEqual([before, ""]);
    }
    expect(one.events).toContain("price-source-failed");
  });

  it("a pair that no source lists is told apart from one that has no price now", async () => {
    const one = await world({ coinbase: "3000", kraken: "3000" });
    for (const name of one.names)
      marketOf(one, name).behaves = says('{"error":["EQuery:Unknown asset pair"]}');
    await one.round();
    expect(one.canHave("USD")).toBe(true);
    for (let i = 0; i < 3; i += 1) await one.round();
    expect(one.canHave("USD")).toBe(false);
    expect(one.lines()).toContain("no price in the answer: EQuery:Unknown asset pair");
    for (const name of one.names)
      marketOf(one, name).behaves = says(answerOf(name, "3000", start, 1));
    await one.round();
    expect(one.canHave("USD")).toBe(true);
  });

  it("of prices asks ever less about a pair that a market does not list, and goes on with the others", async () => {
    const one = await world({ coinbase: "3000", kraken: "3000" });
    const coinbase = marketOf(one, "coinbase");
    const well = coinbase.behaves;
    coinbase.behaves = (request, response) =>
      request.url === "/products/ETH-USD/ticker"
        ? says('{"message":"NotFound"}', 404)(request, response)
        : well(request, response);
    for (let i = 0; i < 64; i += 1) await one.round();
    const asked = coinbase.asked.filter((path) => path.includes("ETH-USD")).length;
    expect(asked).toBeGreaterThan(4);
    expect(asked).toBeLessThan(9);
    expect(coinbase.asked.filter((path) => path.includes("ETH-EUR"))).toHaveLength(64);
    expect([one.price("USD"), one.price("EUR")?.price]).toEqual([null, "3000"]);
    await one.round(3_600);
    expect(coinbase.asked.filter((path) => path.includes("ETH-USD"))).toHaveLength(asked + 1);
  });

  it("of prices ends with what is under way, and stores nothing afterwards", async () => {
    const one = await world({ btcturk: "126000", paribu: "126100" });
    marketOf(one, "paribu").behaves = () => {};
    const looking = one.feed.look();
    one.feed.close();
    await looking;
    expect(one.db.store.database.all("SELECT * FROM priceReadings")).toEqual([]);
  });
});
