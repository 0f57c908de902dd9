/**
 * The prices of one gateway process: a board with the database's prices, and the feed that renews
 * them. If the configuration names no source, no market is asked.
 */

import { AgentError } from "../../base/fault.ts";
import type { JsonValue } from "../../base/json.ts";
import type { GatewayLog } from "../../base/log.ts";
import type { GatewayConfig } from "../config/config.ts";
import { fiats } from "../config/fiat.ts";
import type { PriceSource, SourceName } from "../config/price-settings.ts";
import type { Prices } from "../service.ts";
import { type PriceReadingRow, readPrices, savePrices } from "../store/prices.ts";
import type { Store } from "../store/store.ts";
import { createPriceRequester, type PriceAnswer, type PriceRequester } from "./ask.ts";
import { priceText, readPrice } from "./decimal.ts";
import { parseExact, textAt } from "./exact-json.ts";
import { type MarketQuestion, markets, type Pair, type StatedPrice } from "./markets.ts";
import { createPriceBoard, type MarketPrice, type PriceBoard, pairsOf } from "./price-cache.ts";
import {
  isOlder,
  type JudgeRules,
  judgePrice,
  type PriceReading,
  readingTimeOf,
  type SourceRejection,
} from "./price-median.ts";

/*
 * Asks the markets again and again, each independently, and gives the prices that they agree on to
 * the board. A slow market delays no other. Rows are written in each round, only once.
 */

/*
 * One market as the feed asks it, one request after another. After a failure the market is left
 * alone for a while, longer each time. A pair that it refuses is left alone in the same way, alone
 * and up to an hour, because one refusal may be a passing fault. Keeps the newest answer for each
 * pair.
 */

/** The state of one pair at one source. */
interface Slot {
  reading: PriceReading | null; // null before its first price
  trouble: string; // problem of its newest answer; "" none
  leftOut: SourceRejection; // from the newest judgement
  notBeforeMs: number;
  missing: number; // answers in a row without a price of the pair: refused, or not in the list
}

/** True if the source does not list the pair, as far as it can be told: it never had a price. */
const isUnlisted = ({ reading, missing }: Slot): boolean =>
  reading === null && missing >= missingMin;

interface MarketClientOptions {
  readonly source: PriceSource;
  readonly pairs: readonly Pair[]; // pairs that the source does not have are skipped
  readonly everyMs: number; // the feed's interval
  readonly ask: PriceRequester;
  readonly signal: AbortSignal; // ends requests in progress, and prevents new ones
  readonly log: GatewayLog;
  readonly clock: () => number; // Unix milliseconds
}

interface MarketClient {
  readonly name: SourceName;
  readonly slots: ReadonlyMap<Pair, Slot>;
  /**
   * Asks for every pair that is due. Resolves at once if the source is still being asked, or is
   * left alone.
   */
  turn(): Promise<void>;
}

const minuteMs = 60_000;
const backOffMsMax = 15 * minuteMs;
/** A market that does not list a pair may list it later. */
const refusedMsMax = 60 * minuteMs;
/** From so many answers without a price on, a pair that never had one counts as not listed. */
const missingMin = 3;
const doublingsMax = 10;
const wordsMax = 120;
const refusedStatus = [400, 404];

function createMarketClient({
  source,
  pairs,
  everyMs,
  ask,
  signal,
  log,
  clock,
}: MarketClientOptions): MarketClient {
  const { name } = source;
  const market = markets[name];
  const taken = pairs.filter(({ fiat }) => market.fiats.includes(fiat));
  const slots = new Map(
    taken.map((pair) => [pair, emptySlot(market.questions([pair]).length > 0)] as const),
  );
  const origin = source.url === "" ? market.origin : source.url;
  let isBusy = false;
  let failures = 0;
  let notBeforeMs = 0;

  /** True if the source may be asked the next question. */
  function take(question: MarketQuestion, asked: PriceAnswer): boolean {
    if (asked.ok) {
      const answer = parseExact(asked.text);
      for (const pair of question.pairs) {
        const words = answer === null ? "" : refusalIn(answer);
        receive(
          slots.get(pair),
          name,
          { said: answer === null ? null : market.read(answer, pair), words },
          clock(),
        );
      }
      return true;
    }
    if (refusedStatus.includes(asked.status)) {
      for (const pair of question.pairs) refuse(pair, asked.why);
      return true;
    }
    for (const slot of slots.values()) slot.trouble = asked.why;
    leaveAlone(asked.why, asked.waitMs);
    return false;
  }

  /** The answer for one pair costs this pair alone, shortly at first. */
  function refuse(pair: Pair, why: string): void {
    const slot = slots.get(pair);
    if (slot === undefined) return;
    const waitMs = Math.min(refusedMsMax, everyMs * 2 ** Math.min(slot.missing, doublingsMax));
    slot.missing += 1;
    slot.trouble = why;
    slot.notBeforeMs = clock() + waitMs;
    const { asset, fiat } = pair;
    const words = `${asset} in ${fiat}: ${why}`;
    if (slot.missing === 1)
      log.warn(
        { event: "price-source-failed", source: name, why: words },
        "a source refused a pair; it is asked again",
      );
  }

  function leaveAlone(why: string, waitMs: number): void {
    const doubled = everyMs * 2 ** Math.min(failures, doublingsMax);
    notBeforeMs = clock() + Math.max(waitMs, Math.min(backOffMsMax, doubled));
    failures += 1;
    if (failures === 1)
      log.warn(
        { event: "price-source-failed", source: name, why },
        "a source of prices failed; it is asked again",
      );
  }

  function recovered(): void {
    if (failures === 0) return;
    failures = 0;
    log.info({ event: "price-source-answers", source: name }, "a source of prices answers again");
  }

  return {
    name,
    slots,
    async turn() {
      if (isBusy || isLeftAlone(notBeforeMs, clock())) return;
      isBusy = true;
      const wanted = [...slots]
        .filter(([, slot]) => !isLeftAlone(slot.notBeforeMs, clock()))
        .map(([pair]) => pair);
      let goesOn = true;
      for (const question of market.questions(wanted)) {
        const asked = await ask(`${origin}${question.path}`, signal);
        if (signal.aborted) return;
        goesOn = take(question, asked);
        if (!goesOn) break;
      }
      isBusy = false;
      if (goesOn) recovered();
    },
  };
}

