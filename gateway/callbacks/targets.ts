/**
 * Acts on callback targets, for the operator's commands and for a shop's key: one rule for both.
 * Each act runs inside the caller's transaction and writes a line into the audit table.
 */

import { formatTimestampUtc } from "../../base/timestamp.ts";
import type { GatewayKey } from "../auth/gateway-key.ts";
import { sealSecret } from "../auth/secret-box.ts";
import { recordAct } from "../store/audit.ts";
import {
  countWaitingDeliveries,
  type DeliveryRank,
  giveUpDeliveriesOfTarget,
  insertDelivery,
  listUndelivered,
  restartDelivery,
  waitingTestEvent,
} from "../store/callback-deliveries.ts";
import { insertEvent, refreshCallbackStatus } from "../store/callback-outbox.ts";
import {
  type CallbackTargetRow,
  countTargets,
  endPause,
  findTarget,
  insertTarget,
  listTargets,
  pauseTarget,
  removeTarget,
  switchTargetOn,
} from "../store/callback-targets.ts";
import type { Database } from "../store/store.ts";
import { type EventType, eventTypes } from "./events.ts";
import { type GuardSettings, urlProblem } from "./guard.ts";
import { testEvent, waitingDeliveriesMax } from "./outbox.ts";
import { newSecret } from "./signature.ts";

const targetIdBytes = 8;

/** Largest number of targets of one merchant. */
export const targetsMax = 16;

/** The one who acts. */
export interface Actor {
  readonly gatewayKey: GatewayKey;
  readonly random: (bytes: number) => Uint8Array;
  readonly nowMs: number;
  readonly actor: string; // "operator", or the id of a key
}

export interface NewTarget {
  readonly merchant: string;
  readonly url: string;
  readonly events: readonly EventType[]; // [] for all
}

/** A target that was not added: its URL, the merchant's same target, or the limit is the reason. */
export type TargetRefusal =
  | { readonly ok: false; readonly why: "url"; readonly problem: string }
  | { readonly ok: false; readonly why: "known"; readonly callbackId: string }
  | { readonly ok: false; readonly why: "full" };

export interface AddedTarget {
  readonly ok: true;
  readonly callbackId: string;
  readonly url: string; // as it is kept
  readonly secret: string; // the only copy
}

/** Adds a target of an existing merchant. */
export function addTarget(
  database: Database,
  by: Actor,
  wanted: NewTarget,
  settings: GuardSettings,
): AddedTarget | TargetRefusal {
  const problem = urlProblem(wanted.url, settings);
  if (problem !== "") return { ok: false, why: "url", problem };
  const { merchant } = wanted;
  const url = new URL(wanted.url).href;
  const known = listTargets(database, merchant).find((target) => target.url === url);
  if (known !== undefined) return { ok: false, why: "known", callbackId: known.id };
  if (countTargets(database, merchant) >= targetsMax) return { ok: false, why: "full" };
  const id = `cb_${Buffer.from(by.random(targetIdBytes)).toString("hex")}`;
  const secret = newSecret(by.random);
  const secretBox = sealSecret(
    Buffer.from(secret, "utf8"),
    id,
    by.gatewayKey.sealingKey,
    by.random,
  );
  const events = eventTypes.filter((type) => wanted.events.includes(type)).join(",");
  insertTarget(database, { id, merchant, url, events, secretBox, createdAt: by.nowMs });
  audit(database, by, "callback added", id, `${merchant} ${events || "all events"}`);
  return { ok: true, callbackId: id, url, secret };
}

function audit(database: Database, by: Actor, act: string, subject: string, detail: string): void {
  recordAct(database, { at: by.nowMs, actor: by.actor, act, subject, detail });
}

/** A merchant's own target that is not removed; undefined for a target of another merchant. */
export function findOwnTarget(
  database: Database,
  merchant: string,
  id: string,
): CallbackTargetRow | undefined {
  const target = findTarget(database, id);
  return target?.merchant === merchant ? target : undefined;
}

