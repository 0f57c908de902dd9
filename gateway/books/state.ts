/** The state of a network's books after the newest closing. Reads only the tables. */
import { formatTimestampUtc } from "../../base/timestamp.ts";
import { type DifferenceRow, listDifferences, readClosing } from "../store/books.ts";
import type { Database } from "../store/store.ts";

export interface BooksState {
  readonly ok: boolean; // closed in time, without a difference
  readonly detail: string; // public: names no address and no amount; "" if all is well
  readonly differences: number;
  readonly closedAt: number | null; // milliseconds since 1970
}

/** Books are late after a day, and the time for a closing and its retries. */
export const booksLateMs = 30 * 3_600_000;

/**
 * Books that are well have no detail. Before its first closing a network is well, unless a closing
 * failed. An operator may close the books of one currency or merchant alone, so the time of the
 * newest closing says nothing about the differences that are open now: they have their own.
 */
export function booksState(database: Database, network: string, nowMs: number): BooksState {
  const closing = readClosing(database, network);
  const open = listDifferences(database, network);
  const closedAt = closing?.closedAt ?? null;
  const isLate = closedAt !== null && nowMs - closedAt > booksLateMs;
  const isFailed = closing !== undefined && closing.fault !== "";
  const words = [
    ...(open.length === 0 ? [] : [differencesText(open)]),
    ...(closing === undefined || closing.left === 0
      ? []
      : [`${closing.left} balances not compared`]),
    ...(isFailed ? [`newest try: ${closing.fault}`] : []),
  ];
  const when =
    closedAt === null
      ? "no whole closing yet"
      : `newest whole closing at ${formatTimestampUtc(closedAt)}`;
  const detail = words.length === 0 && !isLate ? "" : [...words, when].join(", ");
  const ok = open.length === 0 && !isLate && !(closedAt === null && isFailed);
  return { ok, detail, differences: open.length, closedAt };
}

function differencesText(open: readonly DifferenceRow[]): string {
  const since = formatTimestampUtc(Math.min(...open.map(({ at }) => at)));
  return open.length === 1
    ? `1 difference, found at ${since}`
    : `${open.length} differences, the first found at ${since}`;
}
