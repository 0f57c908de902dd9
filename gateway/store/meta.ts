/**
 * Facts about the database itself: the schema's version, the gateway key that it was made with, the
 * currencies whose payments are kept but not judged yet, and the requests that a refund which
 * failed gave their money back.
 */
import type { Database } from "./store.ts";

/** The fingerprint of the gateway key that the database was made with; "" if it names none. */
export function readGatewayKeyFingerprint(database: Database): string {
  return (
    database.get<{ value: string }>("SELECT value FROM meta WHERE name = 'gatewayKey'")?.value ?? ""
  );
}

/**
 * Records that payments in this currency wait to be judged, now or in a later run. Harmless to call
 * twice.
 */
export function keepUnjudgedCurrency(database: Database, network: string, currency: string): void {
  database.run(
    "INSERT OR IGNORE INTO meta (name, value) VALUES (?, '')",
    `${unjudged(network)}${currency}`,
  );
}

/** Currencies of a network whose payments wait to be judged. */
export function listUnjudgedCurrencies(database: Database, network: string): readonly string[] {
  const start = unjudged(network);
  const rows = database.all<{ name: string }>(
    "SELECT name FROM meta WHERE substr(name, 1, ?) = ?",
    start.length,
    start,
  );
  return rows.map(({ name }) => name.slice(start.length));
}

/** Ends the wait of a currency, inside the transaction that judges its payments. */
export function forgetUnjudgedCurrency(
  database: Database,
  network: string,
  currency: string,
): void {
  database.run("DELETE FROM meta WHERE name = ?", `${unjudged(network)}${currency}`);
}

function unjudged(network: string): string {
  return `unjudged ${network} `;
}

/**
 * Records that an open request is to be judged by the watcher, because a refund of it failed, or an
 * operator credited a payment to a choice of an invoice. Harmless to call twice.
 */
export function keepRequestToJudge(
  database: Database,
  network: string,
  transactionId: string,
): void {
  database.run(
    "INSERT OR IGNORE INTO meta (name, value) VALUES (?, '')",
    `${unrefunded(network)}${transactionId}`,
  );
}

/** Takes the requests of a network that wait so, inside the transaction that judges them. */
export function takeRequestsToJudge(database: Database, network: string): readonly string[] {
  const start = unrefunded(network);
  const ids = listRequestsToJudge(database, network);
  database.run("DELETE FROM meta WHERE substr(name, 1, ?) = ?", start.length, start);
  return ids;
}

export function listRequestsToJudge(database: Database, network: string): readonly string[] {
  const start = unrefunded(network);
  const rows = database.all<{ name: string }>(
    "SELECT name FROM meta WHERE substr(name, 1, ?) = ?",
    start.length,
    start,
  );
  return rows.map(({ name }) => name.slice(start.length));
}

function unrefunded(network: string): string {
  return `unrefunded ${network} `;
}

/** Reads one row, to test that the database answers. */
export function probeDatabase(database: Database): void {
  database.get("SELECT 1 FROM meta");
}
