/**
 * Final transactions of paying accounts, each by its slot; where the chain has no slots, by its
 * hash alone.
 */
import type { SpendRow } from "./rows.ts";
import type { Slot } from "./slots.ts";
import type { Database } from "./store.ts";

/** The signature that explains a spend: of the account that spent. */
export const explaining =
  "SELECT 1 FROM signatures WHERE signatures.txHash = spends.txHash AND signatures.account = spends.account";

/**
 * Twice is harmless: a slot is spent once, and so is a hash. One that was told stays told.
 * @public
 */
export function keepSpend(database: Database, spend: SpendRow): void {
  const { network, account, slot, txHash, block, receiver, contract, units, untold } = spend;
  const others = "DELETE FROM spends WHERE network = ? AND account = ? AND slot = ? AND slot <> '' AND txHash <> ?";
  database.run(others, network, account, slot, txHash);
  database.run(
    `INSERT INTO spends (network, account, slot, txHash, block, receiver, contract, units, untold) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (network, account, slot, txHash) DO UPDATE SET block = excluded.block, receiver = excluded.receiver,
       contract = excluded.contract, units = excluded.units`,
    ...[network, account, slot, txHash, block, receiver, contract, units, untold],
  );
}

/** @public */
export function spendOf(database: Database, network: string, txHash: string): SpendRow | undefined {
  return database.get<SpendRow>("SELECT * FROM spends WHERE txHash = ? AND network = ?", txHash, network);
}

/**
 * The one that used a slot.
 * @public
 */
export function spendOfSlot(database: Database, { network, account, slot }: Slot): SpendRow | undefined {
  const sql = "SELECT * FROM spends WHERE network = ? AND account = ? AND slot = ? AND slot <> ''";
  return database.get<SpendRow>(sql, network, account, slot);
}

/**
 * The newest of an account that no signature here explains, at most `most`.
 * @public
 */
export function listUnexplainedSpends(database: Database, account: string, most: number): readonly SpendRow[] {
  return database.all<SpendRow>(
    `SELECT * FROM spends
     WHERE account = ? AND NOT EXISTS (${explaining})
     ORDER BY block DESC, length(slot) DESC, slot DESC, txHash LIMIT ?`,
    ...[account, most],
  );
}

/**
 * Spends on a network that nothing explained when they were read, the oldest first, with whether a
 * signature does by now.
 * @public
 */
export function listUntoldSpends(database: Database, network: string): readonly (SpendRow & { readonly isExplained: 0 | 1 })[] {
  return database.all(
    `SELECT spends.*, EXISTS (${explaining}) AS isExplained
     FROM spends WHERE network = ? AND untold = 1 ORDER BY block, txHash`,
    network,
  );
}

/** @public */
export function markSpendTold(database: Database, { network, txHash }: Pick<SpendRow, "network" | "txHash">): void {
  database.run("UPDATE spends SET untold = 0 WHERE txHash = ? AND network = ?", txHash, network);
}
