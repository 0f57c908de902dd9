/**
 * Requests' work in turns of the event loop: a few milliseconds of it in each, in the order in
 * which it came. Node takes one new connection a turn, so a turn that serves everybody who waits
 * keeps newcomers out for as long as all of that takes; and one long list in parts leaves room for
 * others between its parts.
 */

/** @public */
export interface Turns {
  /** Runs `work` in its turn, up to its first await; rejects with what it throws. */
  run<T>(work: () => T | Promise<T>): Promise<T>;
  /**
   * The same parts, each made in a turn of its own. A reader that goes away ends the source as
   * well.
   */
  parts(source: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string>;
}

/**
 * Milliseconds of a turn. What has begun is not cut short, so a turn is longer by one piece of work
 * at most.
 */
const turnMs = 4;

/**
 * @param monotonic milliseconds from any beginning
 * @public
 */
export function createTurns(monotonic: () => number): Turns {
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
      const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
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
