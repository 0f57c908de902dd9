/**
 * The operations on callback targets by a shop's key with the scope `callbacks`: the acts of the
 * operator's commands, for the key's own merchant alone. A target of another merchant is not found.
 * An answer never has the text of a receiver's answer, because a target must not be a way to read
 * another server. Source: docs/api.md, Targets by a key.
 */
import type { JsonObject } from "../../base/json.ts";
import { formatTimestampUtc, parseTimestampUtc } from "../../base/timestamp.ts";
import { type Answer, dataAnswer, problemAnswer } from "../answer/answer.ts";
import type { AnswerCode } from "../answer/messages.ts";
import {
  type Json,
  type NamedSchema,
  type ObjectSchema,
  objectSchema,
  schemaReference,
  textSchema,
  timeSchema,
} from "../answer/schema.ts";
import type { Caller } from "../auth/authenticate.ts";
import { type EventType, eventTypes } from "../callbacks/events.ts";
import { hideNameFaultsFromMerchant } from "../callbacks/guard.ts";
import {
  type Actor,
  addTarget,
  deleteCallbackTarget,
  findOwnTarget,
  firstResendStep,
  keepTestEvent,
  pauseCallbacks,
  resendNextDeliveries,
  resumeCallbacks,
  type TargetRefusal,
  targetsMax,
} from "../callbacks/targets.ts";
import type { Service } from "../service.ts";
import {
  type CallbackTargetRow,
  type TargetState,
  targetStates,
} from "../store/callback-targets.ts";
import type { Database } from "../store/store.ts";
import { type Call, defineGet, definePost, type Operation, objectBody } from "./operation.ts";
import { sharedFields } from "./records.ts";

const { callbackId } = sharedFields;
const targetUrl = textSchema("An https address of the shop's server that takes a POST.", {
  examples: ["https://shop.example.com/hook"],
});
const heldEvents: Json = {
  type: "array",
  description: "The events that it gets; all if it is empty.",
  items: textSchema("The kind of event.", { examples: ["deposit.completed"] }),
};
const targetEvents: Json = {
  type: "array",
  description: "Only these events; all if it is empty.",
  items: textSchema("The kind of event.", { enum: [...eventTypes] }),
  maxItems: eventTypes.length,
};

const createOrder: NamedSchema<ObjectSchema> = {
  name: "CreateCallbackOrder",
  schema: objectSchema(
    "A target to add.",
    { url: targetUrl, events: targetEvents },
    { optional: ["events"], isClosed: true },
  ),
};

const targetOrder: NamedSchema<ObjectSchema> = {
  name: "CallbackOrder",
  schema: objectSchema("The target that is meant.", { callbackId }, { isClosed: true }),
};

const redeliverOrder: NamedSchema<ObjectSchema> = {
  name: "RedeliverOrder",
  schema: objectSchema(
    "The target that is meant, and the events.",
    {
      callbackId,
      since: textSchema("Events of then or later: ISO 8601 in UTC; all without it.", {
        examples: ["2026-01-02", "2026-01-02T03:04:05.678Z"],
      }),
    },
    { optional: ["since"], isClosed: true },
  ),
};

const callbackTarget: NamedSchema<ObjectSchema> = {
  name: "CallbackTarget",
  schema: objectSchema("A callback target.", {
    callbackId,
    url: targetUrl,
    events: heldEvents,
    state: textSchema("`paused`: its events wait. `off`: it answered 410, and gets no events.", {
      enum: ["active", "paused", "off"],
    }),
    createdAt: timeSchema("When it was added."),
    waiting: { type: "integer", description: "The number of deliveries that wait.", minimum: 0 },
    givenUp: {
      type: "integer",
      description: "The number of deliveries that were given up in the last 60 days.",
      minimum: 0,
    },
    succeededAt: textSchema("When it last took an event; empty if never."),
    failedAt: textSchema("When a try last failed; empty if never."),
    failedStatus: {
      type: "integer",
      description: "The HTTP status of that try; 0 without an answer.",
      minimum: 0,
    },
    failedReason: textSchema("The reason why that try had no answer; empty if it had one."),
  }),
};

