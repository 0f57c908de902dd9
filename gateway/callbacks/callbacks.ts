/**
 * Tells shops about changes of their records: values what completed, makes events from changes,
 * sends due deliveries, keeps the results. All state is in the database. A process that was killed
 * sends again each delivery that it had not kept as delivered, so each event arrives at least once.
 * Sources: Standard Webhooks 1.0.0; docs/api.md, Callbacks.
 */
import { AgentError } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import { openSecret } from "../auth/secret-box.ts";
import type { GatewayConfig } from "../config/config.ts";
import { recordAlarm } from "../store/alarm.ts";
import {
  bringForward,
  type CallbackTry,
  type DueDelivery,
  dueDeliveries,
  forgetEvents,
  giveUpDeliveriesOfTarget,
  keepTry,
  type StateAfterTry,
  type WaitingTarget,
  waitingTargets,
} from "../store/callback-deliveries.ts";
import { hasChanges, refreshCallbackStatus } from "../store/callback-outbox.ts";
import { type CallbackTargetRow, findTarget, switchTargetOff } from "../store/callback-targets.ts";
import { insertAsideRow, logAsideRow, runGuarded, setRowAside } from "../store/set-aside.ts";
import type { Signals } from "../store/signals.ts";
import type { Database, Store } from "../store/store.ts";
import {
  hasUnvaluedCompletions,
  keepFiatValues,
  listUnvaluedCompletions,
  type RecordValuation,
  type UnvaluedCompletion,
} from "../store/transactions.ts";
import { changesPerStepMax, makeEventsOfChanges, type OutboxOptions } from "./outbox.ts";
import { type CallbackSender, type DeliveryResult, isTaken } from "./send.ts";
import { signedHeaders } from "./signature.ts";

/*
 * Computes when a failed delivery is tried again: pure. Uses the configured delays, each a little
 * longer by chance, so that receivers that failed together are not tried together. A receiver's
 * later Retry-After replaces the delay. A target that takes an event again gets extra tries of its
 * waiting events, which use up nothing of their schedule. Sources: Standard Webhooks, retries; RFC
 * 9110 section 10.2.3 (Retry-After).
 */

/** The longest wait that a receiver may ask for. */
const retryAfterMsMax = 86_400_000;
const jitterShare = 0.2;

/** @returns when to try again, in milliseconds since 1970; null if it is given up */
export function nextTryAtMs(
  retryMs: readonly number[],
  failed: {
    readonly tries: number; // including this try
    readonly nowMs: number;
    readonly retryAfterMs: number; // 0 if the receiver named none
    readonly chance: number; // 0 to 1
  },
): number | null {
  const delayMs = retryMs[failed.tries - 1];
  if (delayMs === undefined) return null;
  return (
    failed.nowMs +
    Math.max(Math.trunc(delayMs * (1 + jitterShare * failed.chance)), failed.retryAfterMs)
  );
}

/**
 * Part of the wait until the scheduled try that passes after a failed extra try before another one.
 */
const restShare = 0.1;

/**
 * The times of a delivery whose extra try failed: the schedule stays, unless the receiver asks for
 * more time. An event that one receiver never takes is so tried ten times more often at most.
 */
function afterExtraTry(failed: {
  readonly scheduledAt: number;
  readonly nowMs: number;
  readonly retryAfterMs: number; // 0 if the receiver named none
}): { readonly nextAt: number; readonly restUntil: number } {
  const { scheduledAt, nowMs, retryAfterMs } = failed;
  const nextAt = Math.max(scheduledAt, nowMs + retryAfterMs);
  return {
    nextAt,
    restUntil: nowMs + Math.max(retryAfterMs, Math.trunc((nextAt - nowMs) * restShare)),
  };
}

/**
 * A Retry-After header in milliseconds from now, at most a day; 0 if it is absent, in the past or
 * unreadable.
 */
export function retryAfterOf(header: string | undefined, nowMs: number): number {
  if (header === undefined) return 0;
  const waitMs = /^\d{1,10}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - nowMs;
  return Number.isNaN(waitMs) ? 0 : Math.min(Math.max(0, waitMs), retryAfterMsMax);
}

