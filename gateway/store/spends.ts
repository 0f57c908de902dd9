/**
 * Final outgoing transactions of hot wallets, each by its slot, or only by its hash if the chain
 * has no slots.
 */
import type { SpendRow } from "./rows.ts";
import type { Slot } from "./slots.ts";
import type { Database } from "./store.ts";

/** Finds the signature that explains an outgoing transaction: a signature of the same account. */
export const explaining =
  "SELECT 1 FROM signatures WHERE signatures.txHash = spends.txHash AND signatures.account = spends.account";

/**
 * Keeps an outgoing transaction. Harmless to call twice, because a slot is spent only once, and so
 * is a hash. The alert of an earlier row is not repeated.
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

export function spendOf(database: Database, network: string, txHash: string): SpendRow | undefined {
  return database.get<SpendRow>("SELECT * FROM spends WHERE txHash = ? AND network = ?", txHash, network);
}

/** The outgoing transaction that used a slot. */
export function spendOfSlot(database: Database, { network, account, slot }: Slot): SpendRow | undefined {
  const sql = "SELECT * FROM spends WHERE network = ? AND account = ? AND slot = ? AND slot <> ''";
  return database.get<SpendRow>(sql, network, account, slot);
}

/**
 * The newest outgoing transactions of an account that no signature here explains, at most `most`.
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
 * Outgoing transactions on a network that were unexplained when they were read and have no alert
 * yet, oldest first. `isExplained`: a signature explains the transaction by now.
 */
export function listUntoldSpends(database: Database, network: string): readonly (SpendRow & { readonly isExplained: 0 | 1 })[] {
  return database.all(
    `SELECT spends.*, EXISTS (${explaining}) AS isExplained
     FROM spends WHERE network = ? AND untold = 1 ORDER BY block, txHash`,
    network,
  );
}

export function markSpendTold(database: Database, { network, txHash }: Pick<SpendRow, "network" | "txHash">): void {
  database.run("UPDATE spends SET untold = 0 WHERE txHash = ? AND network = ?", txHash, network);
}
