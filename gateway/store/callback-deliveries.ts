/**
 * Deliveries of events to targets, and the log of every try: which deliveries are due, their
 * results, the lists for operators, and the deletion of old events.
 */
import type { Database } from "./store.ts";

export type DeliveryState = "waiting" | "delivered" | "given up";

/** 0: the event ends money's way, and goes before others that are due at the same time. */
export type DeliveryRank = 0 | 1;

/**
 * Makes an event's delivery to a target.
 * @returns its number
 */
export function insertDelivery(
  database: Database,
  delivery: {
    readonly event: string;
    readonly target: string;
    readonly state: DeliveryState;
    readonly nextAt: number;
    readonly rank: DeliveryRank;
    readonly tries?: number; // tries that count as made; 0 unless given
  },
): number {
  const { event, target, state, nextAt, rank, tries = 0 } = delivery;
  const sql =
    "INSERT INTO callbackDeliveries (event, target, state, nextAt, rank, tries) VALUES (?, ?, ?, ?, ?, ?) RETURNING id";
  return database.get<{ id: number }>(sql, event, target, state, nextAt, rank, tries)?.id ?? 0;
}

/** Counts the deliveries that wait for a target, up to `most`. */
export function countWaitingDeliveries(database: Database, target: string, most: number): number {
  const sql =
    "SELECT count(*) AS n FROM (SELECT 1 FROM callbackDeliveries WHERE target = ? AND state = 'waiting' LIMIT ?)";
  return database.get<{ n: number }>(sql, target, most)?.n ?? 0;
}

/** Counts the waiting deliveries of all targets. */
export function countAllWaitingDeliveries(database: Database): number {
  return (
    database.get<{ n: number }>(
      "SELECT count(*) AS n FROM callbackDeliveries WHERE state = 'waiting'",
    )?.n ?? 0
  );
}

export interface WaitingTarget {
  readonly target: string;
  readonly merchant: string;
  readonly nextAt: number; // when its first delivery is due
}

/**
 * Each target with waiting deliveries that is not paused. Costs one index step for each target,
 * however many deliveries wait.
 */
export function waitingTargets(database: Database): readonly WaitingTarget[] {
  return database.all<WaitingTarget>(
    `WITH RECURSIVE each(target) AS (
       SELECT min(target) FROM callbackDeliveries WHERE state = 'waiting'
       UNION ALL SELECT (SELECT min(target) FROM callbackDeliveries WHERE state = 'waiting' AND target > each.target)
         FROM each WHERE each.target IS NOT NULL)
     SELECT each.target, t.merchant,
       (SELECT min(nextAt) FROM callbackDeliveries WHERE target = each.target AND state = 'waiting') AS nextAt
     FROM each JOIN callbackTargets t ON t.id = each.target WHERE t.pausedAt IS NULL ORDER BY each.target`,
  );
}

export interface DueDelivery {
  readonly id: number;
  readonly event: string;
  readonly tries: number;
  readonly transactionId: string | null;
  readonly body: string;
  readonly scheduledAt: number | null; // not null: this try is put before the one at that time
}

export function dueDeliveries(
  database: Database,
  target: string,
  nowMs: number,
  most: number,
): readonly DueDelivery[] {
  return database.all<DueDelivery>(
    `SELECT d.id, d.event, d.tries, d.scheduledAt, e.transactionId, e.body FROM callbackDeliveries d JOIN callbackEvents e ON e.id = d.event
     WHERE d.target = ? AND d.state = 'waiting' AND d.nextAt <= ? ORDER BY d.nextAt, d.rank, d.id LIMIT ?`,
    ...[target, nowMs, most],
  );
}

/**
 * Puts an extra try before the next scheduled one, for at most `most` waiting deliveries of a
 * target and until `dueMax` are due, an end of money before others, then the one that rests
 * longest. Due deliveries are left, and so are those that already have an extra try or rest.
 */
