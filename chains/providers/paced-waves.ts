/**
 * Asks many questions of nodes whose quota nobody knows. The first wave is as wide as allowed.
 * Nodes that say that they are asked too much make the waves narrower and slower: at most as many
 * questions a second as a wave has, after the rest that the nodes named. Questions that were
 * refused are asked again, so that a burst above the quota costs time and not the whole pass. Waves
 * that pass grow again.
 */
import { AgentError } from "../../base/fault.ts";

export interface PacingClock {
  readonly clock: () => number; // milliseconds, never running back
  readonly wait: (ms: number) => Promise<void>;
}

/** The rest of a node that named no time, and the least time between two waves after a refusal. */
const secondMs = 1_000;
/** Time that one call may rest in all; then the refusal is the caller's. */
const patienceMs = 120_000;
/** A wave that passed lets the next one be wider by this part. */
const growthDivisor = 8;

export const timerPacing: PacingClock = {
  clock: () => performance.now(),
  wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

export class PacedWaves {
  readonly #widthMax: number;
  readonly #pacing: PacingClock;
  #width: number;
  #isClosed = false;
  #wake: () => void = () => {};
  readonly #closed = new Promise<void>((resolve) => {
    this.#wake = resolve;
  });
  #nextAt = 0; // while the width is below its most: no wave before this time

  constructor(widthMax: number, pacing: PacingClock = timerPacing) {
    [this.#widthMax, this.#width, this.#pacing] = [widthMax, widthMax, pacing];
  }

  /**
   * The answers in the order of the items.
   * @throws the first fault that is no refusal for a quota; NODE_QUOTA after `patienceMs` of rest;
   * NODE_CLOSED after `close`, without the rest that is left
   */
  async ask<T, R>(items: readonly T[], job: (item: T) => Promise<R>): Promise<R[]> {
    const results: R[] = [];
    let open = [...items.keys()];
    let restedMs = 0;
    while (open.length > 0) {
      await this.#untilNext();
      const wave = open.slice(0, this.#width);
      const settled = await Promise.allSettled(wave.map((at) => job(items[at] as T)));
      const refused: number[] = [];
      let fault: AgentError | null = null;
      for (const [index, one] of settled.entries()) {
        const at = wave[index] as number;
        if (one.status === "fulfilled") results[at] = one.value;
        else if (!isQuota(one.reason)) throw one.reason;
        else {
          refused.push(at);
          fault = longer(fault, one.reason);
        }
      }
      open = [...refused, ...open.slice(wave.length)];
      if (fault === null) {
        this.#grow();
        continue;
      }
      const restMs = this.#shrink(wave.length, restOf(fault));
      restedMs += restMs;
      if (restedMs > patienceMs) throw fault;
    }
    return results;
  }

  /** Ends every rest, so that a stop of the process waits for none. Harmless to call twice. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  async #untilNext(): Promise<void> {
    const leftMs = this.#nextAt - this.#pacing.clock();
    if (leftMs > 0) await Promise.race([this.#pacing.wait(leftMs), this.#closed]);
    if (this.#isClosed)
      throw new AgentError("NODE_CLOSED", "none", "the connection was closed by us");
    // Before the wave, so that its own time counts.
    if (this.#width < this.#widthMax) this.#nextAt = this.#pacing.clock() + secondMs;
  }

  #shrink(asked: number, restMs: number): number {
    this.#width = Math.max(1, Math.floor(Math.min(asked, this.#width) / 2));
    this.#nextAt = this.#pacing.clock() + restMs;
    return restMs;
  }

  #grow(): void {
    this.#width = Math.min(this.#widthMax, this.#width + Math.ceil(this.#width / growthDivisor));
  }
}

const isQuota = (error: unknown): error is AgentError =>
  error instanceof AgentError && error.code === "NODE_QUOTA";

function restOf({ context: { quietMs } }: AgentError): number {
  return Math.max(secondMs, typeof quietMs === "number" ? quietMs : 0);
}

const longer = (known: AgentError | null, other: AgentError): AgentError =>
  known === null || restOf(other) > restOf(known) ? other : known;
