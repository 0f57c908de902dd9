/**
 * How calls of one tick are put into batches, and how many of them one node bears in one. Pure.
 */

/** Answers to batches of the full size before the next one is larger by a call. */
const answersToGrow = 16;

/**
 * Halved when the node refuses a batch, down to one call; grown slowly, a call after many answers,
 * since each try above what the node bears is a refusal.
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
 * Reads and writes apart, no more than `callsMax` in one, no more answer bytes than `bytesMax`
 * together. Order is kept.
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
