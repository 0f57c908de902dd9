/**
 * Months in UTC, and the keeping of their last blocks. Each network's ends are looked for when the
 * books are closed, a few at a time, the newest month first, and each end is asked for once. Asks
 * nodes that are passed in.
 */
import type { WatcherNodes } from "../../chains/nodes.ts";
import { readCursor } from "../store/cursors.ts";
import { oldestMerchantAt } from "../store/merchants.ts";
import { keepMonthEnd, listMonthEnds } from "../store/month-ends.ts";
import { type ClosingOptions, restMsAfter } from "./compare.ts";
import { lastBlockBefore } from "./period.ts";

/** A month in UTC: from its first millisecond up to that of the next one, which is not in it. */
export interface Month {
  readonly name: string; // such as 2026-11
  readonly sinceMs: number;
  readonly untilMs: number;
}

const monthPattern = /^\d{4}-(?:0[1-9]|1[0-2])$/;

/** The month of a text such as 2026-11; null for any other text. */
export function parseMonth(text: string): Month | null {
  return monthPattern.test(text) ? monthAt(Date.parse(`${text}-01T00:00:00Z`)) : null;
}

/**
 * The month of a time, or one that many months later.
 * @param ms milliseconds since 1970, within the years 0 to 9999
 */
export function monthAt(ms: number, later = 0): Month {
  const begin = new Date(ms);
  begin.setUTCDate(1);
  begin.setUTCHours(0, 0, 0, 0);
  begin.setUTCMonth(begin.getUTCMonth() + later);
  const end = new Date(begin);
  end.setUTCMonth(end.getUTCMonth() + 1);
  const name = begin.toISOString().slice(0, 7);
  return { name, sinceMs: begin.getTime(), untilMs: end.getTime() };
}

/**
 * The first month of a merchant's books: the one before it was made, because the newest final block
 * of a chain can be of that month, and a hot wallet's books may begin with it.
 */
export const firstMonthOf = (createdAt: number): Month => monthAt(createdAt, -1);

/** So many ended months have their last block kept at most when the keeping begins. */
const monthsMax = 13;
/** Ends that one closing looks for. Each costs twice the binary digits of a month's blocks. */
const endsAtOnce = 4;
const firstStep = 1_024;

export type MonthNodes = Pick<WatcherNodes, "timestamp">;

/** A network whose ends of months are kept. */
export type MonthOptions = Pick<
  ClosingOptions,
  "store" | "network" | "clock" | "rest" | "isStopped"
> & { readonly reader: MonthNodes };

/** The ended months whose last block a report may need, newest first. */
function neededMonths({ store: { database }, clock }: MonthOptions): readonly Month[] {
  const oldestAt = oldestMerchantAt(database);
  if (oldestAt === undefined) return [];
  const needed: Month[] = [];
  const first = monthAt(firstMonthOf(oldestAt).sinceMs, -1); // its end is the opening of the first
  for (let back = 1; back <= monthsMax; back += 1) {
    const month = monthAt(clock(), -back);
    if (month.sinceMs < first.sinceMs) break;
    needed.push(month);
  }
  return needed;
}

/**
 * Keeps the last block of each needed month that has ended and that the final block has passed.
 * Harmless to call twice: a kept end is not asked for again.
 * @returns false if an end is missing still
 * @throws AgentError NODE_*, GATEWAY_STORE_*
 */
export async function keepMonthEnds(options: MonthOptions): Promise<boolean> {
  const { store, network, isStopped } = options;
  const kept = new Map(listMonthEnds(store.database, network).map((row) => [row.month, row.block]));
  const missing = neededMonths(options).filter(({ name }) => !kept.has(name));
  if (missing.length === 0) return true;
  const final = readCursor(store.database, network)?.block;
  if (final === undefined) return false;
  const timestamp = timestampsWithRests(options);
  let keptNow = 0;
  for (const month of missing) {
    if (keptNow === endsAtOnce || isStopped?.() === true) break;
    const later = [...kept].filter(([name]) => name > month.name).sort();
    const block = await endOf(month, later[0]?.[1] ?? null, final, timestamp);
    if (block === null) continue;
    store.write((database) => keepMonthEnd(database, { network, month: month.name, block }));
    kept.set(month.name, block);
    keptNow += 1;
  }
  return missing.every(({ name }) => kept.has(name));
}

/** As in a closing, at least half of a node's time is left for payments. */
function timestampsWithRests({
  reader,
  clock,
  rest,
}: MonthOptions): (block: number) => Promise<number> {
  return async (block) => {
    const askedAt = clock();
    const seconds = await reader.timestamp(block);
    await rest(restMsAfter(askedAt, clock()));
    return seconds;
  };
}

/**
 * The last block of a month; null if the final block is in it, or before it.
 * @param later the last block of a later month; null if none is known
 */
async function endOf(
  { untilMs }: Month,
  later: number | null,
  final: number,
  timestamp: (block: number) => Promise<number>,
): Promise<number | null> {
  const isBefore = async (block: number): Promise<boolean> =>
    (await timestamp(block)) * 1000 < untilMs;
  if (later === null && (await isBefore(final))) return null;
  const high = later ?? final;
  if (high < 0) return -1;
  // From late to early, because many nodes have the late blocks alone.
  let floor = high;
  for (let step = firstStep; floor === high || (floor >= 0 && !(await isBefore(floor))); step *= 2)
    floor = Math.max(-1, high - step);
  return lastBlockBefore(timestamp, high, untilMs, floor);
}