/*
 * Chooses the next target: pure. Each request in progress has a permit. Permits are limited in
 * total, for one merchant and for one target; the merchant with the fewest comes first. A target
 * that failed or was slow last time, or was never tried, gets one permit. Each of these two kinds
 * has a share of all permits, so that the other targets always find a free one, however many
 * receivers hang.
 */

type Health = "untried" | "good" | "slow";

/** Largest number of permits, in total and by the health of their targets. */
export const permitsMax = 64;
const permitsOf: Readonly<Record<Health, number>> = { untried: 24, slow: 24, good: permitsMax };
const perMerchantMax = 8;
/** Largest number of permits of a target that answered well. */
const goodTargetMax = 4;
const perTargetMax: Readonly<Record<Health, number>> = { untried: 1, slow: 1, good: goodTargetMax };
/** A target that answers later than this is slow. */
const slowMs = 2_000;

/** A target with a waiting delivery. */
export interface PermitTarget {
  readonly target: string;
  readonly merchant: string;
}

interface Share {
  readonly merchant: string;
  taken: number;
  turn: number; // global number of its last turn; 0 never
  health: Health;
}

/**
 * Kept only in memory: a restart forgets which targets were slow, and learns it again with one
 * request each.
 */
export class DeliveryConcurrency {
  readonly #shares = new Map<string, Share>();
  readonly #ofMerchant = new Map<string, number>();
  readonly #ofHealth: Record<Health, number> = { untried: 0, good: 0, slow: 0 };
  #taken = 0;
  #turn = 0;

  get taken(): number {
    return this.#taken;
  }

