/**
 * Turns the present conditions into the alerts that are due. An event about a subject is
 * sent after it has lasted long enough, again every 24 hours and when it becomes graver, and as
 * `-over` at its end. Pure: a function of state and observation, with the time in the observation.
 */
import type { Level } from "../../event-row.ts";
import { type Gravity, gravityWords, isGraver } from "../../problem.ts";
import { type AlertName, alertTable } from "./table.ts";

/**
 * An event that holds now, about one subject. Its texts leave the machine, so none may be a secret.
 */
export interface AlertCondition {
  readonly event: AlertName;
  // the transactionId, chain, currency … of the table; two subjects are two conditions
  readonly subject: string;
  readonly gravity: Gravity;
  readonly message: string; // a sentence
  readonly context: Readonly<Record<string, string | number>>;
  readonly afterMs: number; // sent only after this time
  readonly hint?: string; // the line to type; the table's advice unless given
  /**
   * Unix milliseconds: when the event ends by itself. Reminders become more frequent towards it.
   */
  readonly endsAt?: number;
  readonly againMs?: number; // the time from one alert to the next; a day unless given
  readonly isTold?: boolean; // an earlier process sent its first alert
}

export interface AlertObservation {
  readonly at: number; // Unix milliseconds, for the reader
  readonly nowMs: number; // monotonic, for durations
  readonly conditions: readonly AlertCondition[];
  /** Events whose state is unknown now: their standings stay unchanged. */
  readonly unknown: readonly AlertName[];
  /** Most alerts that can be taken now; the others are due again at the next look. */
  readonly alertsMax?: number;
}

/** The body that the receiver gets, as JSON. `alert` is the version of this form. */
export interface Alert {
  readonly alert: 1;
  readonly at: string; // ISO 8601
  readonly event: AlertName | `${AlertName}-over`;
  readonly level: Level; // info for `-over`
  readonly gravity: Gravity; // how far it is worth waking for; warning for `-over`
  readonly process: "courier" | "gateway";
  readonly agent?: string; // the courier's agent; a gateway names agents as subjects
  readonly subject: string;
  readonly since: string; // ISO 8601: time of the first look that saw it
  readonly again: boolean; // true from the second time on
  readonly message: string; // begins with the gravity in words
  readonly hint: string; // the advice, with the line to type
  readonly context: Readonly<Record<string, string | number>>;
}

interface StandingCondition {
  readonly condition: AlertCondition;
  readonly since: number; // Unix milliseconds
  readonly sinceMs: number; // monotonic
  readonly toldMs: number | null; // monotonic time of the last alert; null before the first
  readonly toldGravity: Gravity; // of the last alert; of the first look before it
  readonly leastGravity: Gravity; // the least of all looks since the last alert
}

export type AlertStandings = ReadonlyMap<string, StandingCondition>;

export type AlertOrigin =
  | { readonly process: "courier"; readonly agent: string }
  | { readonly process: "gateway" };

/** A lasting event is sent again after this time. */
const againMs = 24 * 3_600_000;
/**
 * An event with an end is sent again after half of the time that was left, but no sooner than this.
 * Neither is an event sooner that became less grave after its alert, and then as grave as before.
 */
const againMsMin = 15 * 60_000;
/**
 * Most conditions that are followed at the same time: an alert for each of so many agents. A new
 * one beyond them is ignored until another has ended.
 */
const standingsMax = 20_000;

/**
 * Advances the state by one look. Returns the alerts that are due: ends first, then the conditions
 * in their order.
 */
export function observeConditions(
  standings: AlertStandings,
  observation: AlertObservation,
  origin: AlertOrigin,
): { readonly standings: AlertStandings; readonly alerts: readonly Alert[] } {
  const { at, nowMs, conditions, unknown, alertsMax = Number.POSITIVE_INFINITY } = observation;
  const now = new Map(conditions.map((condition) => [keyOf(condition), condition]));
  const next = new Map<string, StandingCondition>();
  const alerts: Alert[] = [];
  for (const [key, standing] of standings) {
    if (now.has(key) || unknown.includes(standing.condition.event)) next.set(key, standing);
    else if (standing.toldMs !== null) {
      if (alerts.length < alertsMax) alerts.push(alertOf(standing, at, origin, "over"));
      else next.set(key, standing);
    }
  }
  for (const [key, condition] of now) {
    const before = next.get(key);
    if (before === undefined && next.size >= standingsMax) continue;
    const isTold = condition.isTold === true;
    const { gravity } = condition;
    const { since, sinceMs, toldMs, toldGravity, leastGravity } = before ?? {
      since: at,
      sinceMs: nowMs,
      toldMs: isTold ? nowMs : null,
      toldGravity: gravity,
      leastGravity: gravity,
    };
    const waitedMs = nowMs - (toldMs ?? sinceMs);
    const restMs = toldMs === null ? condition.afterMs : againAfterMs(condition, at - waitedMs);
    const isGraverAgain = isGraver(gravity, leastGravity) && waitedMs >= againMsMin;
    const isGraverNow = toldMs !== null && (isGraver(gravity, toldGravity) || isGraverAgain);
    const isDue = (waitedMs >= restMs || isGraverNow) && alerts.length < alertsMax;
    const told = isDue
      ? { toldMs: nowMs, toldGravity: gravity, leastGravity: gravity }
      : {
          toldMs,
          toldGravity,
          leastGravity: isGraver(leastGravity, gravity) ? gravity : leastGravity,
        };
    const standing = { condition, since, sinceMs, ...told };
    next.set(key, standing);
    if (isDue) alerts.push(alertOf(standing, at, origin, toldMs === null ? "begun" : "again"));
  }
  return { standings: next, alerts };
}

/** The time from one alert to the next. @param toldAt Unix milliseconds of the newest alert */
function againAfterMs(
  { endsAt, againMs: everyMs = againMs }: AlertCondition,
  toldAt: number,
): number {
  if (endsAt === undefined) return everyMs;
  return Math.min(everyMs, Math.max(againMsMin, (endsAt - toldAt) / 2));
}

function keyOf({ event, subject }: AlertCondition): string {
  return `${event}\n${subject}`;
}

type Phase = "begun" | "again" | "over";

function alertOf(
  { condition, since }: StandingCondition,
  at: number,
  origin: AlertOrigin,
  phase: Phase,
): Alert {
  const { event, subject, gravity, message, context } = condition;
  const { hint = alertTable[event].advice } = condition;
  const isOver = phase === "over";
  return {
    alert: 1,
    at: new Date(at).toISOString(),
    event: isOver ? `${event}-over` : event,
    level: isOver ? "info" : alertTable[event].level,
    gravity: isOver ? "warning" : gravity,
    ...origin,
    subject,
    since: new Date(since).toISOString(),
    again: phase === "again",
    message: isOver ? `over: ${message}` : `${gravityWords[gravity]}: ${message}`,
    hint: isOver ? "" : hint,
    context,
  };
}
