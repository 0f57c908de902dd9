/**
 * The pace of the questions to one provider whose quota nobody knows. The provider gets no question
 * for the time that it names, and after a refusal the questions come slower for a while. Touches
 * nothing itself: the clock is passed in.
 */
import type { Refusal } from "./pool-node.ts";

/** The pause for a provider at its quota that gives no time. */
const quietMs = 1_000;
/**
 * Gap between two questions to a provider that recently answered 429: doubled by each refusal,
 * slowly reduced again.
 */
const gapFirstMs = 20;
const gapMaxMs = 250;
const gapGivenBack = 0.95;
const gapNoneMs = 5;
/**
 * Refusals that last this long are reported. A provider that counts by seconds answers again before
 * that.
 */
const refusedToldMs = 5_000;

/** The time at which the next question may go out, and since when all questions are refused. */
export class Pace {
  readonly #clock: () => number;
  #gapMs = 0;
  #refused: { readonly sinceMs: number; readonly words: string } | null = null; // since the last answer
  #slowedAt = 0;
  nextAt = 0; // no question before this

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  asked(): void {
    this.nextAt = this.#clock() + this.#gapMs;
  }

  answered(): void {
    this.#refused = null;
    this.#gapMs = this.#gapMs < gapNoneMs ? 0 : this.#gapMs * gapGivenBack;
  }

  /**
   * Questions that were under way at the same time are refused together, so only the first refusal
   * slows the rate down.
   */
  slowDown(wantedMs: number, sentAt: number, words: string): void {
    this.#refused = { sinceMs: this.#refused?.sinceMs ?? this.#clock(), words };
    if (sentAt >= this.#slowedAt)
      this.#gapMs = Math.min(gapMaxMs, Math.max(gapFirstMs, this.#gapMs * 2));
    this.#slowedAt = this.#clock();
    const quiet = Math.max(this.#gapMs, wantedMs === 0 ? quietMs : wantedMs);
    this.nextAt = Math.max(this.nextAt, this.#clock() + quiet);
  }

  /**
   * A question has little time left after refusals, so its time-out says nothing about the
   * provider.
   */
  failed(code: string): void {
    if (code !== "NODE_TIMEOUT") this.#refused = null;
  }

  refusal(): Refusal | null {
    if (this.#refused === null) return null;
    const forMs = this.#clock() - this.#refused.sinceMs;
    return forMs < refusedToldMs ? null : { detail: `NODE_QUOTA: ${this.#refused.words}`, forMs };
  }
}
