/** Final transactions of paying accounts, each by its slot. */
import type { SpendRow } from "./rows.ts";
import type { Database } from "./store.ts";

/**
 * Twice is harmless: a slot is spent once.
 * @public
 */
export function keepSpend(database: Database, spend: SpendRow): void {
  const { network, account, slot, txHash, block, receiver, contract, units } = spend;
  database.run(
    "INSERT OR REPLACE INTO spends (network, account, slot, txHash, block, receiver, contract, units) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    ...[network, account, slot, txHash, block, receiver, contract, units],
  );
}

/**
 * The newest of an account that no signature here explains, at most `most`.
 * @public
 */
export function listUnexplainedSpends(database: Database, account: string, most: number): readonly SpendRow[] {
  return database.all<SpendRow>(
    `SELECT network, account, slot, txHash, block, receiver, contract, units FROM spends
     WHERE account = ? AND NOT EXISTS (SELECT 1 FROM signatures WHERE signatures.txHash = spends.txHash)
     ORDER BY block DESC, length(slot) DESC, slot DESC LIMIT ?`,
    ...[account, most],
  );
}
