/**
 * Final outgoing transactions of hot wallets, each by its slot, or only by its hash if the chain
 * has no slots.
 */
import type { OutgoingRow } from "./rows.ts";
import type { Slot } from "./slots.ts";
import type { Database } from "./store.ts";

/** Finds the signature that explains an outgoing transaction: a signature of the same account. */
export const explainingSignatureSql =
  "SELECT 1 FROM signatures WHERE signatures.txHash = outgoing.txHash AND signatures.account = outgoing.account";

/**
 * Keeps an outgoing transaction. Harmless to call twice, because a slot is spent only once, and so
 * is a hash. The alert of an earlier row is not repeated.
 */
export function keepOutgoing(database: Database, outgoingTx: OutgoingRow): void {
  const { network, account, slot, txHash, block, receiver, tag, contract, units, untold } =
    outgoingTx;
  const others =
    "DELETE FROM outgoing WHERE network = ? AND account = ? AND slot = ? AND slot <> '' AND txHash <> ?";
  database.run(others, network, account, slot, txHash);
  database.run(
    `INSERT INTO outgoing (network, account, slot, txHash, block, receiver, tag, contract, units, untold)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (network, account, slot, txHash) DO UPDATE SET block = excluded.block, receiver = excluded.receiver,
       tag = excluded.tag, contract = excluded.contract, units = excluded.units`,
    ...[network, account, slot, txHash, block, receiver, tag, contract, units, untold],
  );
}

export function outgoingOf(
  database: Database,
  network: string,
  txHash: string,
): OutgoingRow | undefined {
  return database.get<OutgoingRow>(
    "SELECT * FROM outgoing WHERE txHash = ? AND network = ?",
    txHash,
    network,
  );
}

/** The outgoing transaction that used a slot. */
export function outgoingOfSlot(
  database: Database,
  { network, account, slot }: Slot,
): OutgoingRow | undefined {
  const sql =
    "SELECT * FROM outgoing WHERE network = ? AND account = ? AND slot = ? AND slot <> ''";
  return database.get<OutgoingRow>(sql, network, account, slot);
}

/**
 * The newest outgoing transactions of an account that no signature here explains, at most `most`.
 */
export function listUnexplainedOutgoing(
  database: Database,
  account: string,
  most: number,
): readonly OutgoingRow[] {
  return database.all<OutgoingRow>(
    `SELECT * FROM outgoing
     WHERE account = ? AND NOT EXISTS (${explainingSignatureSql})
     ORDER BY block DESC, length(slot) DESC, slot DESC, txHash LIMIT ?`,
    ...[account, most],
  );
}

/**
 * Outgoing transactions on a network that were unexplained when they were read and have no alert
 * yet, oldest first. `isExplained`: a signature explains the transaction by now.
 */
export function listUntoldOutgoing(
  database: Database,
  network: string,
): readonly (OutgoingRow & { readonly isExplained: 0 | 1 })[] {
  return database.all(
    `SELECT outgoing.*, EXISTS (${explainingSignatureSql}) AS isExplained
     FROM outgoing WHERE network = ? AND untold = 1 ORDER BY block, txHash`,
    network,
  );
}

export function markOutgoingTold(
  database: Database,
  { network, txHash }: Pick<OutgoingRow, "network" | "txHash">,
): void {
  database.run(
    "UPDATE outgoing INDEXED BY outgoingByHash SET untold = 0 WHERE txHash = ? AND network = ?",
    txHash,
    network,
  );
}
