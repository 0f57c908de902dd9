/**
 * The ends of deposit requests that nobody pays, held against the chain's own time: none before the
 * chain has come to it, whatever the gateway's clock shows, and none much later once nothing is
 * wrong.
 */
import { must } from "./violation.ts";

/** A request as the gateway's database has it. */
export interface RequestRow {
  readonly id: string;
  readonly status: 0 | 1 | 2;
  readonly expiresAt: number; // Unix milliseconds
}

export class RequestEnds {
  #headMs = 0; // the latest own time of a block so far
  readonly #over = new Map<string, number>(); // seconds by request

  /** At each commit. */
  told(rows: readonly RequestRow[], headMs: number): void {
    this.#headMs = Math.max(this.#headMs, headMs);
    for (const { id, status, expiresAt } of rows) {
      const say = (): string => `${id} ended ${expiresAt - this.#headMs} ms before its end`;
      must(
        status !== 2 || this.#headMs >= expiresAt,
        "no request ends before the chain's own time",
        say,
      );
    }
  }

  /**
   * Each second in which nothing is wrong: what is over by the chain ends within so many of them.
   * Time that leaps counts for nobody.
   */
  settled(rows: readonly RequestRow[], headMs: number, secondsMax: number): void {
    for (const { id, status, expiresAt } of rows) {
      const isOver = status === 0 && headMs >= expiresAt;
      const seconds = isOver ? (this.#over.get(id) ?? 0) + 1 : 0;
      this.#over.set(id, seconds);
      must(seconds <= secondsMax, "a request ends when clock and chain are past its end", () => id);
    }
  }
}
