/**
 * Schemas of the requests and answers about callback targets. Source: docs/api.md, Targets by a
 * key.
 */
import { eventTypes } from "../callbacks/events.ts";
import { targetsMax } from "../callbacks/targets.ts";
import { type Json, objectSchema, schemaReference, textSchema, timeSchema } from "./schema.ts";

export const callbackId = textSchema("Identifier of the callback target.", {
  examples: ["cb_6f0c1d0c4f0b4f1e"],
});
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
export const targetOrders: Readonly<Record<string, Json>> = {
  CreateCallbackOrder: objectSchema(
    "A target to add.",
    { url: targetUrl, events: targetEvents },
    { optional: ["events"], isClosed: true },
  ),
  CallbackOrder: objectSchema("The target that is meant.", { callbackId }, { isClosed: true }),
  RedeliverOrder: objectSchema(
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

const target = objectSchema("A callback target.", {
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
});

export const targetSchemas: Readonly<Record<string, Json>> = {
  CallbackTarget: target,
  CallbackTargets: objectSchema("The merchant's callback targets, oldest first.", {
    callbacks: {
      type: "array",
      description: `At most ${targetsMax}.`,
      items: schemaReference("CallbackTarget"),
    },
  }),
  CreatedTarget: objectSchema("A callback target that was added.", {
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
  RemovedTarget: objectSchema("A callback target that was removed.", {
    callbackId,
    recordsGivenUp: {
      type: "integer",
      description: "The number of records whose callbacks were given up.",
      minimum: 0,
    },
  }),
  TestSent: objectSchema("A test event that is being sent.", {
    callbackId,
    messageId: textSchema("The `webhook-id` of the test.", {
      examples: ["msg_3f0c1d0c4f0b4f1e9a7c5d2e8b6a4c10"],
    }),
  }),
  Redelivery: objectSchema("Deliveries that are sent again.", {
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
