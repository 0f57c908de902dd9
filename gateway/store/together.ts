/**
 * Writes that share a transaction, and so one sync: what a commit costs is shared by all who wait
 * for it in the same turn of the event loop. Each stands alone all the same: a write that throws is
 * taken back to its own beginning, and its neighbours stay. Source: sqlite.org/lang_savepoint.html.
 */
import { Bug } from "../../protocol/fault.ts";
import type { Statements } from "./statements.ts";

/** Writes of one transaction at most: a few milliseconds in which nobody else is served. */
const togetherMax = 32;

/** One write that waits for a transaction. */
interface Waiting {
  /** Writes inside the transaction. Throws only when the transaction itself is gone. */
  run(database: Statements): void;
  /** Tells who waits; `fault` is what ended the transaction, null after its commit. */
  end(fault: { readonly cause: unknown } | null): void;
}

function waitingFor<T>(fn: (database: Statements) => T, resolve: (value: T) => void, reject: (cause: unknown) => void): Waiting {
  let tell: (() => void) | null = null;
  return {
    run(database) {
      database.run("SAVEPOINT each");
      try {
        const value = fn(database);
        if (value instanceof Promise) throw new Bug("a database transaction must not wait");
        tell = () => resolve(value);
      } catch (cause) {
        try {
          database.run("ROLLBACK TO each");
        } catch {
          throw cause; // a full disk, say, ended the whole transaction
        }
        tell = () => reject(cause);
      }
      database.run("RELEASE each");
    },
    end(fault) {
      if (fault === null) tell?.();
      else reject(fault.cause);
    },
  };
}

/**
 * Gathers writes for `transact`, which runs a function in one durable transaction, or throws. A
 * promise resolves after the commit that holds its write; it rejects with what the write threw, or
 * with what ended the transaction. Writes run in the order in which they came.
 */
export function createTogether(
  transact: (fn: (database: Statements) => void) => void,
): <T>(fn: (database: Statements) => T) => Promise<T> {
  let waiting: Waiting[] = [];
  let isAsked = false;

  function commit(taken: readonly Waiting[]): void {
    let fault: { readonly cause: unknown } | null = null;
    try {
      transact((database) => {
        for (const one of taken) one.run(database);
      });
    } catch (cause) {
      fault = { cause };
    }
    for (const one of taken) one.end(fault);
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

  return (fn) =>
    new Promise((resolve, reject) => {
      waiting.push(waitingFor(fn, resolve, reject));
      ask();
    });
}
