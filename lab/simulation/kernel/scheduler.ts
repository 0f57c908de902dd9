/**
 * Simulated time: a queue of events, each belonging to a process that may die before its time
 * comes. While an event runs it is the current one, and timers that its code starts belong to the
 * same process. No real timer and no real clock is ever used.
 */

/** A process of the simulated world, or the world itself. */
export interface Owner {
  readonly name: string;
  isAlive: boolean;
  /** Whether its code waits for promises: they are all settled before the next event. */
  readonly hasPromises: boolean;
}

/** The value that the fakes of setTimeout and the other timers return. */
export interface Timer {
  unref(): Timer;
  ref(): Timer;
  isCancelled: boolean;
}

class Event implements Timer {
  isCancelled = false;
  dueMs: number;
  order: number;
  readonly owner: Owner;
  readonly everyMs: number;
  readonly run: () => void;

  constructor(dueMs: number, order: number, owner: Owner, run: () => void, everyMs: number) {
    this.dueMs = dueMs;
    this.order = order;
    this.owner = owner;
    this.run = run;
    this.everyMs = everyMs;
  }

  unref(): Timer {
    return this;
  }

  ref(): Timer {
    return this;
  }
}

/** More events than any run has that goes on: anybody who gets here turns in a circle. */
const eventsMax = 100_000;

/**
 * Called with the error that an event's code threw; the exit reason of a dead process is not told.
 */
export type OnThrown = (owner: Owner, error: unknown) => void;

export class Scheduler {
  nowMs = 0;
  current: Owner;
  readonly world: Owner = { name: "world", isAlive: true, hasPromises: false };
  readonly #heap: Event[] = [];
  readonly #onThrown: OnThrown;
  #order = 0;
  #isStopped = false;
  #events = 0;

  constructor(onThrown: OnThrown) {
    this.#onThrown = onThrown;
    this.current = this.world;
  }

  /** Runs something later in the name of a process. */
  after(delayMs: number, owner: Owner, run: () => void): Timer {
    return this.#push(this.nowMs + Math.max(0, delayMs), owner, run, 0);
  }

  /**
   * Runs something at a time, exactly: what is due at the same keeps the order in which it was
   * asked for.
   */
  at(dueMs: number, owner: Owner, run: () => void): Timer {
    return this.#push(Math.max(this.nowMs, dueMs), owner, run, 0);
  }

  every(everyMs: number, owner: Owner, run: () => void): Timer {
    return this.#push(this.nowMs + everyMs, owner, run, Math.max(1, everyMs));
  }

  /** Nothing runs any more. */
  stop(): void {
    this.#isStopped = true;
  }

  /**
   * Time goes on by this much without anybody running meanwhile, as when the machines sleep: what
   * was due is late.
   */
  leap(ms: number): void {
    this.nowMs += ms;
  }

  /** Runs events in order until stopped or until nothing is left. */
  run(): Promise<void> {
    return new Promise((resolve) => {
      const turn = (): void => {
        for (;;) {
          const event = this.#isStopped ? undefined : this.#pop();
          if (event === undefined) {
            resolve();
            return;
          }
          if (event.isCancelled || !event.owner.isAlive) continue;
          this.nowMs = Math.max(this.nowMs, event.dueMs);
          this.#carryOut(event);
          // A turn of the real event loop settles every promise; nothing else happens in it.
          if (event.owner.hasPromises) {
            setImmediate(turn);
            return;
          }
        }
      };
      turn();
    });
  }

  #carryOut(event: Event): void {
    this.current = event.owner;
    this.#events += 1;
    try {
      if (this.#events > eventsMax) throw new Error("the run turns in a circle");
      event.run();
    } catch (error) {
      if (event.owner.isAlive) this.#onThrown(event.owner, error);
    }
    if (event.everyMs > 0 && !event.isCancelled && event.owner.isAlive) this.#again(event);
  }

  #again(event: Event): void {
    event.dueMs = this.nowMs + event.everyMs;
    event.order = this.#order++;
    this.#insert(event);
  }

  #push(dueMs: number, owner: Owner, run: () => void, everyMs: number): Event {
    const event = new Event(dueMs, this.#order++, owner, run, everyMs);
    this.#insert(event);
    return event;
  }

  #insert(event: Event): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent] as Event)) break;
      heap[at] = heap[parent] as Event;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event))
        child += 1;
      if (!isBefore(heap[child] as Event, last)) break;
      heap[at] = heap[child] as Event;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}
