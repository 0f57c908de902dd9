/** Addresses that were given out for deposits: each belongs to one request for ever. */
import type { DepositAddressRow } from "./rows.ts";
import type { Database } from "./store.ts";

/** @public */
export function insertDepositAddress(database: Database, row: DepositAddressRow): void {
  const sql = "INSERT INTO depositAddresses (address, agent, addressIndex, transactionId) VALUES (?, ?, ?, ?)";
  database.run(sql, row.address, row.agent, row.addressIndex, row.transactionId);
}

/**
 * Whether the address was given out under the agent's deposit key.
 * @public
 */
export function isDepositAddressOf(database: Database, address: string, agentId: string): boolean {
  const sql = "SELECT 1 FROM depositAddresses WHERE address = ? AND agent = ?";
  return database.get(sql, address, agentId) !== undefined;
}

/**
 * What was given out after `place`, in order; each row names its own place, and the network that it
 * was asked for.
 * @public
 */
export function listDepositAddressesAfter(
  database: Database,
  place: number,
): readonly (Pick<DepositAddressRow, "address" | "transactionId"> & { readonly place: number; readonly network: string })[] {
  return database.all(
    `SELECT depositAddresses.rowid AS place, address, transactionId, network FROM depositAddresses
     JOIN transactions ON transactions.id = transactionId WHERE depositAddresses.rowid > ? ORDER BY depositAddresses.rowid`,
    place,
  );
}
