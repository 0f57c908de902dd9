/**
 * Measures the time of the database: of each reading statement, and of each transaction with the
 * sync at its end. The clock is passed in. docs/events.md section 3 shows the numbers.
 */

import { createGroupCommit } from "./group-commit.ts";
import type { Database, Store } from "./store.ts";

/** Upper bounds of the buckets, in seconds. */
export const databaseTimeBoundsS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
] as const;

/**
 * One count for each bucket, not cumulative; the last bucket is above every bound. `sum` is in
 * seconds.
 */
export interface DatabaseTimes {
  readonly counts: number[];
  sum: number;
}

export interface TimedStore {
  readonly store: Store;
  readonly times: { readonly read: DatabaseTimes; readonly write: DatabaseTimes };
}

const none = (): DatabaseTimes => ({
  counts: new Array<number>(databaseTimeBoundsS.length + 1).fill(0),
  sum: 0,
});

/**
 * Wraps a store. `monotonic` gives milliseconds. Statements inside a transaction count as part of
 * it.
 */
export function timeStore(store: Store, monotonic: () => number): TimedStore {
  const times = { read: none(), write: none() };
  function measure<T>(kind: "read" | "write", job: () => T): T {
    const began = monotonic();
    try {
      return job();
    } finally {
      const seconds = (monotonic() - began) / 1000;
      const at = databaseTimeBoundsS.findIndex((bound) => seconds <= bound);
      const { counts } = times[kind];
      const place = at < 0 ? databaseTimeBoundsS.length : at;
      counts[place] = (counts[place] ?? 0) + 1;
      times[kind].sum += seconds;
    }
  }
  const { database } = store;
  const reading: Database = {
    run: (sql, ...values) => measure("write", () => database.run(sql, ...values)),
    get: <Row>(sql: string, ...values: Parameters<Database["get"]>[1][]) =>
      measure("read", () => database.get<Row>(sql, ...values)),
    all: <Row>(sql: string, ...values: Parameters<Database["get"]>[1][]) =>
      measure("read", () => database.all<Row>(sql, ...values)),
  };
  return {
    times,
    store: {
      database: reading,
      remembered: store.remembered,
      writeIfOk: (job) => measure("write", () => store.writeIfOk(job)),
      write: (job) => measure("write", () => store.write(job)),
      writeTogether: createGroupCommit((job) => measure("write", () => store.write(job))),
      get poisoned() {
        return store.poisoned;
      },
      get trouble() {
        return store.trouble;
      },
      onPoisoned: (listener) => store.onPoisoned(listener),
      close: () => store.close(),
    },
  };
}