const callbackTargets: NamedSchema<ObjectSchema> = {
  name: "CallbackTargets",
  schema: objectSchema("The merchant's callback targets, oldest first.", {
    callbacks: {
      type: "array",
      description: `At most ${targetsMax}.`,
      items: schemaReference(callbackTarget),
    },
  }),
};

const createdTarget: NamedSchema<ObjectSchema> = {
  name: "CreatedTarget",
  schema: objectSchema("A callback target that was added.", {
    callbackId,
    secret: textSchema(
      "Verifies the signatures of this target's callbacks. No other answer has it.",
      {
        examples: ["whsec_YSBzZWNyZXQgb2YgdGhlIGV4YW1wbGVzIG9ubHkhISE="],
      },
    ),
    url: targetUrl,
    events: heldEvents,
  }),
};

const removedTarget: NamedSchema<ObjectSchema> = {
  name: "RemovedTarget",
  schema: objectSchema("A callback target that was removed.", {
    callbackId,
    recordsGivenUp: {
      type: "integer",
      description: "The number of records whose callbacks were given up.",
      minimum: 0,
    },
  }),
};

const testSent: NamedSchema<ObjectSchema> = {
  name: "TestSent",
  schema: objectSchema("A test event that is being sent.", {
    callbackId,
    messageId: textSchema("The `webhook-id` of the test.", {
      examples: ["msg_3f0c1d0c4f0b4f1e9a7c5d2e8b6a4c10"],
    }),
  }),
};

const redelivery: NamedSchema<ObjectSchema> = {
  name: "Redelivery",
  schema: objectSchema("Deliveries that are sent again.", {
    callbackId,
    since: textSchema("The time from which events count; empty for all."),
    deliveries: {
      type: "integer",
      description: "The number of deliveries that are sent again.",
      minimum: 0,
    },
    left: {
      type: "integer",
      description: "The number that stays given up, because too many wait.",
      minimum: 0,
    },
  }),
};

/** A request with the scope, whose body was read. */
type TargetCall = Pick<Call, "caller" | "write"> & { readonly order: JsonObject };

function actorOf({ key: gatewayKey, random, clock }: Service, { key }: Caller): Actor {
  return { gatewayKey, random, nowMs: clock(), actor: key.id };
}

const textOf = (atMs: number | null): string => (atMs === null ? "" : formatTimestampUtc(atMs));

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
    failedReason: hideNameFaultsFromMerchant(failedReason),
  };
}