export function bringForward(
  database: Database,
  target: string,
  nowMs: number,
  { most, dueMax }: { readonly most: number; readonly dueMax: number },
): void {
  const due = database.get<{ n: number }>(
    `SELECT count(*) AS n FROM (SELECT 1 FROM callbackDeliveries WHERE target = ? AND state = 'waiting' AND nextAt <= ? LIMIT ?)`,
    ...[target, nowMs, dueMax],
  );
  let left = Math.min(most, dueMax - (due?.n ?? 0));
  for (const rank of [0, 1]) {
    if (left <= 0) return;
    const { changes } = database.run(
      `UPDATE callbackDeliveries SET scheduledAt = nextAt, nextAt = ? WHERE id IN (
         SELECT id FROM callbackDeliveries INDEXED BY callbackDeliveriesEarly WHERE target = ? AND state = 'waiting'
           AND scheduledAt IS NULL AND rank = ? AND restUntil <= ? AND nextAt > ? ORDER BY restUntil, id LIMIT ?)`,
      ...[nowMs, target, rank, nowMs, nowMs, left],
    );
    left -= changes;
  }
}

export interface CallbackTry {
  readonly at: number;
  readonly status: number; // HTTP status; 0 without an answer
  readonly durationMs: number;
  readonly answer: string; // the first bytes of the answer, or the reason why there is none
}

/** The state of a delivery after a try. */
export interface StateAfterTry {
  readonly state: DeliveryState;
  readonly nextAt: number;
  readonly restUntil: number; // no extra try before this time; 0 for none
  readonly isCounted: boolean; // false for an extra try, which uses up none of the schedule
}

/**
 * Keeps one try and its result, also as the newest of its target. A delivery that was given up
 * meanwhile stays given up, unless it arrived.
 */
export function keepTry(
  database: Database,
  delivery: number,
  made: CallbackTry,
  next: StateAfterTry,
): void {
  database.run(
    "INSERT INTO callbackTries (delivery, at, status, durationMs, answer) VALUES (?, ?, ?, ?, ?)",
    ...[delivery, made.at, made.status, made.durationMs, made.answer],
  );
  const isTaken = next.state === "delivered";
  const target = "id = (SELECT target FROM callbackDeliveries WHERE id = ?)";
  if (isTaken)
    database.run(`UPDATE callbackTargets SET succeededAt = ? WHERE ${target}`, made.at, delivery);
  else {
    const sql = `UPDATE callbackTargets SET failedAt = ?, failedStatus = ?, failedReason = ? WHERE ${target}`;
    database.run(sql, made.at, made.status, made.status === 0 ? made.answer : "", delivery);
  }
  database.run(
    `UPDATE callbackDeliveries SET tries = tries + ?, state = ?, nextAt = ?, scheduledAt = NULL, restUntil = ?
       WHERE id = ? AND (state = 'waiting' OR ? = 'delivered')`,
    ...[next.isCounted ? 1 : 0, next.state, next.nextAt, next.restUntil, delivery, next.state],
  );
}

/**
 * Gives up all waiting deliveries of a target.
 * @returns the records of these deliveries
 */
export function giveUpDeliveriesOfTarget(database: Database, target: string): readonly string[] {
  const rows = database.all<{ transactionId: string }>(
    `SELECT DISTINCT e.transactionId FROM callbackDeliveries d JOIN callbackEvents e ON e.id = d.event
     WHERE d.target = ? AND d.state = 'waiting' AND e.transactionId IS NOT NULL`,
    target,
  );
  database.run(
    "UPDATE callbackDeliveries SET state = 'given up' WHERE target = ? AND state = 'waiting'",
    target,
  );
  return rows.map(({ transactionId }) => transactionId);
}

export interface DeliveryLine {
  readonly id: number;
  readonly target: string;
  readonly merchant: string;
  readonly event: string;
  readonly type: string;
  readonly transactionId: string | null;
  readonly sequence: number;
  readonly eventAt: number;
  readonly state: DeliveryState;
  readonly tries: number;
  readonly nextAt: number;
}

