/**
 * Hands alerts to a sender, one at a time, in order, at least once. A failed try is repeated,
 * later and later; tries and queue are bounded. Touches only timers: the sender is passed in.
 */
import type { Alert } from "./due-alerts.ts";

/**
 * Tries once. Resolves with "" if the receiver took the body, else with the reason, one line
 * without a secret. Never rejects.
 */
export type AlertDelivery = (body: string) => Promise<string>;

export interface AlertQueueCounts {
  readonly told: number;
  readonly failures: number; // tries that failed
  readonly dropped: number; // given up
  readonly waiting: number;
}

export interface AlertQueue {
  take(alerts: readonly Alert[]): void;
  counts(): AlertQueueCounts;
  /** The number of alerts that it takes now without giving up another. */
  room(): number;
  /** The reason why the last try failed, "" if it did not. */
  trouble(): string;
  /** Drops all waiting alerts. */
  close(): void;
}

export interface AlertQueueOptions {
  readonly deliver: AlertDelivery;
  readonly onTold: (alert: Alert) => void;
  readonly onFailed: (alert: Alert, why: string, tries: number) => void;
  readonly onDropped: (alert: Alert, why: string) => void;
  readonly retryMs?: { readonly first: number; readonly most: number };
}

/** Most waiting alerts; beyond it the oldest is dropped. */
const waitingMax = 256;
/** With the pauses below, about an hour. */
const triesMax = 18;
const retryDefault = { first: 1000, most: 300_000 };

/** The fates of alerts, for a counter: outcome and number. */
export function alertOutcomesOf({
  told,
  failures,
  dropped,
}: AlertQueueCounts): readonly (readonly [outcome: string, count: number])[] {
  return [
    ["told", told],
    ["failed", failures],
    ["dropped", dropped],
  ];
}

export function createAlertQueue(options: AlertQueueOptions): AlertQueue {
  const { deliver, onTold, onFailed, onDropped, retryMs = retryDefault } = options;
  const queue: { readonly alert: Alert; tries: number }[] = [];
  const counts = { told: 0, failures: 0, dropped: 0 };
  let timer: NodeJS.Timeout | null = null;
  let isBusy = false;
  let isClosed = false;
  let trouble = "";

  const drop = (at: number, why: string): void => {
    const [entry] = queue.splice(at, 1);
    if (entry === undefined) return;
    counts.dropped += 1;
    onDropped(entry.alert, why);
  };
  const next = async (): Promise<void> => {
    const entry = queue[0];
    if (entry === undefined || isBusy || isClosed || timer !== null) return;
    isBusy = true;
    const why = await deliver(JSON.stringify(entry.alert));
    isBusy = false;
    if (isClosed) return;
    trouble = why;
    if (why === "") {
      counts.told += 1;
      if (queue[0] === entry) queue.shift();
      onTold(entry.alert);
    } else {
      counts.failures += 1;
      entry.tries += 1;
      onFailed(entry.alert, why, entry.tries);
      if (entry.tries >= triesMax && queue[0] === entry) drop(0, why);
      pause(Math.min(retryMs.most, retryMs.first * 2 ** Math.min(entry.tries - 1, 20)));
    }
    await next();
  };
  const pause = (ms: number): void => {
    timer = setTimeout(() => {
      timer = null;
      void next();
    }, ms);
  };
  return {
    take(alerts) {
      for (const alert of alerts) queue.push({ alert, tries: 0 });
      // The sender has the first alert, which may be taken at any moment, so the oldest of the
      // others is dropped.
      while (queue.length > waitingMax) drop(isBusy ? 1 : 0, "too many are waiting");
      void next();
    },
    counts: () => ({ ...counts, waiting: queue.length }),
    room: () => Math.max(0, waitingMax - queue.length),
    trouble: () => trouble,
    close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      timer = null;
      queue.length = 0;
    },
  };
}
