/**
 * The gateway's own record of who did what: pairings, keys made and revoked, agents released, alarms. Rows are only ever added.
 */
import type { Database } from "./store.ts";

/** @public */
export interface Act {
  readonly at: number;
  readonly actor: string; // a key's id, "operator", or a room
  readonly act: string;
  readonly subject: string; // what it was done to: an id
  readonly detail: string; // never a secret
}

/**
 * Adds one row, inside the caller's transaction.
 * @public
 */
export function recordAct(database: Database, act: Act): void {
  const sql = "INSERT INTO audit (at, actor, act, subject, detail) VALUES (?, ?, ?, ?, ?)";
  database.run(sql, act.at, act.actor, act.act, act.subject, act.detail);
}
