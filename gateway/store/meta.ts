/** What the database says of itself: its schema's version, and the gateway key it was made with. */
import type { Database } from "./store.ts";

/**
 * The fingerprint of the gateway key that the database was made with; "" when it names none.
 * @public
 */
export function readGatewayKeyFingerprint(database: Database): string {
  return database.get<{ value: string }>("SELECT value FROM meta WHERE name = 'gatewayKey'")?.value ?? "";
}

/**
 * Reads one row, to see whether the database answers at all.
 * @public
 */
export function probe(database: Database): void {
  database.get("SELECT 1 FROM meta");
}
