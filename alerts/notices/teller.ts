/**
 * Hands notices to a sender, one at a time, in order, at least once. A failed try is repeated,
 * later and later; tries and queue are bounded. Touches only timers: the sender is passed in.
 */
import type { Notice } from "./core.ts";

/**
 * Tries once. Resolves with "" if the receiver took the body, else with the reason, one line
 * without a secret. Never rejects.
 */
export type Deliver = (body: string) => Promise<string>;

export interface TellerCounts {
  readonly told: number;
  readonly failures: number; // tries that failed
  readonly dropped: number; // given up
  readonly waiting: number;
}

export interface Teller {
  take(notices: readonly Notice[]): void;
  counts(): TellerCounts;
  /** The reason why the last try failed, "" if it did not. */
  trouble(): string;
  /** Drops all waiting notices. */
  close(): void;
}

export interface TellerOptions {
  readonly deliver: Deliver;
  readonly onTold: (notice: Notice) => void;
  readonly onFailed: (notice: Notice, why: string, tries: number) => void;
  readonly onDropped: (notice: Notice, why: string) => void;
  readonly retryMs?: { readonly first: number; readonly most: number };
}

/** Most waiting notices; beyond it the oldest is dropped. */
const waitingMax = 256;
/** With the pauses below, about an hour. */
const triesMax = 18;
const retryDefault = { first: 1000, most: 300_000 };

/** The fates of notices, for a counter: outcome and number. */
export function outcomesOf({ told, failures, dropped }: TellerCounts): readonly (readonly [outcome: string, count: number])[] {
  return [
    ["told", told],
    ["failed", failures],
    ["dropped", dropped],
  ];
}

export function createTeller(options: TellerOptions): Teller {
  const { deliver, onTold, onFailed, onDropped, retryMs = retryDefault } = options;
  const queue: { readonly notice: Notice; tries: number }[] = [];
  const counts = { told: 0, failures: 0, dropped: 0 };
  let timer: NodeJS.Timeout | null = null;
  let isBusy = false;
  let isClosed = false;
  let trouble = "";

  const drop = (at: number, why: string): void => {
    const [entry] = queue.splice(at, 1);
    if (entry === undefined) return;
    counts.dropped += 1;
    onDropped(entry.notice, why);
  };
  const next = async (): Promise<void> => {
    const entry = queue[0];
    if (entry === undefined || isBusy || isClosed || timer !== null) return;
    isBusy = true;
    const why = await deliver(JSON.stringify(entry.notice));
    isBusy = false;
    if (isClosed) return;
    trouble = why;
    if (why === "") {
      counts.told += 1;
      if (queue[0] === entry) queue.shift();
      onTold(entry.notice);
    } else {
      counts.failures += 1;
      entry.tries += 1;
      onFailed(entry.notice, why, entry.tries);
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
    take(notices) {
      for (const notice of notices) queue.push({ notice, tries: 0 });
      // The sender has the first notice, which may be taken at any moment, so the oldest of the
      // others is dropped.
      while (queue.length > waitingMax) drop(isBusy ? 1 : 0, "too many are waiting");
      void next();
    },
    counts: () => ({ ...counts, waiting: queue.length }),
    trouble: () => trouble,
    close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      timer = null;
      queue.length = 0;
    },
  };
}
