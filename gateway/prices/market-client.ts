/**
 * One market as the feed asks it, one request after another. After a failure the market is left
 * alone for a while, longer each time. A pair that it refuses is left alone in the same way, alone
 * and up to an hour, because one refusal may be a passing fault. Keeps the newest answer for each
 * pair.
 */
import type { JsonValue } from "../../base/json.ts";
import type { GatewayLog } from "../../base/log.ts";
import type { PriceSource, SourceName } from "../config/price-settings.ts";
import type { PriceAnswer, PriceRequest } from "./ask.ts";
import { parseExact, textAt } from "./exact-json.ts";
import { markets, type Pair, type Question, type StatedPrice } from "./markets.ts";
import type { LeftOut, PriceReading } from "./price-median.ts";

/** The state of one pair at one source. */
export interface Slot {
  reading: PriceReading | null; // null before its first price
  trouble: string; // problem of its newest answer; "" none
  leftOut: LeftOut; // from the newest judgement
  notBeforeMs: number;
  missing: number; // answers in a row without a price of the pair: refused, or not in the list
}

/** True if the source does not list the pair, as far as it can be told: it never had a price. */
export const isUnlisted = ({ reading, missing }: Slot): boolean =>
  reading === null && missing >= missingMin;

export interface MarketClientOptions {
  readonly source: PriceSource;
  readonly pairs: readonly Pair[]; // pairs that the source does not have are skipped
  readonly everyMs: number; // the feed's interval
  readonly ask: PriceRequest;
  readonly signal: AbortSignal; // ends requests in progress, and prevents new ones
  readonly log: GatewayLog;
  readonly clock: () => number; // Unix milliseconds
}

export interface MarketClient {
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

export function createMarketClient({
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
  function take(question: Question, asked: PriceAnswer): boolean {
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
