/**
 * The table of callback targets: a merchant's URLs, the events for each, and the sealed secret. A
 * target that answered 410 is off until it answers again. The events of a paused target wait until
 * it is resumed. A removed target keeps its row for the
 * log and loses its secret.
 */
import type { Database } from "./store.ts";

export interface CallbackTargetRow {
  readonly id: string;
  readonly merchant: string;
  readonly url: string;
  readonly events: string; // joined by commas; "" for all
  readonly secretBox: Uint8Array;
  readonly oldSecretBox: Uint8Array | null; // also signs until oldValidUntil
  readonly oldValidUntil: number | null;
  readonly createdAt: number;
  readonly offAt: number | null;
  readonly offReason: "" | "gone" | "removed";
  readonly pausedAt: number | null;
  readonly succeededAt: number | null; // newest try that was taken
  readonly failedAt: number | null; // newest try that was not taken
  readonly failedStatus: number; // HTTP status of that try; 0 without an answer
  readonly failedReason: string; // the reason without an answer; "" with one
}

export type NewCallbackTarget = Pick<
  CallbackTargetRow,
  "id" | "merchant" | "url" | "events" | "secretBox" | "createdAt"
>;

export function insertTarget(database: Database, target: NewCallbackTarget): void {
  database.run(
    "INSERT INTO callbackTargets (id, merchant, url, events, secretBox, createdAt) VALUES (?, ?, ?, ?, ?, ?)",
    ...[target.id, target.merchant, target.url, target.events, target.secretBox, target.createdAt],
  );
}

/** A target that is not removed, on or off. */
export function findTarget(database: Database, id: string): CallbackTargetRow | undefined {
  const sql = "SELECT * FROM callbackTargets WHERE id = ? AND offReason <> 'removed'";
  return database.get<CallbackTargetRow>(sql, id);
}

/** True if the target exists, or existed before its removal. */
export function wasTarget(database: Database, id: string): boolean {
  return database.get("SELECT 1 FROM callbackTargets WHERE id = ?", id) !== undefined;
}

export function liveTargets(database: Database, merchant: string): readonly CallbackTargetRow[] {
  const sql =
    "SELECT * FROM callbackTargets WHERE merchant = ? AND offAt IS NULL ORDER BY createdAt, id";
  return database.all<CallbackTargetRow>(sql, merchant);
}

export interface CallbackTargetLine
  extends Pick<CallbackTargetRow, "id" | "merchant" | "url" | "events" | "createdAt"> {
  readonly name: string; // the merchant's name
  readonly offAt: number | null;
  readonly pausedAt: number | null;
  readonly oldValidUntil: number | null;
  readonly waiting: number; // number of waiting deliveries
  readonly givenUp: number; // number of those that were given up, without tests
  readonly triedAt: number | null;
  readonly status: number | null; // status of the newest answer; 0 none
}

const givenUpCount = `(SELECT count(*) FROM callbackDeliveries d JOIN callbackEvents e ON e.id = d.event
          WHERE d.target = t.id AND d.state = 'given up' AND e.transactionId IS NOT NULL)`;

/**
 * The targets that are not removed, of all merchants or of one, with the number of waiting
 * deliveries and the newest try.
 */
export function listTargets(
  database: Database,
  merchant: string | null,
): readonly CallbackTargetLine[] {
  return database.all<CallbackTargetLine>(
    `SELECT t.id, t.merchant, m.name, t.url, t.events, t.createdAt, t.offAt, t.pausedAt, t.oldValidUntil, n.at AS triedAt, n.status,
       (SELECT count(*) FROM callbackDeliveries d WHERE d.target = t.id AND d.state = 'waiting') AS waiting,
       ${givenUpCount} AS givenUp
     FROM callbackTargets t JOIN merchants m ON m.id = t.merchant LEFT JOIN callbackTries n ON n.id =
       (SELECT max(x.id) FROM callbackDeliveries d JOIN callbackTries x ON x.delivery = d.id WHERE d.target = t.id)
     WHERE t.offReason <> 'removed' AND (? IS NULL OR t.merchant = ?) ORDER BY m.name, t.createdAt, t.id`,
    merchant,
    merchant,
  );
}

/** A target with the number of its deliveries that wait, and of those given up without tests. */
export interface TargetState extends CallbackTargetRow {
  readonly waiting: number;
  readonly givenUp: number;
}

/** A merchant's targets that are not removed, oldest first. */
export function targetStates(database: Database, merchant: string): readonly TargetState[] {
  return database.all<TargetState>(
    `SELECT t.*, (SELECT count(*) FROM callbackDeliveries d WHERE d.target = t.id AND d.state = 'waiting') AS waiting,
       ${givenUpCount} AS givenUp
     FROM callbackTargets t WHERE t.merchant = ? AND t.offReason <> 'removed' ORDER BY t.createdAt, t.id`,
    merchant,
  );
}

export function countTargets(database: Database, merchant: string): number {
  const sql =
    "SELECT count(*) AS n FROM callbackTargets WHERE merchant = ? AND offReason <> 'removed'";
  return database.get<{ n: number }>(sql, merchant)?.n ?? 0;
}

/** Gives a target a new secret. The old secret also signs until `oldValidUntil`. */
export function rotateTarget(
  database: Database,
  id: string,
  secretBox: Uint8Array,
  oldValidUntil: number,
): void {
  const sql =
    "UPDATE callbackTargets SET oldSecretBox = secretBox, oldValidUntil = ?, secretBox = ? WHERE id = ?";
  database.run(sql, oldValidUntil, secretBox, id);
}

/**
 * Switches a target off because it answered 410.
 * @returns false if the target was off
 */
export function switchTargetOff(database: Database, id: string, nowMs: number): boolean {
  const sql =
    "UPDATE callbackTargets SET offAt = ?, offReason = 'gone' WHERE id = ? AND offAt IS NULL";
  return database.run(sql, nowMs, id).changes > 0;
}

/**
 * Switches a target on again.
 * @returns false if the target was on
 */
export function switchTargetOn(database: Database, id: string): boolean {
  const sql =
    "UPDATE callbackTargets SET offAt = NULL, offReason = '' WHERE id = ? AND offReason = 'gone'";
  return database.run(sql, id).changes > 0;
}

/**
 * Pauses a target: its events wait.
 * @returns false if it was paused
 */
export function pauseTarget(database: Database, id: string, nowMs: number): boolean {
  return (
    database.run(
      "UPDATE callbackTargets SET pausedAt = ? WHERE id = ? AND pausedAt IS NULL",
      nowMs,
      id,
    ).changes > 0
  );
}

/**
 * Ends the pause of a target.
 * @returns false if it was not paused
 */
export function endPause(database: Database, id: string): boolean {
  return (
    database.run(
      "UPDATE callbackTargets SET pausedAt = NULL WHERE id = ? AND pausedAt IS NOT NULL",
      id,
    ).changes > 0
  );
}

/**
 * Removes a target permanently and deletes its secrets; its log stays. `giveUpTarget` gives up its
 * waiting deliveries.
 */
export function removeTarget(database: Database, id: string, nowMs: number): void {
  database.run(
    `UPDATE callbackTargets SET offAt = coalesce(offAt, ?), offReason = 'removed', secretBox = x'', oldSecretBox = NULL,
       oldValidUntil = NULL WHERE id = ?`,
    nowMs,
    id,
  );
}
