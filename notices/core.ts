/**
 * What is told, and when: from the conditions that hold now to the notices that are due. The same event for the same subject is told once
 * when it has lasted long enough, again every 24 hours while it lasts, and once more, as `-over`, when it ends. Pure: a function of
 * state and observation, with the time in the observation.
 */
import type { NoticeName } from "./table.ts";
import { noticeTable } from "./table.ts";

/**
 * Something that holds now. No text of it may be a secret.
 * @public
 */
export interface Condition {
  readonly event: NoticeName;
  readonly subject: string; // one event about two subjects is two conditions
  readonly message: string; // a sentence
  readonly context: Readonly<Record<string, string | number>>;
  readonly afterMs: number; // told once it has lasted so long
}

/** @public */
export interface Observation {
  readonly at: number; // Unix milliseconds, for the reader
  readonly nowMs: number; // monotonic, for what lasts
  readonly conditions: readonly Condition[];
  /** What cannot be seen now: whatever stood stays as it was. */
  readonly unknown: readonly NoticeName[];
}

/**
 * What goes out, as JSON. `notice` is the version of this form.
 * @public
 */
export interface Notice {
  readonly notice: 1;
  readonly at: string; // ISO 8601
  readonly event: NoticeName | `${NoticeName}-over`;
  readonly level: string;
  readonly process: "courier" | "gateway";
  readonly agent: string; // "" at a gateway
  readonly subject: string;
  readonly since: string; // ISO 8601: when it was first seen
  readonly again: boolean; // told before, and lasting
  readonly message: string;
  readonly context: Readonly<Record<string, string | number>>;
}

interface Standing {
  readonly condition: Condition;
  readonly since: number; // Unix milliseconds
  readonly sinceMs: number; // monotonic
  readonly toldMs: number | null; // monotonic, when it was told last
}

/** @public */
export type Standings = ReadonlyMap<string, Standing>;

/** @public */
export type Origin = Pick<Notice, "process" | "agent">;

/** Told again while it lasts. */
const againMs = 24 * 3_600_000;
/** Most conditions that are followed at once; what begins beyond them waits until others have ended. */
const standingsMax = 1000;

/**
 * One look. Gives the new state and what is due, in the order of the conditions, ends first.
 * @public
 */
export function observe(
  standings: Standings,
  observation: Observation,
  origin: Origin,
): { readonly standings: Standings; readonly notices: readonly Notice[] } {
  const { at, nowMs, conditions, unknown } = observation;
  const now = new Map(conditions.map((condition) => [keyOf(condition), condition]));
  const next = new Map<string, Standing>();
  const notices: Notice[] = [];
  for (const [key, standing] of standings) {
    if (now.has(key) || unknown.includes(standing.condition.event)) next.set(key, standing);
    else if (standing.toldMs !== null) notices.push(noticeOf(standing, at, origin, "over"));
  }
  for (const [key, condition] of now) {
    const before = next.get(key);
    if (before === undefined && next.size >= standingsMax) continue;
    const { since, sinceMs, toldMs } = before ?? { since: at, sinceMs: nowMs, toldMs: null };
    const isDue = toldMs === null ? nowMs - sinceMs >= condition.afterMs : nowMs - toldMs >= againMs;
    const standing = { condition, since, sinceMs, toldMs: isDue ? nowMs : toldMs };
    next.set(key, standing);
    if (isDue) notices.push(noticeOf(standing, at, origin, toldMs === null ? "begun" : "again"));
  }
  return { standings: next, notices };
}

function keyOf({ event, subject }: Condition): string {
  return `${event}\n${subject}`;
}

function noticeOf({ condition, since }: Standing, at: number, origin: Origin, what: "begun" | "again" | "over"): Notice {
  const { event, subject, message, context } = condition;
  return {
    notice: 1,
    at: new Date(at).toISOString(),
    event: what === "over" ? `${event}-over` : event,
    level: what === "over" ? "info" : noticeTable[event][1],
    ...origin,
    subject,
    since: new Date(since).toISOString(),
    again: what === "again",
    message: what === "over" ? `over: ${message}` : message,
    context,
  };
}
