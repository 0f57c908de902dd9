/**
 * Writes the results of a closing in one transaction: entries, differences that replace earlier
 * ones, and an alarm for each new difference. A closing that compared everything also gets its own
 * row.
 */
import type { CauseOf } from "../../base/causes.ts";
import { formatAmount } from "../../protocol/amount.ts";
import { recordAlarm } from "../store/alarm.ts";
import {
  addBookEntry,
  type DifferenceRow,
  dropDifference,
  keepDifference,
  listAdjustments,
  type OwnedBookRow,
  readClosing,
  replaceClosing,
} from "../store/books.ts";
import type { Database } from "../store/store.ts";
import type { BookCurrency, ClosingOptions, UncomparedBalances } from "./compare.ts";

/** Results of a closing on one network. */
export interface ClosingResult {
  readonly network: string;
  readonly at: number;
  readonly firstBlock: number;
  readonly lastBlock: number; // differs from `firstBlock` if nodes did not keep its state
  readonly addresses: number;
  readonly hotWallets: number;
  readonly compared: number; // number of balances
  readonly left: readonly UncomparedBalances[];
  readonly differences: readonly DifferenceRow[];
  readonly entries: readonly OwnedBookRow[]; // openings, and payments from outside or by an owner
  readonly news: readonly DifferenceRow[]; // differences that no earlier closing reported
  readonly isStopped: boolean; // interrupted: nothing was written
}

/** Data of a closing, besides its results, that the writing needs. */
interface ClosingContext {
  readonly seen: readonly DifferenceRow[]; // earlier differences whose balances were compared again
  readonly entryCounts: ReadonlyMap<string, number>; // number of an account's entries when it was compared
}

/** @returns the closing with the entries that were written */
export function keepClosing(
  options: ClosingOptions,
  closed: ClosingResult,
  { seen, entryCounts }: ClosingContext,
): ClosingResult {
  const { store, network, currencies, clock } = options;
  return store.write((database) => {
    const entries = closed.entries.filter((entry) => isCurrent(database, entry, entryCounts));
    // Each closing tells the total that an owner took out; the watcher writes it.
    for (const entry of entries) if (entry.kind !== "owner") addBookEntry(database, entry);
    for (const row of seen) dropDifference(database, row);
    for (const row of closed.differences) keepDifference(database, row);
    const news = closed.differences.filter((row) => {
      const detail = differenceWords(row, currencies);
      const alarm = {
        code: "BOOKS_DIFFERENCE",
        cause: causeOfDifference(row),
        subject: row.address,
        detail,
      } as const;
      return recordAlarm(database, { ...alarm, at: clock(), actor: "books" });
    });
    if (options.isWhole) {
      const { firstBlock, lastBlock, addresses, hotWallets, compared } = closed;
      const left = closed.left.reduce((sum, { balances }) => sum + balances, 0);
      replaceClosing(database, {
        network,
        closedAt: closed.at,
        firstBlock,
        lastBlock,
        addresses,
        hotWallets,
        compared,
        left,
        triedAt: closed.at,
        fault: "",
      });
    }
    return { ...closed, entries, news };
  });
}

/**
 * False if another entry was written for the account since its comparison; the next closing
 * compares it again.
 */
function isCurrent(
  database: Database,
  { network, address }: OwnedBookRow,
  counts: ReadonlyMap<string, number>,
): boolean {
  return listAdjustments(database, network, [address]).length === counts.get(address);
}

/**
 * Keeps that a try to close the books failed.
 * @param code of the fault
 */
export function keepFailedClosing(
  database: Database,
  network: string,
  code: string,
  nowMs: number,
): void {
  const none = {
    closedAt: null,
    firstBlock: 0,
    lastBlock: 0,
    addresses: 0,
    hotWallets: 0,
    compared: 0,
    left: 0,
  };
  replaceClosing(database, {
    ...none,
    ...readClosing(database, network),
    network,
    triedAt: nowMs,
    fault: code,
  });
}

/**
 * The cause of a difference. Money that only came to a hot wallet is an entry and no difference,
 * so from a hot wallet with a difference money left, whatever came in since.
 */
export function causeOfDifference({
  kind,
  expectedUnits,
  foundUnits,
}: Pick<DifferenceRow, "kind" | "expectedUnits" | "foundUnits">): CauseOf<"BOOKS_DIFFERENCE"> {
  if (kind === "hot") return "hot";
  return BigInt(foundUnits) < BigInt(expectedUnits) ? "deposit-less" : "deposit-more";
}

/** A difference in one sentence; the same difference always gives the same sentence. */
export function differenceWords(
  row: DifferenceRow,
  currencies: readonly Pick<BookCurrency, "id" | "decimal">[],
): string {
  const { currency, kind, expectedUnits, foundUnits, sinceBlock } = row;
  const rest = BigInt(foundUnits) - BigInt(expectedUnits);
  const amount = amountWords(rest < 0n ? -rest : rest, currency, currencies);
  const where = kind === "hot" ? "the hot wallet" : "the deposit address";
  const more = rest < 0n ? "less than the database explains" : "more than the database explains";
  const from = sinceBlock === null ? "unknown" : `${sinceBlock}`;
  return `${where} holds ${amount} ${more}; from block: ${from}`;
}

/** An amount in the usual notation; in base units if the configuration has no such currency. */
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
