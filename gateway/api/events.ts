/**
 * GET /events: the events of a merchant's records for a shop that cannot take callbacks, or that
 * missed some: the same texts as callbacks have, in the order in which they were made. The first
 * call begins the keeping of events for a merchant without a callback target. Source: docs/api.md,
 * Events to ask for.
 */
import { type Answer, jsonAnswer, problem } from "../answer/answer.ts";
import type { Service } from "../service.ts";
import { listEventsAfter, newestNumber } from "../store/callback-outbox.ts";
import { keepEvents, keepsEvents } from "../store/merchants.ts";
import { unknownParameter } from "./transactions.ts";

const limitMax = 500;
const limitDefault = 100;
const cursorPattern = /^(?:0|[1-9]\d{0,15})$/;

/** The names of the parameters. */
export const eventParameterNames = ["after", "limit"] as const;

type Query = Readonly<Record<string, unknown>>;

/**
 * The events after the cursor `after`, at most `limit`, and the cursor of the next call. Without
 * `after` the answer has no events: its cursor stands behind the newest one. Harmless to call
 * twice.
 */
export function readEvents({ store }: Service, merchant: string, query: Query): Answer {
  const unknown = unknownParameter(query, eventParameterNames);
  if (unknown !== null) return unknown;
  const { after, limit = String(limitDefault) } = query;
  if (typeof limit !== "string" || !/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > limitMax)
    return problem("query_invalid", { field: "limit" });
  if (after !== undefined && (typeof after !== "string" || !cursorPattern.test(after)))
    return problem("query_invalid", { field: "after" });
  const { database } = store;
  if (!keepsEvents(database, merchant)) store.write((writable) => keepEvents(writable, merchant));
  if (after === undefined)
    return jsonAnswer(`{"events":[],"next":"${newestNumber(database, merchant)}"}`);
  const events = listEventsAfter(database, merchant, Number(after), Number(limit));
  const next = events.at(-1)?.number ?? after;
  // The text of an event stays as it was signed; its id, a header of callbacks, stands before it.
  const texts = events.map(({ id, body }) => `{"id":${JSON.stringify(id)},${body.slice(1)}`);
  return jsonAnswer(`{"events":[${texts.join(",")}],"next":"${next}"}`);
}
