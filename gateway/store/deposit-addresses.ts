/** Deposit addresses that were given out. Each belongs to one request permanently. */
import type { DepositAddressRow } from "./rows.ts";
import type { Database } from "./store.ts";

export function insertDepositAddress(database: Database, row: DepositAddressRow): void {
  const sql =
    "INSERT INTO depositAddresses (address, agent, addressIndex, transactionId) VALUES (?, ?, ?, ?)";
  database.run(sql, row.address, row.agent, row.addressIndex, row.transactionId);
}

/** True if the address was given out under the agent's deposit key. */
export function isDepositAddressOf(database: Database, address: string, agentId: string): boolean {
  const sql = "SELECT 1 FROM depositAddresses WHERE address = ? AND agent = ?";
  return database.get(sql, address, agentId) !== undefined;
}

/**
 * The addresses given out after row `place`, in order. Each row has its own place and the network
 * of its request.
 */
export function listDepositAddressesAfter(
  database: Database,
  place: number,
): readonly (Pick<DepositAddressRow, "address" | "transactionId"> & {
  readonly place: number;
  readonly network: string;
})[] {
  return database.all(
    `SELECT a.rowid AS place, a.address, a.transactionId, d.network FROM depositAddresses a
     JOIN deposits d ON d.id = a.transactionId WHERE a.rowid > ? ORDER BY a.rowid`,
    place,
  );
}
