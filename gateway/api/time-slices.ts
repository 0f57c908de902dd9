/**
 * Spreads the work of requests over turns of the event loop: a few milliseconds in each, in the
 * order of arrival. Node accepts one new connection in each turn, so a turn that serves all waiting
 * requests would delay new connections for as long. A long list in parts lets other requests run
 * between its parts.
 */

export interface TimeSlices {
  /** Runs `work` in its turn, up to its first await. Rejects with the error of `work`. */
  run<T>(work: () => T | Promise<T>): Promise<T>;
  /** The same parts, each made in its own turn. If the reader stops, the source ends as well. */
  parts(source: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string>;
}

/**
 * Milliseconds of a turn. Work that has begun is not interrupted, so a turn can be longer by one
 * piece of work.
 */
const turnMs = 4;

/**
 * @param monotonic milliseconds from any start
 */
export function createTimeSlices(monotonic: () => number): TimeSlices {
  let waiting: (() => void)[] = [];
  let isAsked = false;

  function ask(): void {
    if (isAsked || waiting.length === 0) return;
    isAsked = true;
    setImmediate(() => {
      isAsked = false;
      const endsAt = monotonic() + turnMs;
      let done = 0;
      do {
        waiting[done]?.();
        done += 1;
      } while (done < waiting.length && monotonic() < endsAt);
      waiting = waiting.slice(done);
      ask();
    });
  }

  const run = <T>(work: () => T | Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      waiting.push(() => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      });
      ask();
    });

  return {
    run,
    async *parts(source) {
      const iterator =
        Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
      try {
        for (;;) {
          const { done, value } = await run<IteratorResult<string>>(() => iterator.next());
          if (done === true) return;
          yield value;
        }
      } finally {
        await iterator.return?.();
      }
    },
  };
}
