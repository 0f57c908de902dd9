/**
 * Combines the writes of an event-loop turn into a single transaction with a single sync, so that
 * the callers share the cost of a commit. If one write throws, the whole transaction is rolled back
 * and each write is tried alone, so that no caller fails because of another.
 */
import { AgentError, Bug } from "../../base/fault.ts";
import type { Statements } from "./statements.ts";

/**
 * Largest number of writes in one transaction: a few milliseconds in which nothing else is served.
 */
const togetherMax = 32;

/** One write that waits for a transaction. */
interface WaitingWrite {
  run(database: Statements): void;
  /**
   * Settles the caller's promise. `fault` is the error that ended the transaction, or null after
   * its commit.
   */
  end(fault: { readonly cause: unknown } | null): void;
}

/**
 * Gathers writes for `transact`, which runs a function in one durable transaction, or throws. A
 * promise resolves after the commit of its write; it rejects with the error of the write or of the
 * transaction. Writes run in the order of their arrival. A write may run twice, and the first run
 * is then rolled back, so it must change only the database.
 */
export function createGroupCommit(
  transact: (fn: (database: Statements) => void) => void,
): <T>(fn: (database: Statements) => T) => Promise<T> {
  let waiting: WaitingWrite[] = [];
  let isAsked = false;

  function commit(taken: readonly WaitingWrite[]): void {
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
      // PostgreSQL refuses a row of one write when the statements are sent, at the end.
      isOfOne ||= !(cause instanceof AgentError);
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
