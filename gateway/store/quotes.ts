/**
 * The prices of a choice of an invoice, and the price at which each transaction counts that pays
 * it: the one of its first sight, which no later price changes. Source: docs/api.md, Invoices.
 */
import type { DepositRow } from "./rows.ts";
import type { Database } from "./store.ts";

export interface QuoteRow {
  readonly transactionId: string; // the choice
  readonly number: number; // counts up from 1 in each choice
  readonly price: string; // canonical, for one unit of the currency
  readonly priceAt: number; // when that price was right
  readonly fromAt: number;
  readonly untilAt: number; // not in force any more at this time
}

export interface FirstSightRow {
  readonly transactionId: string;
  readonly txHash: string;
  readonly at: number; // milliseconds
  readonly quote: number;
}

/** The quotes of a choice, the newest last. */
export function listQuotes(database: Database, transactionId: string): readonly QuoteRow[] {
  const sql = "SELECT * FROM quotes WHERE transactionId = ? ORDER BY number";
  return database.all<QuoteRow>(sql, transactionId);
}

/** The newest quote that the payer was given; those that one payment made are of that one alone. */
export function newestGivenQuote(database: Database, transactionId: string): QuoteRow | undefined {
  const sql =
    "SELECT * FROM quotes WHERE transactionId = ? AND fromAt < untilAt ORDER BY number DESC LIMIT 1";
  return database.get<QuoteRow>(sql, transactionId);
}

/** Must not be called twice, because choice and number are the table's key. */
export function insertQuote(database: Database, row: QuoteRow): void {
  const { transactionId, number, price, priceAt, fromAt, untilAt } = row;
  database.run(
    "INSERT INTO quotes (transactionId, number, price, priceAt, fromAt, untilAt) VALUES (?, ?, ?, ?, ?, ?)",
    ...[transactionId, number, price, priceAt, fromAt, untilAt],
  );
}

/** The first sights of a choice, the earliest first. */
export function listFirstSights(
  database: Database,
  transactionId: string,
): readonly FirstSightRow[] {
  const sql = "SELECT * FROM firstSights WHERE transactionId = ? ORDER BY at, txHash";
  return database.all<FirstSightRow>(sql, transactionId);
}

/** Keeps a first sight. Harmless to call twice: the first one stays. */
export function keepFirstSight(database: Database, row: FirstSightRow): void {
  const { transactionId, txHash, at, quote } = row;
  database.run(
    "INSERT INTO firstSights (transactionId, txHash, at, quote) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
    ...[transactionId, txHash, at, quote],
  );
}

/** Forgets the sights of payments that no node shows any more, and that no block has. */
export function forgetLostSights(database: Database, transactionId: string): void {
  database.run(
    `DELETE FROM firstSights WHERE transactionId = ?1
       AND NOT EXISTS (SELECT 1 FROM payments p WHERE p.transactionId = ?1 AND p.txHash = firstSights.txHash)
       AND NOT EXISTS (SELECT 1 FROM arriving a WHERE a.transactionId = ?1 AND a.txHash = firstSights.txHash)`,
    transactionId,
  );
}

/** A payment in a block to an open choice, whose first sight is not kept. */
export interface UnsightedPayment {
  readonly transactionId: string;
  readonly txHash: string;
  readonly block: number;
}

/**
 * Payments in blocks to open choices of a network without a first sight, oldest block first. A
 * choice that is set aside waits for an operator, and holds no other up.
 */
export function listUnsightedPayments(
  database: Database,
  network: string,
  most: number,
): readonly UnsightedPayment[] {
  return database.all<UnsightedPayment>(
    `SELECT p.transactionId, p.txHash, min(p.block) AS block FROM deposits d JOIN payments p ON p.transactionId = d.id
     WHERE d.status = 0 AND d.invoice IS NOT NULL AND d.network = ? AND p.currency = d.currency AND NOT EXISTS
       (SELECT 1 FROM firstSights s WHERE s.transactionId = p.transactionId AND s.txHash = p.txHash)
       AND NOT EXISTS (SELECT 1 FROM setAside x WHERE x.kind = 'judgement' AND x.id = d.id)
     GROUP BY p.transactionId, p.txHash ORDER BY min(p.block), p.transactionId, p.txHash LIMIT ?`,
    ...[network, most],
  );
}

/** True if a payment in a block to this choice has no first sight yet. */
export function hasUnsightedPayment(
  database: Database,
  { id, currency }: Pick<DepositRow, "id" | "currency">,
): boolean {
  const sql = `SELECT 1 FROM payments p WHERE p.transactionId = ? AND p.currency = ? AND NOT EXISTS
    (SELECT 1 FROM firstSights s WHERE s.transactionId = p.transactionId AND s.txHash = p.txHash) LIMIT 1`;
  return database.get(sql, id, currency) !== undefined;
}

/** The amount that a choice asks for now. */
export type AskedSum = Pick<DepositRow, "amount" | "units" | "toleranceUnits" | "quote">;

/** Changes the amount that an open choice asks for. */
export function updateAskedSum(database: Database, id: string, sum: AskedSum, nowMs: number): void {
  const { amount, units, toleranceUnits, quote } = sum;
  database.run(
    "UPDATE deposits SET amount = ?, units = ?, toleranceUnits = ?, quote = ?, changedAt = ? WHERE id = ? AND status = 0",
    ...[amount, units, toleranceUnits, quote, nowMs, id],
  );
}
