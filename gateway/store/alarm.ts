/**
 * Alarms that must outlive the log: one row in `audit` for each different one, however often it comes back.
 */
import type { Database } from "./store.ts";

/** @public */
export interface Alarm {
  readonly at: number;
  readonly actor: string; // hub, watcher, or agent and its id
  readonly code: string;
  readonly subject: string; // agent, transaction or network it is about
  readonly detail: string;
}

/**
 * Stores an alarm; calling again with the same actor, code, subject and detail changes nothing.
 * @returns true when it was not there yet, so that a log tells it once.
 * @public
 */
export function recordAlarm(database: Database, alarm: Alarm): boolean {
  const { actor, code, subject, detail } = alarm;
  const act = `alarm ${code}`;
  const { changes } = database.run(
    `INSERT INTO audit (at, actor, act, subject, detail) SELECT ?, ?, ?, ?, ?
       WHERE NOT EXISTS (SELECT 1 FROM audit WHERE act = ? AND subject = ? AND actor = ? AND detail = ?)`,
    alarm.at,
    actor,
    act,
    subject,
    detail,
    act,
    subject,
    actor,
    detail,
  );
  return changes > 0;
}
