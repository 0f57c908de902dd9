/**
 * Writes that share a transaction, and so one sync: what a commit costs is shared by all who wait
 * for it in the same turn of the event loop. When one of them throws, nothing of that transaction
 * stays, and each is tried alone, so that nobody suffers from a neighbour.
 */
import { Bug } from "../../protocol/fault.ts";
import type { Statements } from "./statements.ts";

/** Writes of one transaction at most: a few milliseconds in which nobody else is served. */
const togetherMax = 32;

/** One write that waits for a transaction. */
interface Waiting {
  run(database: Statements): void;
  /** Tells who waits; `fault` is what ended the transaction, null after its commit. */
  end(fault: { readonly cause: unknown } | null): void;
}

/**
 * Gathers writes for `transact`, which runs a function in one durable transaction, or throws. A
 * promise resolves after the commit that holds its write; it rejects with what the write threw, or
 * with what ended the transaction. Writes run in the order in which they came. A write may run
 * twice, the first time for nothing, so it changes the database alone.
 */
export function createTogether(
  transact: (fn: (database: Statements) => void) => void,
): <T>(fn: (database: Statements) => T) => Promise<T> {
  let waiting: Waiting[] = [];
  let isAsked = false;

  function commit(taken: readonly Waiting[]): void {
    let fault: { readonly cause: unknown } | null = null;
    let isOfOne = false;
    try {
      transact((database) => {
        isOfOne = true;
        for (const one of taken) one.run(database);
        isOfOne = false;
      });
    } catch (cause) {
      fault = { cause };
    }
    if (isOfOne && taken.length > 1) for (const one of taken) commit([one]);
    else for (const one of taken) one.end(fault);
  }

  function ask(): void {
    if (isAsked || waiting.length === 0) return;
    isAsked = true;
    setImmediate(() => {
      isAsked = false;
      const taken = waiting.slice(0, togetherMax);
      waiting = waiting.slice(togetherMax);
      commit(taken);
      ask();
    });
  }

  return <T>(fn: (database: Statements) => T) =>
    new Promise<T>((resolve, reject) => {
      let value: T;
      waiting.push({
        run(database) {
          value = fn(database);
          if (value instanceof Promise) throw new Bug("a database transaction must not wait");
        },
        end: (fault) => (fault === null ? resolve(value) : reject(fault.cause)),
      });
      ask();
    });
}
