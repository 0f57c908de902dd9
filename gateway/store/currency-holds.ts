/**
 * Currencies in which nothing is paid: held by this gateway since a payout moved something else, or
 * by an agent's ledger. A hold is of all merchants if the token's contract did otherwise than it
 * was asked, and of one merchant if its agent asked for something else.
 */
import type { Database } from "./store.ts";

/** The words for a currency that is held for all merchants. */
export const heldText =
  "held: a payout in it moved something else than was asked for, so nothing is paid in it";

/** A held currency. */
export interface CurrencyHold {
  readonly currency: string;
  readonly merchant: string; // its id; "" for all of them
  readonly at: number; // Unix milliseconds
  readonly transactionId: string; // the withdrawal or sweep that moved something else
  readonly txHash: string;
}

/**
 * Holds a currency. A currency that is held for the same merchant, or for all, keeps its hold.
 * @returns true if the hold is new
 */
export function holdCurrency(database: Database, hold: CurrencyHold): boolean {
  const { currency, merchant, at, transactionId, txHash } = hold;
  if (currencyHoldOf(database, currency, merchant) !== undefined) return false;
  database.run(
    "INSERT INTO currencyHolds (currency, merchant, at, transactionId, txHash) VALUES (?, ?, ?, ?, ?)",
    ...[currency, merchant, at, transactionId, txHash],
  );
  return true;
}

/** The hold of a currency for a merchant, "" for all; undefined if it is paid in. */
export function currencyHoldOf(
  database: Database,
  currency: string,
  merchant: string,
): CurrencyHold | undefined {
  const sql =
    "SELECT * FROM currencyHolds WHERE currency = ? AND merchant IN (?, '') ORDER BY merchant LIMIT 1";
  return database.get<CurrencyHold>(sql, currency, merchant);
}

/** Every hold, the oldest first. */
export function listCurrencyHolds(database: Database): readonly CurrencyHold[] {
  return database.all<CurrencyHold>("SELECT * FROM currencyHolds ORDER BY at, currency, merchant");
}

/** Ends every hold of a currency. Harmless to call twice. @returns the holds that ended */
export function resumeCurrency(database: Database, currency: string): readonly CurrencyHold[] {
  const ended = listCurrencyHolds(database).filter((hold) => hold.currency === currency);
  database.run("DELETE FROM currencyHolds WHERE currency = ?", currency);
  return ended;
}

/** More currencies than an agent has; what it names beyond that is not kept. */
const stopsMax = 256;

/** A currency in which an agent signs no first attempt, by its ledger. */
export interface CurrencyStop {
  readonly agent: string;
  readonly merchant: string; // its name
  readonly network: string;
  readonly currency: string;
  readonly at: number; // Unix milliseconds, by the agent's ledger
}

/** Keeps that an agent signs no first attempt in a currency since `at`; null: it does again. */
export function keepCurrencyStop(
  database: Database,
  { agent, network, currency }: Pick<CurrencyStop, "agent" | "network" | "currency">,
  at: number | null,
): void {
  const place = [agent, network, currency];
  if (at === null)
    database.run(
      "DELETE FROM currencyStops WHERE agent = ? AND network = ? AND currency = ?",
      ...place,
    );
  else
    database.run(
      `INSERT OR IGNORE INTO currencyStops (agent, network, currency, at)
       SELECT ?, ?, ?, ? WHERE (SELECT count(*) FROM currencyStops WHERE agent = ?) < ${stopsMax}`,
      ...[...place, at, agent],
    );
}

/** Forgets the stops of an agent, which tells those that hold of its recovered ledger. */
export function forgetCurrencyStops(database: Database, agent: string): void {
  database.run("DELETE FROM currencyStops WHERE agent = ?", agent);
}

/** The stops of all paired agents, the oldest first. */
export function listCurrencyStops(database: Database, most: number): readonly CurrencyStop[] {
  return database.all<CurrencyStop>(
    `SELECT s.agent, m.name AS merchant, s.network, s.currency, s.at FROM agents a
       JOIN currencyStops s ON s.agent = a.id JOIN merchants m ON m.id = a.merchant WHERE a.unpairedAt IS NULL
     ORDER BY s.at, s.agent, s.network, s.currency LIMIT ?`,
    most,
  );
}
