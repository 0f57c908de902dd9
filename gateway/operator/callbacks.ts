/**
 * The operator's acts on callback targets and deliveries, each in one database transaction with a
 * line in the audit table. They work while a gateway runs, because the gateway looks for new work
 * once a second.
 */
import { type Refusal, refuse } from "../../base/fault.ts";
import { sealSecret } from "../auth/secret-box.ts";
import { bringForwardLimits, signingSecretsOf } from "../callbacks/callbacks.ts";
import type { GuardSettings } from "../callbacks/guard.ts";
import { testEvent } from "../callbacks/outbox.ts";
import { type CallbackSender, type DeliveryResult, isTaken } from "../callbacks/send.ts";
import { newSecret, signedHeaders } from "../callbacks/signature.ts";
import {
  type Actor,
  addTarget,
  deleteCallbackTarget,
  firstResendStep,
  type NewTarget,
  resendNextDeliveries,
  type TargetRefusal,
  targetsMax,
} from "../callbacks/targets.ts";
import { recordAct } from "../store/audit.ts";
import {
  bringForward,
  findDelivery,
  insertDelivery,
  keepTry,
  listDeliveries,
  restartDelivery,
  triesOf,
} from "../store/callback-deliveries.ts";
import { insertEvent, refreshCallbackStatus } from "../store/callback-outbox.ts";
import {
  findTarget,
  listTargets,
  rotateTarget,
  switchTargetOn,
} from "../store/callback-targets.ts";
import { readMerchant } from "../store/merchants.ts";
import { formatTimestamp, type OperatorContext } from "./accounts.ts";

/** Both secrets sign for this long after a rotation. */
export const oldSecretHours = 24;
const oldSecretMs = oldSecretHours * 3_600_000;

const asActor = (by: OperatorContext): Actor => by;

/**
 * Adds a target; `secret` is the only copy. Refuses GATEWAY_UNKNOWN_MERCHANT. Refuses
 * GATEWAY_CALLBACK_URL for a URL that no callback may use, a URL that the merchant already has, and
 * a target above the limit.
 */
export function addCallback(
  by: OperatorContext,
  wanted: NewTarget,
  settings: GuardSettings,
): { readonly ok: true; readonly callbackId: string; readonly secret: string } | Refusal {
  return by.store.write((database) => {
    if (readMerchant(database, wanted.merchant) === undefined)
      return refuse("GATEWAY_UNKNOWN_MERCHANT");
    const added = addTarget(database, asActor(by), wanted, settings);
    return added.ok ? added : refuse("GATEWAY_CALLBACK_URL", wordsOf(added));
  });
}

function wordsOf(refused: TargetRefusal): string {
  if (refused.why === "url") return `the URL ${refused.problem}`;
  return refused.why === "known"
    ? "the merchant has this URL already"
    : `a merchant has at most ${targetsMax} callback targets`;
}

function audit(by: OperatorContext, act: string, subject: string, detail: string): void {
  recordAct(by.store.database, { at: by.nowMs, actor: by.actor, act, subject, detail });
}

export interface CallbackLine {
  readonly callbackId: string;
  readonly merchantId: string;
  readonly merchant: string;
  readonly url: string;
  readonly events: readonly string[]; // [] for all
  readonly createdAt: string;
  readonly offAt: string; // "" while it takes events
  readonly pausedAt: string; // "" unless its events wait, because the shop paused it
  readonly twoSecretsUntil: string; // "" while one secret signs
  readonly waiting: number;
  readonly givenUp: number; // deliveries that nobody tries any more, without tests
  readonly triedAt: string; // "" never
  readonly status: number; // HTTP status of the newest answer; 0 none
}

/** The targets of all merchants, or of one. */
export function listCallbacks(
  by: OperatorContext,
  merchant: string | undefined,
): readonly CallbackLine[] {
  return listTargets(by.store.database, merchant ?? null).map((row) => ({
    callbackId: row.id,
    merchantId: row.merchant,
    merchant: row.name,
    url: row.url,
    events: row.events === "" ? [] : row.events.split(","),
    createdAt: formatTimestamp(row.createdAt),
    offAt: formatTimestamp(row.offAt),
    pausedAt: formatTimestamp(row.pausedAt),
    twoSecretsUntil:
      row.oldValidUntil === null || row.oldValidUntil <= by.nowMs
        ? ""
        : formatTimestamp(row.oldValidUntil),
    waiting: row.waiting,
    givenUp: row.givenUp,
    triedAt: formatTimestamp(row.triedAt),
    status: row.status ?? 0,
  }));
}

/**
 * Sends a `webhook.test` now and keeps it in the log. A target that was switched off and accepts
 * the test is switched on again, and what waits for a target that accepts it is sent earlier.
 * Refuses GATEWAY_UNKNOWN_CALLBACK.
 */
export async function testCallback(
  by: OperatorContext,
  id: string,
  callbackSender: CallbackSender,
): Promise<
  | {
      readonly ok: true;
      readonly sent: DeliveryResult;
      readonly taken: boolean;
      readonly switchedOn: boolean;
    }
  | Refusal