/** Pauses a target: its events wait. Harmless to call twice. */
export function pauseCallbacks(database: Database, by: Actor, id: string): void {
  if (pauseTarget(database, id, by.nowMs)) audit(database, by, "callback paused", id, "");
}

/**
 * Ends a pause, and switches on a target that a 410 switched off. Harmless to call twice. Events
 * that were given up stay so; `resendNextDeliveries` sends them.
 */
export function resumeCallbacks(database: Database, by: Actor, id: string): void {
  if (endPause(database, id)) audit(database, by, "callback resumed", id, "");
  if (switchTargetOn(database, id)) audit(database, by, "callback switched on", id, "");
}

/**
 * Removes a target permanently and gives up its waiting deliveries.
 * @returns the number of records whose callbacks were given up
 */
export function deleteCallbackTarget(database: Database, by: Actor, id: string): number {
  const records = giveUpDeliveriesOfTarget(database, id);
  removeTarget(database, id, by.nowMs);
  refreshCallbackStatus(database, records);
  audit(database, by, "callback removed", id, "");
  return records.length;
}

/**
 * Keeps a `webhook.test` that the running gateway sends at once, as its schedule's last try: one
 * that is not taken is given up. One that waits already stays the only one, so that a slow receiver
 * gathers none.
 * @returns the id of the event, header webhook-id
 */
export function keepTestEvent(
  database: Database,
  by: Actor,
  target: CallbackTargetRow,
  { retryMs }: { readonly retryMs: readonly number[] },
): string {
  const waiting = waitingTestEvent(database, target.id);
  if (waiting !== undefined) return waiting;
  const event = testEvent(target, { random: by.random, clock: () => by.nowMs });
  insertEvent(database, event, by.nowMs);
  const delivery = {
    event: event.id,
    target: target.id,
    state: "waiting",
    nextAt: by.nowMs,
    rank: 1,
  } as const;
  insertDelivery(database, { ...delivery, tries: retryMs.length });
  audit(database, by, "callback tested", target.id, event.id);
  return event.id;
}

/**
 * Deliveries in one database transaction of `resendNextDeliveries`, so that the running gateway
 * waits for none.
 */
const againAtOnce = 500;

/**
 * The place where a step of `resendNextDeliveries` begins: deliveries of `rank` above number
 * `after`.
 */
export interface ResendStep {
  readonly rank: DeliveryRank;
  readonly after: number;
  readonly again: number; // deliveries of all steps before that are sent again
  readonly left: number; // those that were given up and stay so, because too many wait
}

export const firstResendStep: ResendStep = { rank: 0, after: 0, again: 0, left: 0 };

/**
 * One step of sending again all deliveries of a target that wait or were given up, of events since
 * `sinceMs`, each with the same bytes and id, and with all its tries; the ends of money come first.
 * The caller calls it in one transaction after the other until `isDone`.
 */
export function resendNextDeliveries(
  database: Database,
  by: Actor,
  of: { readonly target: string; readonly sinceMs: number },
  step: ResendStep,
): { readonly isDone: boolean; readonly step: ResendStep } {
  const found = listUndelivered(
    database,
    { ...of, rank: step.rank, after: step.after },
    againAtOnce,
  );
  let { left } = step;
  let room =
    waitingDeliveriesMax - countWaitingDeliveries(database, of.target, waitingDeliveriesMax);
  const touched: string[] = [];
  for (const { id, state, transactionId } of found) {
    if (state === "given up" && room <= 0) {
      left += 1;
      continue;
    }
    room -= state === "given up" ? 1 : 0;
    restartDelivery(database, id, by.nowMs);
    touched.push(transactionId);
  }
  refreshCallbackStatus(database, touched);
  const again = step.again + touched.length;
  const after = found.at(-1)?.id;
  if (after !== undefined) return { isDone: false, step: { rank: step.rank, after, again, left } };
  if (step.rank === 0) return { isDone: false, step: { rank: 1, after: 0, again, left } };
  audit(
    database,
    by,
    "callbacks sent again",
    of.target,
    `${again} since ${formatTimestampUtc(of.sinceMs)}`,
  );
  return { isDone: true, step: { ...step, again, left } };
}
