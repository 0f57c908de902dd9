/**
 * The height of a chain by the heads of its nodes. Order is by height, and an own time only tells
 * an age: Bitcoin's blocks may be two hours off, and later than their children. Pure. Source: the
 * rules of block times in Bitcoin's own program (median of eleven blocks, two hours ahead).
 */

/**
 * The height that the others are compared with: the highest that two nodes have reached, so that
 * one of three that runs ahead makes none of the others late; of two nodes the higher one. Null
 * before the first head.
 */
export function comparedHeight(numbers: readonly number[]): number | null {
  const sorted = [...numbers].sort((a, b) => b - a);
  return sorted[sorted.length > 2 ? 1 : 0] ?? null;
}
