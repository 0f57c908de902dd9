/**
 * Alarms that must outlive the log: one row in `audit` for each different alarm, however often an
 * alarm returns. An alarm is open until an operator closes it.
 */
import type { CodeWithCause } from "../../base/causes.ts";
import { type AuditAct, actOfAlarm, alarmOf, recordAct } from "./audit.ts";
import type { Database } from "./store.ts";

export type Alarm = CodeWithCause & {
  readonly at: number;
  readonly actor: string; // hub, watcher, or agent and its id
  readonly subject: string; // the agent, transaction or network of the alarm
  readonly detail: string;
};

/**
 * Stores an alarm. A second call with the same actor, code, cause, subject and detail changes
 * nothing. With `once`, the detail is not compared, because an agent can cause such alarms as often
 * as it likes; after an operator has closed the one that is known, the next is a new one.
 * @returns true if the alarm is new, so that the log has it only once
 */
export function recordAlarm(database: Database, alarm: Alarm, once?: "once"): boolean {
  const { at, actor, subject, detail } = alarm;
  const act = actOfAlarm(alarm);
  const known =
    once === undefined
      ? database.get(
          "SELECT 1 FROM audit WHERE subject = ? AND act = ? AND actor = ? AND detail = ?",
          subject,
          act,
          actor,
          detail,
        )
      : database.get(
          `SELECT 1 FROM audit a JOIN openAlarms o ON o.act = a.id
           WHERE a.subject = ? AND a.act = ? AND a.actor = ? LIMIT 1`,
          subject,
          act,
          actor,
        );
  if (known !== undefined) return false;
  recordAct(database, { at, actor, act, subject, detail });
  return true;
}

/** The number of open alarms, and the time of the newest of them in Unix milliseconds. */
export interface OpenAlarms {
  readonly count: number;
  readonly newestAt: number | null;
}

export function countOpenAlarms(database: Database): OpenAlarms {
  const sql =
    "SELECT count(*) AS count, max(a.at) AS newestAt FROM openAlarms o JOIN audit a ON a.id = o.act";
  return database.get<OpenAlarms>(sql) ?? { count: 0, newestAt: null };
}

/** A code with its cause, "" if the code has one only. */
export type AlarmKind = ReturnType<typeof alarmOf>;

/** The kinds of the open alarms, each once. */
export function listOpenAlarmKinds(database: Database): readonly AlarmKind[] {
  return database
    .all<Pick<AuditAct, "act">>(
      "SELECT DISTINCT a.act FROM openAlarms o JOIN audit a ON a.id = o.act ORDER BY a.act",
    )
    .map(({ act }) => alarmOf(act));
}

/** All open alarms, oldest first. */
export function listOpenAlarms(
  database: Database,
): readonly (AuditAct & { readonly id: number })[] {
  return database.all(
    "SELECT a.id, a.at, a.actor, a.act, a.subject, a.detail FROM openAlarms o JOIN audit a ON a.id = o.act ORDER BY o.act",
  );
}

/** Ends an alarm. Harmless to call twice. */
export function closeAlarm(database: Database, number: number): void {
  database.run("DELETE FROM openAlarms WHERE act = ?", number);
}
