/** The balance of each hot wallet in each currency, at the newest final block that was read. */
import type { BalanceRow } from "./rows.ts";
import type { Database } from "./store.ts";

/** Undefined until the watcher has read the account. */
export function readBalanceRow(
  database: Database,
  account: string,
  currency: string,
): BalanceRow | undefined {
  return database.get<BalanceRow>(
    "SELECT * FROM balances WHERE account = ? AND currency = ?",
    account,
    currency,
  );
}

/** A balance with the part of it that no payment can spend (unusable-coins.ts). */
export type SpendableBalance = Pick<BalanceRow, "units" | "block"> & {
  readonly unusableUnits: string;
};

/** Undefined until the watcher has read the account. */
export function readSpendable(
  database: Database,
  account: string,
  currency: string,
): SpendableBalance | undefined {
  return database.get<SpendableBalance>(
    `SELECT b.units, b.block, coalesce(u.units, '0') AS unusableUnits
     FROM balances b LEFT JOIN unusableCoins u ON u.account = b.account AND u.currency = b.currency
     WHERE b.account = ? AND b.currency = ?`,
    ...[account, currency],
  );
}

/** Replaces the earlier balance. */
export function keepBalance(
  database: Database,
  { account, currency, units, block, at }: BalanceRow,
): void {
  database.run(
    `INSERT INTO balances (account, currency, units, block, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (account, currency)
       DO UPDATE SET units = excluded.units, block = excluded.block, at = excluded.at`,
    ...[account, currency, units, block, at],
  );
}
