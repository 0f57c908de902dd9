/**
 * The pause between two looks at a chain, by its usual time between two blocks: an eighth of it, so
 * that a look costs little beside a block, and a block is seen soon. Pure.
 */

const looksPerBlock = 8;
const pauseMsMin = 1_000;
const pauseMsMax = 30_000;

/** 1 to 30 s; `blockMs` null for a chain whose pace is not known yet. */
export function lookPauseMs(blockMs: number | null): number {
  return Math.min(pauseMsMax, Math.max(pauseMsMin, (blockMs ?? 0) / looksPerBlock));
}
