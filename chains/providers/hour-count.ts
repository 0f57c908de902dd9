/**
 * Counts the questions to one server in the last hour, against the most that its operator or its
 * provider allows. One count serves all pools of a process that ask this server; a restart begins
 * it again. Pure: times are passed in.
 */
import type { HourQuotaView } from "../node-view.ts";

const minuteMs = 60_000;
const minutes = 60;

export class HourCount {
  readonly #perHour: number;
  /** Questions by minute, the oldest first; none is older than an hour. */
  #counts: { readonly minute: number; count: number }[] = [];
  #asked = 0;

  constructor(perHour: number) {
    this.#perHour = perHour;
  }

  /** `nowMs` never runs back. */
  asked(nowMs: number): void {
    this.#forget(nowMs);
    const minute = Math.floor(nowMs / minuteMs);
    const last = this.#counts.at(-1);
    if (last?.minute === minute) last.count += 1;
    else this.#counts.push({ minute, count: 1 });
    this.#asked += 1;
  }

  /** Milliseconds until another question is within the limit; 0 if it is now. */
  waitMs(nowMs: number): number {
    this.#forget(nowMs);
    const [oldest] = this.#counts;
    if (this.#asked < this.#perHour || oldest === undefined) return 0;
    return Math.max(1, (oldest.minute + minutes + 1) * minuteMs - nowMs);
  }

  view(nowMs: number): HourQuotaView {
    this.#forget(nowMs);
    return { perHour: this.#perHour, asked: this.#asked };
  }

  /** A minute counts until its last question is an hour old. */
  #forget(nowMs: number): void {
    const first = Math.floor(nowMs / minuteMs) - minutes;
    while (this.#counts[0] !== undefined && this.#counts[0].minute < first) {
      this.#asked -= this.#counts[0].count;
      this.#counts.shift();
    }
  }
}
