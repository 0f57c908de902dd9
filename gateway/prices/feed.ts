/**
 * Asks the markets again and again, each independently, and gives the prices that they agree on to
 * the board. A slow market delays no other. Rows are written in each round, only once.
 */
import { AgentError } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import type { GatewayConfig } from "../config/config.ts";
import { fiats } from "../config/fiat.ts";
import type { SourceName } from "../config/price-settings.ts";
import { type PriceReadingRow, savePrices } from "../store/prices.ts";
import type { Store } from "../store/store.ts";
import type { PriceRequest } from "./ask.ts";
import { priceText } from "./decimal.ts";
import { createMarketClient, isUnlisted, type Slot } from "./market-client.ts";
import type { Pair } from "./markets.ts";
import { type PriceBoard, pairsOf } from "./price-cache.ts";
import { isOlder, type JudgeRules, judgePrice, momentOf } from "./price-median.ts";

export interface FeedOptions {
  readonly config: Pick<GatewayConfig, "currencies" | "prices">;
  readonly board: PriceBoard;
  readonly store: Store;
  readonly ask: PriceRequest;
  readonly log: GatewayLog;
  readonly clock: () => number; // Unix milliseconds
}

export interface PriceFeed {
  /**
   * Runs a round: asks every market that is due, ends when each has answered or failed. Harmless at
   * any time.
   */
  look(): Promise<void>;
  /** Ends requests in progress. Harmless to call twice. */
  close(): void;
}

const secondMs = 1_000;
const minuteMs = 60_000;
/** After this time without a trade, a market says nothing about the present price. */
const stuckMs = 15 * minuteMs;
/** Number of rounds for which a reading stays valid, so that one lost answer changes nothing. */
const readingRounds = 3;

/** Prepares the feed of every source of the configuration. */
export function createFeed({ config, board, store, ask, log, clock }: FeedOptions): PriceFeed {
  const { sources, everySeconds, guardPercent, staleMinutes } = config.prices;
  const everyMs = everySeconds * secondMs;
  const pairs = pairsOf(config, fiats);
  const rules: JudgeRules = { guardPercent, readingMsMax: everyMs * readingRounds, stuckMs };
  const stopped = new AbortController();
  const { signal } = stopped;
  const clients = sources.map((source) =>
    createMarketClient({ source, pairs, everyMs, ask, signal, log, clock }),
  );
  const stale = new Set<Pair>();

  function judgeAll(): void {
    for (const pair of pairs) {
      const slots = clients.flatMap((client) => client.slots.get(pair) ?? []);
      const readings = slots.flatMap(({ reading }) => reading ?? []);
      board.unlist(pair, slots.length > 0 && slots.every(isUnlisted));
      const { price, atMs, leftOut } = judgePrice(readings, rules, clock());
      for (const slot of slots)
        slot.leftOut = slot.reading === null ? "silent" : (leftOut.get(slot.reading.source) ?? "");
      if (price !== null) board.publish({ ...pair, price, atMs });
    }
  }

  /** Logs a pair when its price becomes stale, and again when it is fresh. */
  function tellStale(): void {
    const atOf = new Map(board.agreed().map(({ asset, fiat, atMs }) => [`${asset} ${fiat}`, atMs]));
    for (const pair of pairs) {
      const { asset, fiat } = pair;
      const atMs = atOf.get(`${asset} ${fiat}`) ?? 0;
      const isStale = isOlder(atMs, staleMinutes * minuteMs, clock());
      if (isStale === stale.has(pair)) continue;
      if (isStale) {
        stale.add(pair);
        const why = board.isUnlisted(pair)
          ? "no source lists it"
          : "no two sources agree on a price";
        log.warn({ event: "price-stale", asset, fiat }, `${why}; quotes of it are refused`);
      } else {
        stale.delete(pair);
        log.info({ event: "price-fresh", asset, fiat }, "the sources agree on a price again");
      }
    }
  }

  function save(): void {
    const prices = board
      .agreed()
      .map(({ asset, fiat, price, atMs }) => ({ asset, fiat, price: priceText(price), at: atMs }));
    const readings = clients.flatMap(({ name, slots }) =>
      [...slots].map(([pair, slot]) => rowOf(name, pair, slot)),
    );
    try {
      store.write((database) => savePrices(database, prices, readings));
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      log.warn(
        { event: "prices-unsaved", code: error.code },
        "prices could not be saved; they hold all the same",
      );
    }
  }

  return {
    async look() {
      await Promise.all(clients.map((client) => client.turn().then(judgeAll)));
      if (signal.aborted) return;
      tellStale();
      save();
    },
    close: () => stopped.abort(),
  };
}

function rowOf(
  source: SourceName,
  { asset, fiat }: Pair,
  { reading, leftOut, trouble }: Slot,
): PriceReadingRow {
  const place = { asset, fiat, source, leftOut, trouble };
  if (reading === null) return { ...place, price: "", readAt: null, movedAt: null };
  return {
    ...place,
    price: priceText(reading.price),
    readAt: reading.readAtMs,
    movedAt: momentOf(reading),
  };
}

/** Starts a round at once and then every `everySeconds`, until the returned feed is closed. */
export function startFeed(options: FeedOptions): { close(): void } {
  const feed = createFeed(options);
  void feed.look();
  const timer = setInterval(() => void feed.look(), options.config.prices.everySeconds * secondMs);
  return {
    close() {
      clearInterval(timer);
      feed.close();
    },
  };
}
