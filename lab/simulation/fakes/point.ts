/**
 * Stands in for protocol/point.ts, whose arithmetic takes longer than everything else together:
 * simulated keys are all usable.
 */

export function isUsablePoint(raw: Uint8Array): boolean {
  return raw.length === 32;
}
