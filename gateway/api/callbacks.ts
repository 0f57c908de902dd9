/**
 * Callback targets by a shop's key with the scope `callbacks`: the acts of the operator's commands,
 * for the key's own merchant alone. A target of another merchant is not found. An answer never has
 * the text of a receiver's answer, because a target must not be a way to read another server.
 * Source: docs/api.md, Targets by a key.
 */

import { momentOf, readMoment } from "../../base/timestamp.ts";
import { type Answer, dataAnswer, isAnswer, problem } from "../answer/answer.ts";
import { readObject } from "../answer/body.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { WriteOnce } from "../auth/replay-guard.ts";
import { type EventType, eventTypes } from "../callbacks/events.ts";
import { reasonForKey } from "../callbacks/guard.ts";
import {
  type Actor,
  addTarget,
  findOwnTarget,
  firstAgainStep,
  keepTest,
  type NotAdded,
  pauseCallbacks,
  removeCallbacks,
  resumeCallbacks,
  sendAgain,
} from "../callbacks/targets.ts";
import type { Service } from "../service.ts";
import {
  type CallbackTargetRow,
  type TargetState,
  targetStates,
} from "../store/callback-targets.ts";
import type { Database } from "../store/store.ts";

/** A POST of a key with the scope. */
export interface CallbackRequest {
  readonly caller: Caller;
  readonly body: Uint8Array;
  readonly write: WriteOnce;
  readonly owe: (more: number) => void;
}

function actorOf({ key: gatewayKey, random, clock }: Service, { key }: Caller): Actor {
  return { gatewayKey, random, nowMs: clock(), actor: key.id };
}

const textOf = (atMs: number | null): string => (atMs === null ? "" : momentOf(atMs));

/** The fields of a target. Never its secret. */
function viewOf(target: TargetState): object {
  const { id, url, events, createdAt, offAt, pausedAt, waiting, givenUp } = target;
  const state = offAt !== null ? "off" : pausedAt !== null ? "paused" : "active";
  const { succeededAt, failedAt, failedStatus, failedReason } = target;
  return {
    callbackId: id,
    url,
    events: events === "" ? [] : events.split(","),
    state,
    createdAt: textOf(createdAt),

    waiting,
    givenUp,
    succeededAt: textOf(succeededAt),
    failedAt: textOf(failedAt),
    failedStatus,
    failedReason: reasonForKey(failedReason),
  };
}

/** The merchant's targets, oldest first. Harmless to call twice. */
export function listCallbackTargets({ store }: Service, merchant: string): Answer {
  return dataAnswer({
    callbacks: targetStates(store.database, merchant).map((target) => viewOf(target)),
  });
}

function eventsOf(value: unknown): readonly EventType[] | null {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > eventTypes.length) return null;
  return value.every((type) => (eventTypes as readonly unknown[]).includes(type))
    ? (value as EventType[])
    : null;
}

function notAdded(refused: NotAdded): Answer {
  if (refused.why === "url")
    return problem("callback_url_invalid", { field: "url", reason: refused.problem });
  return refused.why === "known"
    ? problem("callback_exists", { callbackId: refused.callbackId })
    : problem("callbacks_full");
}

/**
 * Adds a target; the answer has the only copy of its secret. The same URL again is refused with the
 * id of its target, so that a repeated request makes no second one.
 */
export async function createCallback(
  service: Service,
  { caller, body, write }: CallbackRequest,
): Promise<Answer> {
  const read = readObject(body, { required: ["url"], optional: ["events"] });
  if (isAnswer(read)) return read;
  const { url, events: wanted } = read;
  if (typeof url !== "string")
    return problem("callback_url_invalid", { field: "url", reason: "must be a text" });
  const events = eventsOf(wanted);
  if (events === null) return problem("callback_events_invalid", { field: "events" });
  const target = { merchant: caller.merchant.id, url, events };
  const added = await write((database) =>
    addTarget(database, actorOf(service, caller), target, service.config.callbacks),
  );
  if (!added.ok) return notAdded(added);
  const { callbackId, secret } = added;
  return dataAnswer({
    callbackId,
    secret,
    url: added.url,
    events: eventTypes.filter((type) => events.includes(type)),
  });
}