> {
  const target = findTarget(by.store.database, id);
  if (target === undefined) return refuse("GATEWAY_UNKNOWN_CALLBACK");
  const event = testEvent(target, { random: by.random, clock: () => by.nowMs });
  const secrets = signingSecretsOf(target, by.gatewayKey.sealingKey, by.nowMs);
  const headers = signedHeaders(secrets, {
    id: event.id,
    timestamp: Math.floor(by.nowMs / 1000),
    body: event.body,
  });
  const sent = await callbackSender.send({ url: target.url, headers, body: event.body });
  const taken = isTaken(sent);
  return by.store.write((database) => {
    insertEvent(database, event, by.nowMs);
    const state = taken ? "delivered" : "given up";
    const delivery = insertDelivery(database, {
      event: event.id,
      target: id,
      state,
      nextAt: by.nowMs,
      rank: 1,
    });
    const { status, durationMs, answer } = sent;
    const after = { state, nextAt: by.nowMs, restUntil: 0, isCounted: true } as const;
    keepTry(database, delivery, { at: by.nowMs, status, durationMs, answer }, after);
    if (taken) bringForward(database, id, by.nowMs, bringForwardLimits);
    const switchedOn = taken && switchTargetOn(database, id);
    if (switchedOn) audit(by, "callback switched on", id, "");
    return { ok: true, sent, taken, switchedOn };
  });
}

/**
 * Gives a target a new secret; both secrets sign until `oldValidUntil`. Refuses
 * GATEWAY_UNKNOWN_CALLBACK.
 */
export function rotateCallback(
  by: OperatorContext,
  id: string,
): { readonly ok: true; readonly secret: string; readonly oldValidUntil: string } | Refusal {
  return by.store.write((database) => {
    if (findTarget(database, id) === undefined) return refuse("GATEWAY_UNKNOWN_CALLBACK");
    const secret = newSecret(by.random);
    const box = sealSecret(Buffer.from(secret, "utf8"), id, by.gatewayKey.sealingKey, by.random);
    const oldValidUntil = by.nowMs + oldSecretMs;
    rotateTarget(database, id, box, oldValidUntil);
    audit(by, "callback secret changed", id, "");
    return { ok: true, secret, oldValidUntil: formatTimestamp(oldValidUntil) };
  });
}

export interface DeliveryView {
  readonly delivery: number;
  readonly callbackId: string;
  readonly merchantId: string;
  readonly messageId: string; // header webhook-id
  readonly type: string;
  readonly transactionId: string; // "" for a test
  readonly sequence: number;
  readonly at: string; // time of the event
  readonly state: string;
  readonly nextAt: string; // "" unless it waits
  readonly tries: readonly {
    readonly at: string;
    readonly status: number;
    readonly durationMs: number;
    readonly answer: string;
  }[];
}

/** Deliveries of the last 60 days with every try, newest first. */
export function callbackDeliveries(
  { store: { database } }: Pick<OperatorContext, "store">,
  of: { readonly merchant?: string; readonly target?: string },
  most: number,
): readonly DeliveryView[] {
  return listDeliveries(database, of, most).map((row) => ({
    delivery: row.id,
    callbackId: row.target,
    merchantId: row.merchant,
    messageId: row.event,
    type: row.type,
    transactionId: row.transactionId ?? "",
    sequence: row.sequence,
    at: formatTimestamp(row.eventAt),
    state: row.state,
    nextAt: row.state === "waiting" ? formatTimestamp(row.nextAt) : "",
    tries: triesOf(database, row.id).map(({ at, ...how }) => ({ at: formatTimestamp(at), ...how })),
  }));
}

/**
 * Sends a delivery again, with the same bytes and id, and with all its tries. Refuses
 * GATEWAY_UNKNOWN_CALLBACK, also if its target is off or removed.
 */
export function redeliverCallback(
  by: OperatorContext,
  delivery: number,
): { readonly ok: true } | Refusal {
  return by.store.write((database) => {
    const known = findDelivery(database, delivery);
    const target = known === undefined ? undefined : findTarget(database, known.target);
    if (known === undefined || target === undefined || target.offAt !== null)
      return refuse("GATEWAY_UNKNOWN_CALLBACK");
    restartDelivery(database, delivery, by.nowMs);
    refreshCallbackStatus(database, known.transactionId === null ? [] : [known.transactionId]);
    audit(by, "callback sent again", known.target, String(delivery));
    return { ok: true };
  });
}

/**
 * Sends again all deliveries of a target that wait or were given up, of events since `sinceMs`,
 * each with the same bytes and id, and with all its tries; the ends of money come first. `left`
 * counts those that were given up and stay so, because too many wait. Refuses
 * GATEWAY_UNKNOWN_CALLBACK for an unknown target and for one that is off.
 */
export function redeliverAll(
  by: OperatorContext,
  target: string,
  sinceMs: number,
): { readonly ok: true; readonly again: number; readonly left: number } | Refusal {
  const known = findTarget(by.store.database, target);
  if (known === undefined || known.offAt !== null) return refuse("GATEWAY_UNKNOWN_CALLBACK");
  const of = { target, sinceMs };
  for (let step = firstResendStep; ; ) {
    const made = by.store.write((database) =>
      resendNextDeliveries(database, asActor(by), of, step),
    );
    if (made.isDone) return { ok: true, again: made.step.again, left: made.step.left };
    step = made.step;
  }
}

/**
 * Removes a target permanently and gives up its waiting deliveries. Refuses
 * GATEWAY_UNKNOWN_CALLBACK.
 */
export function removeCallback(
  by: OperatorContext,
  id: string,
): { readonly ok: true; readonly givenUp: number } | Refusal {
  return by.store.write((database) => {
    if (findTarget(database, id) === undefined) return refuse("GATEWAY_UNKNOWN_CALLBACK");
    return { ok: true, givenUp: deleteCallbackTarget(database, asActor(by), id) };
  });
}
