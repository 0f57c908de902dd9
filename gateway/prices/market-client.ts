/**
 * One market as the feed asks it, one request after another. After a failure the market is left
 * alone for a while, longer each time. For a pair that it does not list, it is left alone for an
 * hour. Keeps the newest answer for each pair.
 */
import type { GatewayLog } from "../../base/log.ts";
import type { PriceSource, SourceName } from "../config/price-settings.ts";
import type { Ask, Asked } from "./ask.ts";
import { parseExact } from "./exact-json.ts";
import { markets, type Pair, type Question, type Said } from "./markets.ts";
import type { LeftOut, Reading } from "./price-median.ts";

/** The state of one pair at one source. */
export interface Slot {
  reading: Reading | null; // null before its first price
  trouble: string; // problem of its newest answer; "" none
  leftOut: LeftOut; // from the newest judgement
  notBeforeMs: number;
}

export interface MarketClientOptions {
  readonly source: PriceSource;
  readonly pairs: readonly Pair[]; // pairs that the source does not have are skipped
  readonly everyMs: number; // the feed's interval
  readonly ask: Ask;
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
const unlistedMs = 60 * minuteMs;
const doublingsMax = 10;
const unlistedStatus = [400, 404];

export function createMarketClient({ source, pairs, everyMs, ask, signal, log, clock }: MarketClientOptions): MarketClient {
  const { name } = source;
  const market = markets[name];
  const taken = pairs.filter(({ fiat }) => market.fiats.includes(fiat));
  const slots = new Map(taken.map((pair) => [pair, emptySlot()] as const));
  const origin = source.url === "" ? market.origin : source.url;
  let isBusy = false;
  let failures = 0;
  let notBeforeMs = 0;

  /** True if the source may be asked the next question. */
  function take(question: Question, asked: Asked): boolean {
    if (asked.ok) {
      const answer = parseExact(asked.text);
      for (const pair of question.pairs)
        receive(slots.get(pair), name, answer === null ? null : market.read(answer, pair), clock());
      return true;
    }
    const isUnlisted = unlistedStatus.includes(asked.status);
    for (const [pair, slot] of slots) {
      if (isUnlisted && !question.pairs.includes(pair)) continue;
      slot.trouble = asked.why;
      if (isUnlisted) slot.notBeforeMs = clock() + unlistedMs;
    }
    if (!isUnlisted) leaveAlone(asked.why, asked.waitMs);
    return isUnlisted;
  }

  function leaveAlone(why: string, waitMs: number): void {
    const doubled = everyMs * 2 ** Math.min(failures, doublingsMax);
    notBeforeMs = clock() + Math.max(waitMs, Math.min(backOffMsMax, doubled));
    failures += 1;
    if (failures === 1)
      log.warn({ event: "price-source-failed", source: name, why }, "a source of prices failed; it is asked again");
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
      if (isBusy || clock() < notBeforeMs) return;
      isBusy = true;
      const wanted = [...slots].filter(([, slot]) => clock() >= slot.notBeforeMs).map(([pair]) => pair);
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

const emptySlot = (): Slot => ({ reading: null, trouble: "not asked yet", leftOut: "silent", notBeforeMs: 0 });

function receive(slot: Slot | undefined, source: SourceName, said: Said | null, nowMs: number): void {
  if (slot === undefined) return;
  slot.trouble = said === null ? "no price in the answer" : "";
  if (said === null) return;
  const markSinceMs = slot.reading?.mark === said.mark ? slot.reading.markSinceMs : nowMs;
  slot.reading = { ...said, source, readAtMs: nowMs, markSinceMs };
}
