/**
 * Alarms that must outlive the log: one row in `audit` for each different alarm, however often an
 * alarm returns.
 */
import type { CodeWithCause } from "../../base/causes.ts";
import { actOfAlarm, recordAct } from "./audit.ts";
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
 * as it likes.
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
          "SELECT 1 FROM audit WHERE subject = ? AND act = ? AND actor = ? LIMIT 1",
          subject,
          act,
          actor,
        );
  if (known !== undefined) return false;
  recordAct(database, { at, actor, act, subject, detail });
  return true;
}