  /**
   * Takes a permit for the next target of `waiting` in fair order.
   * @returns null if none of them may have a permit now
   */
  take<W extends PermitTarget>(waiting: readonly W[]): W | null {
    if (this.#taken >= permitsMax) return null;
    let next: W | null = null;
    for (const one of waiting)
      if (this.#mayHave(one) && (next === null || this.#isBefore(one, next))) next = one;
    if (next === null) return null;
    const share = this.#share(next);
    this.#turn += 1;
    share.turn = this.#turn;
    this.#count(share, 1);
    return next;
  }

  /** Gives the permit back after a request of `durationMs`. */
  free(target: string, arrived: boolean, durationMs: number): void {
    const share = this.#shares.get(target);
    if (share === undefined) return;
    this.#count(share, -1);
    this.#ofHealth[share.health] -= share.taken;
    share.health = arrived && durationMs <= slowMs ? "good" : "slow";
    this.#ofHealth[share.health] += share.taken;
  }

  /** Gives a permit back with which nothing was sent. */
  back(target: string): void {
    const share = this.#shares.get(target);
    if (share !== undefined) this.#count(share, -1);
  }

  /** Forgets targets without a waiting delivery. */
  keepOnly(targets: ReadonlySet<string>): void {
    for (const [target, share] of this.#shares)
      if (share.taken === 0 && !targets.has(target)) this.#shares.delete(target);
  }

  #mayHave(one: PermitTarget): boolean {
    const { taken, health } = this.#share(one);
    const hasRoom =
      this.#ofHealth[health] < permitsOf[health] &&
      (this.#ofMerchant.get(one.merchant) ?? 0) < perMerchantMax;
    return hasRoom && taken < perTargetMax[health];
  }

  #isBefore(one: PermitTarget, other: PermitTarget): boolean {
    const fewer =
      (this.#ofMerchant.get(one.merchant) ?? 0) - (this.#ofMerchant.get(other.merchant) ?? 0);
    return fewer === 0 ? this.#share(one).turn < this.#share(other).turn : fewer < 0;
  }

  #share({ target, merchant }: PermitTarget): Share {
    const known = this.#shares.get(target);
    if (known !== undefined) return known;
    const made: Share = { merchant, taken: 0, turn: 0, health: "untried" };
    this.#shares.set(target, made);
    return made;
  }

  #count(share: Share, by: 1 | -1): void {
    share.taken += by;
    this.#taken += by;
    this.#ofHealth[share.health] += by;
    const left = (this.#ofMerchant.get(share.merchant) ?? 0) + by;
    if (left === 0) this.#ofMerchant.delete(share.merchant);
    else this.#ofMerchant.set(share.merchant, left);
  }
}

export interface CallbacksOptions extends OutboxOptions {
  readonly store: Store;
  readonly signals: Pick<Signals, "on">;
  readonly config: Pick<GatewayConfig, "currencies" | "callbacks">;
  readonly sealingKey: Uint8Array;
  readonly callbackSender: CallbackSender;
  /** The fiat value of a record that completed now, as JSON; "" if there is none. */
  readonly fiatValueOf: (row: UnvaluedCompletion) => string;
  readonly log: GatewayLog;
}

export interface Callbacks {
  // Harmless to call twice. Deliveries in progress are cut off and sent again after the next start.
  close(): void;
}

/**
 * Time between two checks of the database while there is work; results of this time share one
 * commit.
 */
const paceMs = 20;
/** Another process may have added work, or a signal may be lost. */
const lookMs = 1_000;
const dayMs = 86_400_000;
const logDays = 60;
const forgetEveryMs = 3_600_000;
const forgottenAtOnce = 500;
/**
 * Deliveries that each success brings forward, so that the number on their way grows from one by
 * one and ends with the first failure.
 */
export const bringForwardLimits = { most: 2, dueMax: goodTargetMax } as const;

interface Outcome {
  readonly target: WaitingTarget;
  readonly delivery: DueDelivery;
  readonly at: number;
  readonly sent: DeliveryResult;
}

export function startCallbacks(options: CallbacksOptions): Callbacks {
  const dispatcher = new Dispatcher(options);
  dispatcher.look(0);
  const notReceived = options.signals.on("changed", () => dispatcher.look(paceMs));
  return {
    close() {
      notReceived();
      dispatcher.close();
    },
  };
}

/**
 * The secrets that sign for a target now, newest first.
 * @throws AgentError GATEWAY_SECRET_SEALED
 */
export function signingSecretsOf(
  target: CallbackTargetRow,
  sealingKey: Uint8Array,
  nowMs: number,
): readonly string[] {
  const { id, secretBox, oldSecretBox, oldValidUntil } = target;
  const isBoth = oldSecretBox !== null && oldValidUntil !== null && nowMs < oldValidUntil;
  const boxes = isBoth ? [secretBox, oldSecretBox] : [secretBox];
  return boxes.map((box) => Buffer.from(openSecret(box, id, sealingKey)).toString("utf8"));
}

class Dispatcher {
  readonly #options: CallbacksOptions;
  readonly #permits = new DeliveryConcurrency();
  // By target: deliveries in progress, or without a stored result.
  readonly #busy = new Map<string, Set<number>>();
  #outcomes: Outcome[] = [];
  #timer: NodeJS.Timeout | null = null;
  #lookAt = Number.POSITIVE_INFINITY;
  #forgetAt = 0;
  #isClosed = false;

  constructor(options: CallbacksOptions) {
    this.#options = options;
  }

  /** Checks the database after `inMs` milliseconds, or earlier. */
  look(inMs: number): void {
    const at = performance.now() + inMs;
    if (this.#isClosed || at >= this.#lookAt) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#lookAt = at;
    this.#timer = setTimeout(() => this.#work(), inMs);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#options.callbackSender.close();
    if (this.#outcomes.length > 0) this.#keep();
  }

  #work(): void {
    this.#lookAt = Number.POSITIVE_INFINITY;
    this.#timer = null;
    const isKept = this.#keep();
    this.look(isKept ? this.#fill() : lookMs);
  }

  /**
   * Stores results and makes events.
   * @returns false if the database could not write now
   */
  #keep(): boolean {
    const { store, log, clock } = this.#options;
    const outcomes = this.#outcomes;
    const isForgetting = clock() >= this.#forgetAt;
    try {
      const isIdle = outcomes.length === 0 && !isForgetting;
      if (isIdle && !hasChanges(store.database) && !hasUnvaluedCompletions(store.database))
        return true;
      const after: (() => void)[] = [];
      store.write((database) => {
        for (const outcome of outcomes) this.#store(database, outcome, after);
        if (isForgetting) this.#forget(database);
        // Before the events are made, so that the event of a completion has the value.
        keepFiatValues(
          database,
          listUnvaluedCompletions(database, changesPerStepMax).flatMap((row) =>
            this.#value(database, row, after),
          ),
        );
        const told = makeEventsOfChanges(database, this.#options);
        for (const { key, error } of told.aside) after.push(() => logAsideRow(log, key, error));
        for (const target of told.full) {
          const full = (): void =>
            log.warn({ event: "callback-full", target }, "too much waits for a callback target");
          after.push(full);
        }
      });
      this.#outcomes = [];
      for (const { target, delivery } of outcomes)
        this.#busy.get(target.target)?.delete(delivery.id);
      for (const tell of after) tell();
      return true;
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      log.warn(
        { event: "callbacks-unstored", err: error },
        "outcomes of callbacks could not be stored; it is tried again",
      );
      return false;
    }
  }

  /** Empty for a record whose value cannot be made. */
  #value(
    database: Database,
    row: UnvaluedCompletion,
    after: (() => void)[],
  ): readonly RecordValuation[] {
    const { log, clock, fiatValueOf } = this.#options;
    const value = runGuarded(() => fiatValueOf(row));
    if (value.ok) return [{ id: row.id, before: row.value, value: value.value }];
    const key = { kind: "value", id: row.id, about: row.id } as const;
    if (insertAsideRow(database, key, value.error, clock()))
      after.push(() => logAsideRow(log, key, value.error));
    return [];
  }

  #forget(database: Database): void {
    const nowMs = this.#options.clock();
    const isDone =
      forgetEvents(database, nowMs - logDays * dayMs, forgottenAtOnce) < forgottenAtOnce;
    this.#forgetAt = nowMs + (isDone ? forgetEveryMs : lookMs);
  }

  #store(database: Database, { target, delivery, at, sent }: Outcome, after: (() => void)[]): void {
    const { log, clock } = this.#options;
    const made: CallbackTry = {
      at,
      status: sent.status,
      durationMs: sent.durationMs,
      answer: sent.answer,
    };
    const touched = new Set(delivery.transactionId === null ? [] : [delivery.transactionId]);
    const nowMs = clock();
    if (isTaken(sent)) {
      keepTry(database, delivery.id, made, {
        state: "delivered",
        nextAt: at,
        restUntil: 0,
        isCounted: true,
      });
      bringForward(database, target.target, nowMs, bringForwardLimits);
    } else {
      const isGone = sent.status === 410;
      const next = this.#afterFailure(delivery, at, sent);
      const isOver = isGone || next.state === "given up";
      keepTry(database, delivery.id, made, isGone ? { ...next, state: "given up" } : next);
      const about = { target: target.target, delivery: delivery.id };
      if (isGone && switchTargetOff(database, target.target, nowMs)) {
        for (const id of giveUpDeliveriesOfTarget(database, target.target)) touched.add(id);
        const detail = `callback target ${target.target} of ${target.merchant} answered 410`;
        recordAlarm(
          database,
          { at: nowMs, actor: "callbacks", code: "CALLBACK_OFF", subject: target.target, detail },
          "once",
        );
        after.push(() =>
          log.warn(
            { event: "callback-off", ...about },
            "a callback target answered 410 and is switched off",
          ),
        );
      } else if (isOver)
        after.push(() =>
          log.warn({ event: "callback-given-up", ...about }, "a callback was given up"),
        );
    }
    refreshCallbackStatus(database, touched);
  }

  /** The schedule after a failed try. An extra try, made before its time, leaves the schedule. */
  #afterFailure(
    { tries, scheduledAt }: DueDelivery,
    at: number,
    { retryAfter }: DeliveryResult,
  ): StateAfterTry {
    const { clock, config, random } = this.#options;
    const nowMs = clock();
    const retryAfterMs = retryAfterOf(retryAfter, nowMs);
    if (scheduledAt !== null && scheduledAt > at)
      return {
        state: "waiting",
        ...afterExtraTry({ scheduledAt, nowMs, retryAfterMs }),
        isCounted: false,
      };
    const chance = Buffer.from(random(4)).readUInt32BE() / 2 ** 32;
    const next = nextTryAtMs(config.callbacks.retryMs, {
      tries: tries + 1,
      nowMs,
      retryAfterMs,
      chance,
    });
    const restUntil = retryAfterMs === 0 ? 0 : nowMs + retryAfterMs;
    return {
      state: next === null ? "given up" : "waiting",
      nextAt: next ?? nowMs,
      restUntil,
      isCounted: true,
    };
  }