type TargetAct = (database: Database, by: Actor, target: CallbackTargetRow) => Answer;

/** Runs an act on a target of the caller's merchant. */
function actOn(
  service: Service,
  { caller, write }: CallbackRequest,
  callbackId: unknown,
  act: TargetAct,
): Promise<Answer> {
  return write((database) => {
    const id = typeof callbackId === "string" ? callbackId : "";
    const target = findOwnTarget(database, caller.merchant.id, id);
    return target === undefined
      ? problem("callback_not_found", { field: "callbackId" })
      : act(database, actorOf(service, caller), target);
  });
}

/** An operation whose body is `callbackId` alone. */
async function actByBody(
  service: Service,
  request: CallbackRequest,
  act: TargetAct,
): Promise<Answer> {
  const read = readObject(request.body, { required: ["callbackId"], optional: [] });
  return isAnswer(read) ? read : actOn(service, request, read.callbackId, act);
}

function stateAfter(database: Database, { id, merchant }: CallbackTargetRow): Answer {
  const target = targetStates(database, merchant).find((one) => one.id === id);
  return target === undefined
    ? problem("callback_not_found", { field: "callbackId" })
    : dataAnswer(viewOf(target));
}

/** Lets the events of a target wait. Harmless to call twice. */
export function pauseCallback(service: Service, request: CallbackRequest): Promise<Answer> {
  return actByBody(service, request, (database, by, target) => {
    pauseCallbacks(database, by, target.id);
    return stateAfter(database, target);
  });
}

/** Ends a pause, and the state after a 410. Harmless to call twice. */
export function resumeCallback(service: Service, request: CallbackRequest): Promise<Answer> {
  return actByBody(service, request, (database, by, target) => {
    resumeCallbacks(database, by, target.id);
    return stateAfter(database, target);
  });
}

/** Removes a target permanently. A second call does not find it. */
export function removeCallback(service: Service, request: CallbackRequest): Promise<Answer> {
  return actByBody(service, request, (database, by, { id }) =>
    dataAnswer({ callbackId: id, recordsGivenUp: removeCallbacks(database, by, id) }),
  );
}

/** Keeps a test event that is sent at once. Harmless to call twice: one test waits at a time. */
export function testCallback(service: Service, request: CallbackRequest): Promise<Answer> {
  return actByBody(service, request, (database, by, target) => {
    if (target.offAt !== null || target.pausedAt !== null)
      return problem("callback_off", { field: "callbackId" });
    return dataAnswer({
      callbackId: target.id,
      messageId: keepTest(database, by, target, service.config.callbacks),
    });
  });
}

/**
 * Sends again what waits or was given up, of events since `since`, in steps; each further step
 * counts as a request. A second call begins their schedules again.
 */
export async function redeliverCallback(
  service: Service,
  request: CallbackRequest,
): Promise<Answer> {
  const read = readObject(request.body, { required: ["callbackId"], optional: ["since"] });
  if (isAnswer(read)) return read;
  const { since } = read;
  const sinceMs = since === undefined ? 0 : typeof since === "string" ? readMoment(since) : null;
  if (sinceMs === null) return problem("since_invalid", { field: "since" });
  for (let step = firstAgainStep, isFirst = true; ; isFirst = false) {
    let next: typeof step | null = null;
    const from = step;
    const answer = await actOn(service, request, read.callbackId, (database, by, { id, offAt }) => {
      if (offAt !== null) return problem("callback_off", { field: "callbackId" });
      const made = sendAgain(database, by, { target: id, sinceMs }, from);
      next = made.isDone ? null : made.step;
      const { again: deliveries, left } = made.step;
      return dataAnswer({
        callbackId: id,
        since: since === undefined ? "" : momentOf(sinceMs),
        deliveries,
        left,
      });
    });
    if (!isFirst) request.owe(1);
    if (next === null) return answer;
    step = next;
  }
}
