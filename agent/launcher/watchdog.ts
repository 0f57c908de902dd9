/**
 * Decides when a silent child process counts as hung. Only time in which the watcher ran counts as
 * silence, so a suspended machine does not kill its children when it wakes up. Pure.
 */

export interface Patience {
  // until the first sign of life, because a long ledger is read back before it
  readonly beforeFirstMs: number;
  readonly afterMs: number; // between two signs of life
}

export const patience: Patience = { beforeFirstMs: 1_800_000, afterMs: 20_000 };

/** The pause between two looks. */
export const lookMs = 1_000;
/**
 * A longer time between two looks means that the watcher did not run; only this much of it counts.
 */
const gapMs = 3 * lookMs;

/** Watches one child. */
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
  received(): void {
    this.#hasSpoken = true;
    this.#silentMs = 0;
  }

  /**
   * The caller calls this every `lookMs`. 0 while the child may go on, else the seconds of its
   * silence.
   */
  overdueSeconds(): number {
    const now = this.#clock();
    this.#silentMs += Math.min(now - this.#lookedAt, gapMs);
    this.#lookedAt = now;
    const mostMs = this.#hasSpoken ? this.#patience.afterMs : this.#patience.beforeFirstMs;
    return this.#silentMs > mostMs ? Math.round(this.#silentMs / 1_000) : 0;
  }
}
