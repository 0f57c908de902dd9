/**
 * What the database says of itself: its schema's version, the gateway key it was made with, and
 * the currencies in which payments were kept and not judged.
 */
import type { Database } from "./store.ts";

/**
 * The fingerprint of the gateway key that the database was made with; "" when it names none.
 * @public
 */
export function readGatewayKeyFingerprint(database: Database): string {
  return database.get<{ value: string }>("SELECT value FROM meta WHERE name = 'gatewayKey'")?.value ?? "";
}

/**
 * Payments in this currency wait for a judgement, in this run or a later one. Twice is harmless.
 * @public
 */
export function keepUnjudged(database: Database, network: string, currency: string): void {
  database.run("INSERT OR IGNORE INTO meta (name, value) VALUES (?, '')", `${unjudged(network)}${currency}`);
}

/**
 * Currencies of a network in which payments wait for a judgement.
 * @public
 */
export function listUnjudged(database: Database, network: string): readonly string[] {
  const start = unjudged(network);
  const rows = database.all<{ name: string }>("SELECT name FROM meta WHERE substr(name, 1, ?) = ?", start.length, start);
  return rows.map(({ name }) => name.slice(start.length));
}

/**
 * They are judged: for the transaction that judges them.
 * @public
 */
export function forgetUnjudged(database: Database, network: string, currency: string): void {
  database.run("DELETE FROM meta WHERE name = ?", `${unjudged(network)}${currency}`);
}

function unjudged(network: string): string {
  return `unjudged ${network} `;
}

/**
 * Reads one row, to see whether the database answers at all.
 * @public
 */
export function probe(database: Database): void {
  database.get("SELECT 1 FROM meta");
}
