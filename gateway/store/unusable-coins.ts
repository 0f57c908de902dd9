/**
 * The part of a hot wallet's balance that lies in coins which no payment can spend, because the
 * transactions that made them are too large to be proven. Such money is in the balance and not
 * available.
 */
import type { Statements as Database } from "./statements.ts";

export interface UnusableRow {
  readonly account: string;
  readonly currency: string;
  readonly units: string;
  readonly words: string; // the reason for one of the coins
  readonly at: number; // when the balance was read
}

/** Replaces what was known of the account; null: it has no such coins. */
export function keepUnusable(
  database: Database,
  { account, currency }: Pick<UnusableRow, "account" | "currency">,
  row: Pick<UnusableRow, "units" | "words" | "at"> | null,
): void {
  database.run("DELETE FROM unusableCoins WHERE account = ? AND currency = ?", account, currency);
  if (row === null) return;
  const sql =
    "INSERT INTO unusableCoins (account, currency, units, words, at) VALUES (?, ?, ?, ?, ?)";
  database.run(sql, account, currency, row.units, row.words, row.at);
}

/** The units of an account that no payment can spend; 0 if there are none. */
export function unusableUnitsOf(database: Database, account: string, currency: string): bigint {
  const sql = "SELECT units FROM unusableCoins WHERE account = ? AND currency = ?";
  return BigInt(database.get<Pick<UnusableRow, "units">>(sql, account, currency)?.units ?? "0");
}

/** All accounts with such coins, at most `most`. */
export function listUnusable(database: Database, most: number): readonly UnusableRow[] {
  return database.all<UnusableRow>(
    "SELECT * FROM unusableCoins ORDER BY account, currency LIMIT ?",
    most,
  );
}