/**
 * The slot of a pair before its first answer; a pair that the source has no question for is not
 * listed.
 */
function emptySlot(isAsked: boolean): Slot {
  const none = { reading: null, leftOut: "silent", notBeforeMs: 0 } as const;
  return isAsked
    ? { ...none, trouble: "not asked yet", missing: 0 }
    : { ...none, trouble: "does not list it", missing: missingMin };
}

/**
 * True until a time. Nothing is left alone for longer than an hour: a time that is further away was
 * kept while this machine's clock was ahead.
 */
function isLeftAlone(notBeforeMs: number, nowMs: number): boolean {
  return nowMs < notBeforeMs && notBeforeMs - nowMs <= refusedMsMax;
}

/** The source's own words in an answer that is no price; "" without any. */
function refusalIn(answer: JsonValue): string {
  return (textAt(answer, "error", "0") || textAt(answer, "message")).slice(0, wordsMax);
}

interface MarketReply {
  readonly said: StatedPrice | null;
  readonly words: string; // the source's own, if it said no price
}

function receive(
  slot: Slot | undefined,
  source: SourceName,
  { said, words }: MarketReply,
  nowMs: number,
): void {
  if (slot === undefined) return;
  slot.missing = said === null ? slot.missing + 1 : 0;
  slot.trouble = said === null ? `no price in the answer${words === "" ? "" : `: ${words}`}` : "";
  if (said === null) return;
  const sinceMs = slot.reading?.mark === said.mark ? slot.reading.markSinceMs : nowMs;
  const markSinceMs = Math.min(sinceMs, nowMs);
  slot.reading = { ...said, source, readAtMs: nowMs, markSinceMs };
}

interface FeedOptions {
  readonly config: Pick<GatewayConfig, "currencies" | "prices">;
  readonly board: PriceBoard;
  readonly store: Store;
  readonly ask: PriceRequester;
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
    movedAt: readingTimeOf(reading),
  };
}

/** Starts a round at once and then every `everySeconds`, until the returned feed is closed. */
function startFeed(options: FeedOptions): { close(): void } {
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

export interface PricesOptions {
  readonly config: Pick<GatewayConfig, "currencies" | "prices">;
  readonly store: Store;
  readonly log: GatewayLog;
  readonly clock: () => number; // Unix milliseconds
}

/** The prices in the database, as far as they can be read. */
function savedPrices(store: Store): readonly MarketPrice[] {
  return readPrices(store.database).flatMap(({ asset, fiat, price: text, at }) => {
    const known = fiats.find((one) => one === fiat);
    const price = readPrice(text);
    return known === undefined || price === null ? [] : [{ asset, fiat: known, price, atMs: at }];
  });
}

/** The board with the database's prices; no market is asked. */
export function openPriceBoard({ config, store, clock }: Omit<PricesOptions, "log">): PriceBoard {
  return createPriceBoard(config, clock, savedPrices(store));
}

/** A standby reads the prices again that the active gateway wrote, at most this often. */
const storedPricesMs = 5_000;

/** The prices that another gateway keeps in the database; no market is asked. */
export function readStoredPrices(options: Omit<PricesOptions, "log">): Prices {
  let board = openPriceBoard(options);
  let readAtMs = options.clock();
  const newest = (): PriceBoard => {
    const nowMs = options.clock();
    if (Math.abs(nowMs - readAtMs) < storedPricesMs) return board;
    [board, readAtMs] = [openPriceBoard(options), nowMs];
    return board;
  };
  return {
    of: (currency, fiat) => newest().of(currency, fiat),
    canHave: (currency, fiat) => newest().canHave(currency, fiat),
  };
}

/**
 * Starts the prices and asks the markets at once. `close` ends them and is harmless to call twice.
 */
export function startPrices(options: PricesOptions): Prices & { close(): void } {
  const board = openPriceBoard(options);
  const isAsked = options.config.prices.sources.length > 0;
  const feed = isAsked ? startFeed({ ...options, board, ask: createPriceRequester() }) : null;
  return { of: board.of, canHave: board.canHave, close: () => feed?.close() };
}