/** The merchant's targets, oldest first. Harmless to call twice. */
function listCallbackTargets({ store }: Service, merchant: string): Answer {
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

function notAdded(refused: TargetRefusal): Answer {
  if (refused.why === "url")
    return problemAnswer("callback_url_invalid", { field: "url", reason: refused.problem });
  return refused.why === "known"
    ? problemAnswer("callback_exists", { callbackId: refused.callbackId })
    : problemAnswer("callbacks_full");
}

/**
 * Adds a target; the answer has the only copy of its secret. The same URL again is refused with the
 * id of its target, so that a repeated request makes no second one.
 */
async function createCallback(
  service: Service,
  { caller, order, write }: TargetCall,
): Promise<Answer> {
  const { url, events: wanted } = order;
  if (typeof url !== "string")
    return problemAnswer("callback_url_invalid", { field: "url", reason: "must be a text" });
  const events = eventsOf(wanted);
  if (events === null) return problemAnswer("callback_events_invalid", { field: "events" });
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

/** Runs an act on the target of the caller's merchant that the body names. */
function actOn(
  service: Service,
  { caller, order, write }: TargetCall,
  act: TargetAct,
): Promise<Answer> {
  return write((database) => {
    const id = typeof order.callbackId === "string" ? order.callbackId : "";
    const target = findOwnTarget(database, caller.merchant.id, id);
    return target === undefined
      ? problemAnswer("callback_not_found", { field: "callbackId" })
      : act(database, actorOf(service, caller), target);
  });
}

function stateAfter(database: Database, { id, merchant }: CallbackTargetRow): Answer {
  const target = targetStates(database, merchant).find((one) => one.id === id);
  return target === undefined
    ? problemAnswer("callback_not_found", { field: "callbackId" })
    : dataAnswer(viewOf(target));
}

/** Lets the events of a target wait. Harmless to call twice. */
function pauseCallback(service: Service, call: TargetCall): Promise<Answer> {
  return actOn(service, call, (database, by, target) => {
    pauseCallbacks(database, by, target.id);
    return stateAfter(database, target);
  });
}

/** Ends a pause, and the state after a 410. Harmless to call twice. */
function resumeCallback(service: Service, call: TargetCall): Promise<Answer> {
  return actOn(service, call, (database, by, target) => {
    resumeCallbacks(database, by, target.id);
    return stateAfter(database, target);
  });
}

/** Removes a target permanently. A second call does not find it. */
function removeCallback(service: Service, call: TargetCall): Promise<Answer> {
  return actOn(service, call, (database, by, { id }) =>
    dataAnswer({ callbackId: id, recordsGivenUp: deleteCallbackTarget(database, by, id) }),
  );
}

/** Keeps a test event that is sent at once. Harmless to call twice: one test waits at a time. */
function testCallback(service: Service, call: TargetCall): Promise<Answer> {
  return actOn(service, call, (database, by, target) => {
    if (target.offAt !== null || target.pausedAt !== null)
      return problemAnswer("callback_off", { field: "callbackId" });
    return dataAnswer({
      callbackId: target.id,
      messageId: keepTestEvent(database, by, target, service.config.callbacks),
    });
  });
}

/**
 * Sends again what waits or was given up, of events since `since`, in steps; each further step
 * counts as a request. A second call begins their schedules again.
 */
async function redeliverCallback(
  service: Service,
  call: TargetCall & Pick<Call, "owe">,
): Promise<Answer> {
  const { since } = call.order;
  const sinceMs =
    since === undefined ? 0 : typeof since === "string" ? parseTimestampUtc(since) : null;
  if (sinceMs === null) return problemAnswer("since_invalid", { field: "since" });
  for (let step = firstResendStep, isFirst = true; ; isFirst = false) {
    let next: typeof step | null = null;
    const from = step;
    const answer = await actOn(service, call, (database, by, { id, offAt }) => {
      if (offAt !== null) return problemAnswer("callback_off", { field: "callbackId" });
      const made = resendNextDeliveries(database, by, { target: id, sinceMs }, from);
      next = made.isDone ? null : made.step;
      const { again: deliveries, left } = made.step;
      return dataAnswer({
        callbackId: id,
        since: since === undefined ? "" : formatTimestampUtc(sinceMs),
        deliveries,
        left,
      });
    });
    if (!isFirst) call.owe(1);
    if (next === null) return answer;
    step = next;
  }
}

const targetExample = {
  callbackId: "cb_6f0c1d0c4f0b4f1e",
  url: "https://shop.example.com/hook",
  events: ["deposit.completed", "withdrawal.completed"],
  state: "active",
  createdAt: "2026-01-01T08:00:00.000Z",
  waiting: 3,
  givenUp: 0,
  succeededAt: "2026-01-02T03:18:40.480Z",
  failedAt: "2026-01-02T02:00:00.000Z",
  failedStatus: 0,
  failedReason: "no answer in time",
};

const targetBody = objectBody(targetOrder, { callbackId: "cb_6f0c1d0c4f0b4f1e" });
const targetCodes: readonly AnswerCode[] = ["callback_not_found"];

export const callbackOperations: readonly Operation[] = [
  defineGet({
    id: "callbacks",
    scope: "callbacks",
    name: { en: "Callback targets", tr: "Geri çağrı hedefleri" },
    description:
      "The merchant's targets with their state, what waits, and their newest success and failure. Never a secret.",
    result: {
      schema: schemaReference(callbackTargets),
      example: { callbacks: [targetExample] },
    },
    answer: (service, { caller }) => listCallbackTargets(service, caller.merchant.id),
  }),
  definePost({
    id: "createCallback",
    scope: "callbacks",
    name: { en: "Add a callback target", tr: "Geri çağrı hedefi ekleme" },
    description:
      "Adds a target; the answer alone has its secret. The same URL sent again is refused with the `callbackId` of its target: after a " +
      "time-out, remove that target and add it again.",
    order: objectBody(createOrder, {
      url: "https://shop.example.com/hook",
      events: ["deposit.completed", "withdrawal.completed"],
    }),
    result: {
      schema: schemaReference(createdTarget),
      example: {
        callbackId: targetExample.callbackId,
        secret: "whsec_YSBzZWNyZXQgb2YgdGhlIGV4YW1wbGVzIG9ubHkhISE=",
        url: targetExample.url,
        events: targetExample.events,
      },
    },
    codes: ["callback_url_invalid", "callback_events_invalid", "callback_exists", "callbacks_full"],
    answer: createCallback,
  }),
  definePost({
    id: "pauseCallback",
    scope: "callbacks",
    name: { en: "Pause a callback target", tr: "Geri çağrı hedefini duraklatma" },
    description: "Its events wait until it is resumed. Repeating it changes nothing.",
    order: targetBody,
    result: {
      schema: schemaReference(callbackTarget),
      example: { ...targetExample, state: "paused" },
    },
    codes: targetCodes,
    answer: pauseCallback,
  }),
  definePost({
    id: "resumeCallback",
    scope: "callbacks",
    name: { en: "Resume a callback target", tr: "Geri çağrı hedefini sürdürme" },
    description:
      "Sends what waits, and switches on a target that answered 410. Repeating it changes nothing.",
    order: targetBody,
    result: {
      schema: schemaReference(callbackTarget),
      example: targetExample,
    },
    codes: targetCodes,
    answer: resumeCallback,
  }),
  definePost({
    id: "removeCallback",
    scope: "callbacks",
    name: { en: "Remove a callback target", tr: "Geri çağrı hedefini kaldırma" },
    description: "Permanently; what waits for it is given up.",
    order: targetBody,
    result: {
      schema: schemaReference(removedTarget),
      example: { callbackId: targetExample.callbackId, recordsGivenUp: 3 },
    },
    codes: targetCodes,
    answer: removeCallback,
  }),
  definePost({
    id: "testCallback",
    scope: "callbacks",
    name: { en: "Test a callback target", tr: "Geri çağrı hedefini deneme" },
    description:
      "Sends one `webhook.test`, once. The list of targets shows its outcome some seconds later.",
    order: targetBody,
    result: {
      schema: schemaReference(testSent),
      example: {
        callbackId: targetExample.callbackId,
        messageId: "msg_3f0c1d0c4f0b4f1e9a7c5d2e8b6a4c10",
      },
    },
    codes: [...targetCodes, "callback_off"],
    answer: testCallback,
  }),
  definePost({
    id: "redeliverCallback",
    scope: "callbacks",
    name: { en: "Send again what did not arrive", tr: "Ulaşmayanları yeniden gönderme" },
    description:
      "All deliveries of a target that wait or were given up, of events since a time, each with the same bytes and id. Events that " +
      "arrived are not sent again.",
    order: objectBody(redeliverOrder, { callbackId: "cb_6f0c1d0c4f0b4f1e", since: "2026-01-02" }),
    result: {
      schema: schemaReference(redelivery),
      example: {
        callbackId: targetExample.callbackId,
        since: "2026-01-02T00:00:00.000Z",
        deliveries: 7,
        left: 0,
      },
    },
    codes: [...targetCodes, "callback_off", "since_invalid"],
    answer: redeliverCallback,
  }),
];
