/**
 * Currencies in which an address was not looked at, because they could not be read. The baseline of
 * such a currency is the balance of its first reading. Source: docs/architecture.md section 8.
 */
import type { AccountPlace } from "./journal.ts";
import type { Statements as Database } from "./statements.ts";

/** Harmless to call twice. */
export function keepUnreadAddressCurrency(
  database: Database,
  { network, address, currency }: AccountPlace,
): void {
  database.run(
    "INSERT OR IGNORE INTO lookGaps (network, address, currency) VALUES (?, ?, ?)",
    network,
    address,
    currency,
  );
}

/** @returns false if there was none */
export function dropLookGap(
  database: Database,
  { network, address, currency }: AccountPlace,
): boolean {
  const sql = "DELETE FROM lookGaps WHERE network = ? AND address = ? AND currency = ?";
  return database.run(sql, network, address, currency).changes > 0;
}

export function hasLookGap(
  database: Database,
  { network, address, currency }: AccountPlace,
): boolean {
  const sql = "SELECT 1 FROM lookGaps WHERE network = ? AND address = ? AND currency = ?";
  return database.get(sql, network, address, currency) !== undefined;
}

/** The currencies of an address's gaps. */
export function listLookGaps(
  database: Database,
  network: string,
  address: string,
): readonly string[] {
  const sql = "SELECT currency FROM lookGaps WHERE network = ? AND address = ?";
  return database.all<{ currency: string }>(sql, network, address).map(({ currency }) => currency);
}
