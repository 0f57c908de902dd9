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
  type AfterTry,
  bringForward,
  type CallbackTry,
  type DueDelivery,
  dueDeliveries,
  forgetEvents,
  giveUpTarget,
  keepTry,
  type WaitingTarget,
  waitingTargets,
} from "../store/callback-deliveries.ts";
import { hasChanges, refreshStatus } from "../store/callback-outbox.ts";
import { type CallbackTargetRow, findTarget, switchTargetOff } from "../store/callback-targets.ts";
import { keepAside, putAside, runGuarded, tellAside } from "../store/set-aside.ts";
import type { Signals } from "../store/signals.ts";
import type { Database, Store } from "../store/store.ts";
import {
  type Completion,
  hasCompletions,
  keepValues,
  listCompletions,
  type NewValue,
} from "../store/transactions.ts";
import { DeliveryConcurrency, goodTargetMax } from "./delivery-concurrency.ts";
import { changesMax, type OutboxOptions, tellChanges } from "./outbox.ts";
import { afterExtraTry, nextTry, retryAfterOf } from "./schedule.ts";
import { type CallbackSender, type DeliveryResult, isTaken } from "./send.ts";
import { signedHeaders } from "./signature.ts";

export interface CallbacksOptions extends OutboxOptions {
  readonly store: Store;
  readonly signals: Pick<Signals, "on">;
  readonly config: Pick<GatewayConfig, "currencies" | "callbacks">;
  readonly sealingKey: Uint8Array;
  readonly callbackSender: CallbackSender;
  /** The fiat value of a record that completed now, as JSON; "" if there is none. */
  readonly fiatValueOf: (row: Completion) => string;
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
export const aheadOf = { most: 2, dueMax: goodTargetMax } as const;

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
export function secretsOf(
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
      if (isIdle && !hasChanges(store.database) && !hasCompletions(store.database)) return true;
      const after: (() => void)[] = [];
      store.write((database) => {
        for (const outcome of outcomes) this.#store(database, outcome, after);
        if (isForgetting) this.#forget(database);
        // Before the events are made, so that the event of a completion has the value.
        keepValues(
          database,
          listCompletions(database, changesMax).flatMap((row) => this.#value(database, row, after)),
        );
        const told = tellChanges(database, this.#options);
        for (const { key, error } of told.aside) after.push(() => tellAside(log, key, error));
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
  #value(database: Database, row: Completion, after: (() => void)[]): readonly NewValue[] {
    const { log, clock, fiatValueOf } = this.#options;
    const value = runGuarded(() => fiatValueOf(row));
    if (value.ok) return [{ id: row.id, before: row.value, value: value.value }];
    const key = { kind: "value", id: row.id, about: row.id } as const;
    if (keepAside(database, key, value.error, clock()))
      after.push(() => tellAside(log, key, value.error));
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
      bringForward(database, target.target, nowMs, aheadOf);
    } else {
      const isGone = sent.status === 410;
      const next = this.#afterFailure(delivery, at, sent);
      const isOver = isGone || next.state === "given up";
      keepTry(database, delivery.id, made, isGone ? { ...next, state: "given up" } : next);
      const about = { target: target.target, delivery: delivery.id };
      if (isGone && switchTargetOff(database, target.target, nowMs)) {
        for (const id of giveUpTarget(database, target.target)) touched.add(id);
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
    refreshStatus(database, touched);
  }

  /** The schedule after a failed try. An extra try, made before its time, leaves the schedule. */
  #afterFailure(
    { tries, scheduledAt }: DueDelivery,
    at: number,
    { retryAfter }: DeliveryResult,
  ): AfterTry {
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
    const next = nextTry(config.callbacks.retryMs, {
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
    if (hasChanges(store.database) || hasCompletions(store.database)) return paceMs;
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
    const secrets = secretsOf(row, this.#options.sealingKey, nowMs);
    const signed = runGuarded(() =>
      signedHeaders(secrets, { id: event, timestamp: Math.floor(nowMs / 1000), body }),
    );
    if (!signed.ok) {
      putAside(
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
