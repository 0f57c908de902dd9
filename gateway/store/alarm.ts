/**
 * Alarms that must outlive the log: one row in `audit` for each different one, however often it
 * comes back.
 */
import type { Code } from "../../protocol/codes.ts";
import { recordAct } from "./audit.ts";
import type { Database } from "./store.ts";

/** @public */
export interface Alarm {
  readonly at: number;
  readonly actor: string; // hub, watcher, or agent and its id
  readonly code: Code;
  readonly subject: string; // agent, transaction or network it is about
  readonly detail: string;
}

/**
 * Stores an alarm; calling again with the same actor, code, subject and detail changes nothing.
 * With `once`, which is for what an agent can bring about as often as it likes, the detail does not
 * make it another one.
 * @returns true when it was not there yet, so that a log tells it once.
 * @public
 */
export function recordAlarm(database: Database, alarm: Alarm, once?: "once"): boolean {
  const { at, actor, code, subject, detail } = alarm;
  const act = `alarm ${code}`;
  const known =
    once === undefined
      ? database.get(
          "SELECT 1 FROM audit WHERE subject = ? AND act = ? AND actor = ? AND detail = ?",
          subject,
          act,
          actor,
          detail,
        )
      : database.get("SELECT 1 FROM audit WHERE subject = ? AND act = ? AND actor = ? LIMIT 1", subject, act, actor);
  if (known !== undefined) return false;
  recordAct(database, { at, actor, act, subject, detail });
  return true;
}
