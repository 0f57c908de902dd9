/** The state of a network's books after the newest closing. Reads only the tables. */
import { listDifferences, readClosing } from "../store/books.ts";
import type { Database } from "../store/store.ts";

export interface BooksState {
  readonly ok: boolean; // closed in time, without a difference
  readonly detail: string; // public: names no address and no amount
  readonly differences: number;
  readonly closedAt: number | null; // milliseconds since 1970
}

/** A day, and the time for a closing and its retries. */
const lateMs = 30 * 3_600_000;

/** Before its first closing a network is fine, unless a closing failed. */
export function booksState(database: Database, network: string, nowMs: number): BooksState {
  const closing = readClosing(database, network);
  const differences = listDifferences(database, network).length;
  const closedAt = closing?.closedAt ?? null;
  const fault = closing === undefined || closing.fault === "" ? "" : `, newest try: ${closing.fault}`;
  const when = closedAt === null ? "not closed yet" : `closed at ${new Date(closedAt).toISOString()}`;
  const left = closing === undefined || closing.left === 0 ? "" : `, ${closing.left} balances not compared`;
  const count = `, ${differences} ${differences === 1 ? "difference" : "differences"}`;
  const isLate = closedAt === null ? fault !== "" : nowMs - closedAt > lateMs;
  const detail = `${when}${closedAt === null && differences === 0 ? "" : count}${left}${fault}`;
  return { ok: differences === 0 && !isLate, detail, differences, closedAt };
}
