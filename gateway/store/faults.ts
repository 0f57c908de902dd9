/**
 * Faults of single items that stand, as the watcher's book has them, for operators and for the next
 * run.
 */
import type { Statements as Database } from "./statements.ts";

export interface FaultRow {
  readonly domain: string;
  readonly network: string;
  readonly id: string;
  readonly merchant: string; // "" if the item is nobody's
  readonly code: string;
  readonly words: string;
  readonly since: number; // Unix milliseconds
  readonly tries: number; // when the row was last written
  readonly toldAt: number | null; // Unix milliseconds of its alert
  readonly isRetried: 0 | 1; // an operator wants it tried now
}

/** Keeps or changes a fault; its alert stays told. Harmless to call twice. */
export function keepFault(database: Database, row: Omit<FaultRow, "toldAt" | "isRetried">): void {
  const { domain, network, id, merchant, code, words, since, tries } = row;
  database.run(
    `INSERT INTO faults (domain, network, id, merchant, code, words, since, tries, toldAt, isRetried)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, 0)
     ON CONFLICT (domain, network, id) DO UPDATE SET merchant = excluded.merchant, code = excluded.code, words = excluded.words,
       since = excluded.since, tries = excluded.tries`,
    ...[domain, network, id, merchant, code, words, since, tries],
  );
}

export function dropFault(
  database: Database,
  { domain, network, id }: Pick<FaultRow, "domain" | "network" | "id">,
): void {
  database.run(
    "DELETE FROM faults WHERE domain = ? AND network = ? AND id = ?",
    domain,
    network,
    id,
  );
}

/** True if a thing has had its fault since this time or longer, in Unix milliseconds. */
export function hasFaultStoodSince(
  database: Database,
  { domain, network, id }: Pick<FaultRow, "domain" | "network" | "id">,
  sinceMs: number,
): boolean {
  const sql = "SELECT 1 FROM faults WHERE domain = ? AND network = ? AND id = ? AND since <= ?";
  return database.get(sql, domain, network, id, sinceMs) !== undefined;
}

/** All faults, or those of one network, oldest first. */
export function listFaults(database: Database, network: string | null = null): readonly FaultRow[] {
  return network === null
    ? database.all<FaultRow>("SELECT * FROM faults ORDER BY since, domain, network, id")
    : database.all<FaultRow>(
        "SELECT * FROM faults WHERE network = ? ORDER BY since, domain, id",
        network,
      );
}

/** Faults by kind and merchant, the oldest first. */
export function countFaults(database: Database): readonly {
  readonly domain: string;
  readonly merchant: string;
  readonly count: number;
  readonly since: number;
}[] {
  return database.all(
    "SELECT domain, merchant, count(*) AS count, min(since) AS since FROM faults GROUP BY domain, merchant ORDER BY since, domain, merchant",
  );
}

/** Has a fault's item tried again by the running gateway. False if there is no such fault. */
export function requestFaultRetry(
  database: Database,
  { domain, network, id }: Pick<FaultRow, "domain" | "network" | "id">,
): boolean {
  const sql = "UPDATE faults SET isRetried = 1 WHERE domain = ? AND network = ? AND id = ?";
  return database.run(sql, domain, network, id).changes > 0;
}

export function hasFaultRetries(database: Database, network: string): boolean {
  return (
    database.get("SELECT 1 FROM faults WHERE network = ? AND isRetried = 1 LIMIT 1", network) !==
    undefined
  );
}

/** The items that operators want tried, once. */
export function takeFaultRetries(database: Database, network: string): readonly FaultRow[] {
  const rows = database.all<FaultRow>(
    "SELECT * FROM faults WHERE network = ? AND isRetried = 1",
    network,
  );
  database.run("UPDATE faults SET isRetried = 0 WHERE network = ? AND isRetried = 1", network);
  return rows;
}

/** Marks the alert of a fault as told. Harmless to call twice. */
export function markFaultTold(
  database: Database,
  { domain, network, id }: Pick<FaultRow, "domain" | "network" | "id">,
  at: number,
): void {
  const sql =
    "UPDATE faults SET toldAt = ? WHERE domain = ? AND network = ? AND id = ? AND toldAt IS NULL";
  database.run(sql, at, domain, network, id);
}
