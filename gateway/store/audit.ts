/**
 * The gateway's own record of who did what: pairings, keys made and revoked, agents released,
 * alarms. Rows are only ever added.
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

/**
 * Who did what to a subject, and every note on it, oldest first.
 * @public
 */
export function listActsOn(database: Database, subject: string): readonly Act[] {
  return database.all<Act>("SELECT at, actor, act, subject, detail FROM audit WHERE subject = ? ORDER BY id", subject);
}

/** @public */
export interface AlarmRow {
  readonly id: number;
  readonly act: string;
  readonly subject: string;
  readonly detail: string;
}

/**
 * The number of the newest row made before a time; 0 without any.
 * @public
 */
export function newestActBefore(database: Database, atMs: number): number {
  return database.get<{ id: number | null }>("SELECT MAX(id) AS id FROM audit WHERE at < ?", atMs)?.id ?? 0;
}

/**
 * Alarms that follow a row, in order, at most `most`.
 * @public
 */
export function listAlarmsAfter(database: Database, id: number, most: number): readonly AlarmRow[] {
  const sql = "SELECT id, act, subject, detail FROM audit WHERE id > ? AND act LIKE 'alarm %' ORDER BY id LIMIT ?";
  return database.all<AlarmRow>(sql, id, most);
}
