/**
 * Writes what a closing found, in one transaction: entries, differences in the place of those
 * before, an alarm for each new one, and the closing's own row where it looked at everything.
 */
import { formatAmount } from "../../protocol/amount.ts";
import { recordAlarm } from "../store/alarm.ts";
import {
  addBookEntry,
  type BookEntryRow,
  type DifferenceRow,
  dropDifference,
  keepClosing,
  keepDifference,
  listBookEntries,
  readClosing,
} from "../store/books.ts";
import type { Database } from "../store/store.ts";
import type { BookCurrency, ClosingOptions, Left } from "./compare.ts";

/**
 * Findings of a closing on one network.
 * @public
 */
export interface Closed {
  readonly network: string;
  readonly at: number;
  readonly firstBlock: number;
  readonly lastBlock: number; // another than the first where nodes did not keep its state
  readonly addresses: number;
  readonly hotWallets: number;
  readonly compared: number; // balances
  readonly left: readonly Left[];
  readonly differences: readonly DifferenceRow[];
  readonly entries: readonly BookEntryRow[]; // openings, and what came from outside or an owner took
  readonly news: readonly DifferenceRow[]; // differences that no closing told of before
  readonly isStopped: boolean; // before its end: nothing was written
}

/** Facts of a closing that the writing needs beside its findings. */
interface Kept {
  readonly seen: readonly DifferenceRow[]; // earlier ones whose balances were compared again
  readonly entryCounts: ReadonlyMap<string, number>; // entries of an account when it was compared
}

/** @returns the closing with what was written of it */
export function keepClosed(options: ClosingOptions, closed: Closed, { seen, entryCounts }: Kept): Closed {
  const { store, network, currencies, clock } = options;
  return store.write((database) => {
    const entries = closed.entries.filter((entry) => isCurrent(database, entry, entryCounts));
    // Money that an owner took out is told and not booked: the sum of it stays to be seen.
    for (const entry of entries) if (entry.kind !== "owner") addBookEntry(database, entry);
    for (const row of seen) dropDifference(database, row);
    for (const row of closed.differences) keepDifference(database, row);
    const news = closed.differences.filter((row) => {
      const detail = differenceWords(row, currencies);
      return recordAlarm(database, { at: clock(), actor: "books", code: "BOOKS_DIFFERENCE", subject: row.address, detail });
    });
    if (options.isWhole) {
      const { firstBlock, lastBlock, addresses, hotWallets, compared } = closed;
      const left = closed.left.reduce((sum, { balances }) => sum + balances, 0);
      keepClosing(database, {
        ...{ network, closedAt: closed.at, firstBlock, lastBlock, addresses, hotWallets, compared, left },
        ...{ triedAt: closed.at, fault: "" },
      });
    }
    return { ...closed, entries, news };
  });
}

/**
 * Somebody else may have written of the account since it was compared; the next closing looks
 * again.
 */
function isCurrent(database: Database, { network, address }: BookEntryRow, counts: ReadonlyMap<string, number>): boolean {
  return listBookEntries(database, network, [address]).length === counts.get(address);
}

/**
 * Keeps that a try to close the books failed.
 * @param code of the fault
 */
export function keepFailed(database: Database, network: string, code: string, nowMs: number): void {
  const none = { closedAt: null, firstBlock: 0, lastBlock: 0, addresses: 0, hotWallets: 0, compared: 0, left: 0 };
  keepClosing(database, { ...none, ...readClosing(database, network), network, triedAt: nowMs, fault: code });
}

/**
 * A difference in one sentence, the same for the same difference.
 * @public
 */
export function differenceWords(row: DifferenceRow, currencies: readonly Pick<BookCurrency, "id" | "decimal">[]): string {
  const { currency, kind, expectedUnits, foundUnits, sinceBlock } = row;
  const rest = BigInt(foundUnits) - BigInt(expectedUnits);
  const amount = amountWords(rest < 0n ? -rest : rest, currency, currencies);
  const where = kind === "hot" ? "the hot wallet" : "the deposit address";
  const more = rest < 0n ? "less than the database explains" : "more than the database explains";
  const from = sinceBlock === null ? "unknown" : `${sinceBlock}`;
  return `${where} holds ${amount} ${more}; from block: ${from}`;
}

/**
 * An amount as people write it; in base units where the configuration has no such currency.
 * @public
 */
export function amountWords(
  units: bigint,
  currency: string,
  currencies: readonly Pick<BookCurrency, "id" | "decimal">[],
): string {
  const known = currencies.find(({ id }) => id === currency);
  if (known === undefined) return `${units} base units of ${currency}`;
  const digits = formatAmount(units < 0n ? -units : units, known.decimal);
  return `${units < 0n ? "-" : ""}${digits} ${currency}`;
}