  /**
   * Sends the due deliveries that get a permit.
   * @returns the milliseconds until the next check
   */
  #fill(): number {
    const { store, clock } = this.#options;
    const nowMs = clock();
    const waiting = waitingTargets(store.database);
    const targets = new Set(waiting.map(({ target }) => target));
    this.#permits.keepOnly(targets);
    for (const [target, busy] of this.#busy)
      if (busy.size === 0 && !targets.has(target)) this.#busy.delete(target);
    let due = waiting.filter(({ nextAt }) => nextAt <= nowMs);
    for (let next = this.#permits.take(due); next !== null; next = this.#permits.take(due)) {
      const { target } = next;
      const delivery = this.#dueOf(target, nowMs);
      const row = delivery === undefined ? undefined : findTarget(store.database, target);
      if (delivery === undefined || row === undefined) {
        this.#permits.back(target);
        due = due.filter((one) => one.target !== target);
        continue;
      }
      this.#busyOf(target).add(delivery.id);
      this.#send(next, row, delivery);
    }
    if (hasChanges(store.database) || hasUnvaluedCompletions(store.database)) return paceMs;
    return waiting.reduce(
      (soonest, { nextAt }) => (nextAt > nowMs ? Math.min(soonest, nextAt - nowMs) : soonest),
      lookMs,
    );
  }

