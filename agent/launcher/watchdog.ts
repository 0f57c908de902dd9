/**
 * How long a child process may be silent before it counts as hung. Counts only time in which its watcher itself ran, so that a machine
 * or a session that was suspended whole finds nobody guilty when it wakes up. Pure.
 */

/** @public */
export interface Patience {
  readonly beforeFirstMs: number; // until the first sign of life: a long ledger is read back before it
  readonly afterMs: number; // between two signs of life
}

/** @public */
export const patience: Patience = { beforeFirstMs: 1_800_000, afterMs: 20_000 };

/**
 * How often to look.
 * @public
 */
export const lookMs = 1_000;
/** Two looks further apart than this were not silence but a watcher that did not run. */
const gapMs = 3 * lookMs;

/** @public */
export class Watchdog {
  readonly #patience: Patience;
  readonly #clock: () => number;
  #lookedAt: number;
  #silentMs = 0;
  #hasSpoken = false;

  /** `clock` is monotonic, in milliseconds. */
  constructor(clock: () => number, limits: Patience = patience) {
    this.#patience = limits;
    this.#clock = clock;
    this.#lookedAt = clock();
  }

  /** The child gave a sign of life. */
  heard(): void {
    this.#hasSpoken = true;
    this.#silentMs = 0;
  }

  /** Looked at every `lookMs`: 0 while the child may go on, else the seconds for which it was silent. */
  overdueSeconds(): number {
    const now = this.#clock();
    this.#silentMs += Math.min(now - this.#lookedAt, gapMs);
    this.#lookedAt = now;
    const mostMs = this.#hasSpoken ? this.#patience.afterMs : this.#patience.beforeFirstMs;
    return this.#silentMs > mostMs ? Math.round(this.#silentMs / 1_000) : 0;
  }
}
