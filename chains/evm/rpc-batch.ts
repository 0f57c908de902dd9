/** Puts the calls of one tick into batches, and learns the batch size that a node accepts. Pure. */

/** Number of answered batches of the full size before the next batch may be one call larger. */
const answersToGrow = 16;

/**
 * The batch size of one node. It is halved if the node refuses a batch, down to one call. It grows
 * slowly, by one call after many answers, because each try above the node's limit is a refusal.
 */
export class BatchSize {
  readonly #max: number;
  #answers = 0;
  calls: number;

  constructor(max: number) {
    this.#max = max;
    this.calls = max;
  }

  answered(calls: number): void {
    if (calls < this.calls || this.calls === this.#max) return;
    this.#answers += 1;
    if (this.#answers < answersToGrow) return;
    this.#answers = 0;
    this.calls += 1;
  }

  refused(calls: number): void {
    this.#answers = 0;
    this.calls = Math.max(1, Math.min(this.calls, calls) >> 1);
  }
}

interface Sized {
  readonly isWrite?: boolean;
  readonly answerBytesMax: number;
}

/**
 * Keeps reads and writes apart, at most `callsMax` in one batch and at most `bytesMax` answer bytes
 * together. Keeps the order.
 */
export function splitCalls<C extends Sized>(calls: readonly C[], callsMax: number, bytesMax: number): C[][] {
  const batches: C[][] = [];
  for (const isWrite of [true, false]) {
    let batch: C[] = [];
    let size = 0;
    for (const call of calls) {
      if (call.isWrite !== isWrite) continue;
      if (batch.length === 0 || batch.length >= callsMax || size + call.answerBytesMax > bytesMax) {
        batch = [];
        size = 0;
        batches.push(batch);
      }
      batch.push(call);
      size += call.answerBytesMax;
    }
  }
  return batches;
}
