/** What each paying account held at the newest final block that was read, in each currency. */
import type { BalanceRow } from "./rows.ts";
import type { Database } from "./store.ts";

/**
 * Undefined while the watcher has not read the account yet.
 * @public
 */
export function readBalanceRow(database: Database, account: string, currency: string): BalanceRow | undefined {
  return database.get<BalanceRow>("SELECT * FROM balances WHERE account = ? AND currency = ?", account, currency);
}

/**
 * Takes the place of the one before.
 * @public
 */
export function keepBalance(database: Database, { account, currency, units, block, at }: BalanceRow): void {
  database.run(
    `INSERT INTO balances (account, currency, units, block, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (account, currency)
       DO UPDATE SET units = excluded.units, block = excluded.block, at = excluded.at`,
    ...[account, currency, units, block, at],
  );
}
