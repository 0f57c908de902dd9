/**
 * The gateway's own record of acts: pairings, keys made and revoked, agents unpaired, alarms. Rows
 * are only ever added.
 */
import type { CodeWithCause } from "../../base/causes.ts";
import type { Database } from "./store.ts";

export interface AuditAct {
  readonly at: number;
  readonly actor: string; // a key's id, "operator", or a room
  readonly act: string;
  readonly subject: string; // id of the thing acted on
  readonly detail: string; // never a secret
}

/** A person's words in an act: 1 to 500 visible characters in one line. */
export const isRemark = (text: string): boolean => /^[^\p{C}]{1,500}$/u.test(text);

/** Adds one row, inside the caller's transaction. An alarm is open from then on. */
export function recordAct(database: Database, act: AuditAct): void {
  const sql = "INSERT INTO audit (at, actor, act, subject, detail) VALUES (?, ?, ?, ?, ?)";
  database.run(sql, act.at, act.actor, act.act, act.subject, act.detail);
  if (act.act.startsWith(alarmPrefix))
    database.run("INSERT INTO openAlarms SELECT max(id) FROM audit");
}

/** The acts on a subject and every note on it, oldest first. */
export function listActsOn(database: Database, subject: string): readonly AuditAct[] {
  return database.all<AuditAct>(
    "SELECT at, actor, act, subject, detail FROM audit WHERE subject = ? ORDER BY id",
    subject,
  );
}

/** The beginning of an alarm's act; its code follows, then its cause if the code has several. */
export const alarmPrefix = "alarm ";

/** The act of an alarm. */
export function actOfAlarm({ code, cause }: CodeWithCause): string {
  return `${alarmPrefix}${code}${cause === undefined ? "" : ` ${cause}`}`;
}

/** Code and cause of an alarm's act; the cause is "" if the code has one only. */
export function alarmOf(act: string): { readonly code: string; readonly cause: string } {
  const [code = "", cause = ""] = act.slice(alarmPrefix.length).split(" ");
  return { code, cause };
}

/** A missing field lets every act through. */
export interface ActQuery {
  readonly sinceMs?: number | undefined; // at this time or later, Unix milliseconds
  readonly untilMs?: number | undefined; // before this time
  readonly subject?: string | undefined;
  readonly actor?: string | undefined; // a part of the actor's text
  readonly kind: "any" | "alarm" | "open alarm";
  readonly most: number;
}

/** An act with its number; an alarm is open or not. */
export interface NumberedAct extends AuditAct {
  readonly id: number;
  readonly isOpen: 0 | 1;
}

/** Acts, newest first, at most `most`. */
export function listActs(
  database: Database,
  { sinceMs, untilMs, subject, actor, kind, most }: ActQuery,
): readonly NumberedAct[] {
  return database.all<NumberedAct>(
    `SELECT id, at, actor, audit.act, subject, detail, o.act IS NOT NULL AS isOpen FROM audit
       ${kind === "open alarm" ? "JOIN" : "LEFT JOIN"} openAlarms o ON o.act = audit.id
     WHERE at >= coalesce(?, at) AND at < coalesce(?, at + 1)
       AND (? IS NULL OR subject = ?) AND (? IS NULL OR instr(actor, ?) > 0) AND audit.act LIKE ? ORDER BY id DESC LIMIT ?`,
    ...[
      sinceMs ?? null,
      untilMs ?? null,
      subject ?? null,
      subject ?? null,
      actor ?? null,
      actor ?? null,
    ],
    ...[kind === "any" ? "%" : `${alarmPrefix}%`, most],
  );
}

export interface AlarmRow {
  readonly id: number;
  readonly act: string;
  readonly subject: string;
  readonly detail: string;
}

/** The id of the newest row made before a time; 0 without such a row. */
export function newestActIdBefore(database: Database, atMs: number): number {
  return (
    database.get<{ id: number | null }>("SELECT MAX(id) AS id FROM audit WHERE at < ?", atMs)?.id ??
    0
  );
}

/** Alarms after a row, in order, at most `most`. */
export function listAlarmsAfter(database: Database, id: number, most: number): readonly AlarmRow[] {
  const sql =
    "SELECT id, act, subject, detail FROM audit WHERE id > ? AND act LIKE 'alarm %' ORDER BY id LIMIT ?";
  return database.all<AlarmRow>(sql, id, most);
}