/** Lists deliveries, newest first: all, or those of the merchant or target in `of`. */
export function listDeliveries(
  database: Database,
  of: { readonly merchant?: string; readonly target?: string },
  most: number,
): readonly DeliveryLine[] {
  const conditions = [
    of.merchant === undefined ? [] : ["e.merchant = ?"],
    of.target === undefined ? [] : ["d.target = ?"],
  ].flat();
  return database.all<DeliveryLine>(
    `SELECT d.id, d.target, e.merchant, d.event, e.type, e.transactionId, e.sequence, e.at AS eventAt, d.state, d.tries, d.nextAt
     FROM callbackDeliveries d JOIN callbackEvents e ON e.id = d.event
     ${conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`} ORDER BY d.id DESC LIMIT ?`,
    ...[of.merchant, of.target].filter((value) => value !== undefined),
    most,
  );
}

export function triesOf(database: Database, delivery: number): readonly CallbackTry[] {
  const sql =
    "SELECT at, status, durationMs, answer FROM callbackTries WHERE delivery = ? ORDER BY id";
  return database.all<CallbackTry>(sql, delivery);
}

/** The id of a test event that waits for a target; undefined if none waits. */
export function waitingTestEvent(database: Database, target: string): string | undefined {
  const sql = `SELECT e.id FROM callbackDeliveries d JOIN callbackEvents e ON e.id = d.event
     WHERE d.target = ? AND d.state = 'waiting' AND e.transactionId IS NULL LIMIT 1`;
  return database.get<{ id: string }>(sql, target)?.id;
}

export interface DeliverySubject {
  readonly target: string;
  readonly transactionId: string | null;
}

export function findDelivery(database: Database, id: number): DeliverySubject | undefined {
  return database.get<DeliverySubject>(
    "SELECT d.target, e.transactionId FROM callbackDeliveries d JOIN callbackEvents e ON e.id = d.event WHERE d.id = ?",
    id,
  );
}

/** Starts a delivery again from its first try, even if it arrived. */
export function restartDelivery(database: Database, id: number, nowMs: number): void {
  const sql =
    "UPDATE callbackDeliveries SET state = 'waiting', tries = 0, nextAt = ?, scheduledAt = NULL, restUntil = 0 WHERE id = ?";
  database.run(sql, nowMs, id);
}

/** A delivery that did not arrive, of an event about a record. */
export interface UndeliveredEvent {
  readonly id: number;
  readonly state: DeliveryState;
  readonly transactionId: string;
}

/**
 * The deliveries of a target that wait or were given up, of one rank, by number: at most `most`
 * above number `after`, of events since `sinceMs`. Test events are left out.
 */
export function listUndelivered(
  database: Database,
  of: {
    readonly target: string;
    readonly rank: DeliveryRank;
    readonly sinceMs: number;
    readonly after: number;
  },
  most: number,
): readonly UndeliveredEvent[] {
  return database.all<UndeliveredEvent>(
    `SELECT d.id, d.state, e.transactionId FROM callbackDeliveries d JOIN callbackEvents e ON e.id = d.event
     WHERE d.target = ? AND d.id > ? AND d.rank = ? AND d.state IN ('waiting', 'given up') AND e.at >= ?
       AND e.transactionId IS NOT NULL ORDER BY d.id LIMIT ?`,
    ...[of.target, of.after, of.rank, of.sinceMs, most],
  );
}

/**
 * Deletes events older than `beforeMs` without a waiting delivery, together with their deliveries
 * and tries: at most `most` in a call.
 * @returns the number of deleted events
 */
export function forgetEvents(database: Database, beforeMs: number, most: number): number {
  return database.run(
    `DELETE FROM callbackEvents WHERE id IN (SELECT id FROM callbackEvents e WHERE at < ? AND NOT EXISTS
       (SELECT 1 FROM callbackDeliveries d WHERE d.event = e.id AND d.state = 'waiting') ORDER BY at LIMIT ?)`,
    beforeMs,
    most,
  ).changes;
}