  #dueOf(target: string, nowMs: number): DueDelivery | undefined {
    const busy = this.#busyOf(target);
    const found = dueDeliveries(this.#options.store.database, target, nowMs, busy.size + 1);
    return found.find(({ id }) => !busy.has(id));
  }

  #busyOf(target: string): Set<number> {
    const known = this.#busy.get(target) ?? new Set<number>();
    this.#busy.set(target, known);
    return known;
  }

  #send(target: WaitingTarget, row: CallbackTargetRow, delivery: DueDelivery): void {
    const at = this.#options.clock();
    this.#sign(row, delivery, at)
      .catch((cause: unknown): DeliveryResult => {
        if (!(cause instanceof AgentError)) throw cause;
        return { status: 0, answer: cause.code, retryAfter: undefined, durationMs: 0 };
      })
      .then((sent) => {
        this.#permits.free(target.target, isTaken(sent), sent.durationMs);
        if (this.#isClosed) return;
        this.#outcomes.push({ target, delivery, at, sent });
        this.look(paceMs);
      })
      .catch((cause: unknown) => {
        // A bug, which must not be lost in a promise that nothing awaits.
        process.nextTick(() => {
          throw cause;
        });
      });
  }

  async #sign(
    row: CallbackTargetRow,
    { event, body, transactionId }: DueDelivery,
    nowMs: number,
  ): Promise<DeliveryResult> {
    const secrets = signingSecretsOf(row, this.#options.sealingKey, nowMs);
    const signed = runGuarded(() =>
      signedHeaders(secrets, { id: event, timestamp: Math.floor(nowMs / 1000), body }),
    );
    if (!signed.ok) {
      setRowAside(
        this.#options,
        { kind: "event", id: event, about: transactionId ?? event },
        signed.error,
      );
      return { status: 0, answer: "ROW_SET_ASIDE", retryAfter: undefined, durationMs: 0 };
    }
    const headers = signed.value;
    return this.#options.callbackSender.send({ url: row.url, headers, body });
  }
}
