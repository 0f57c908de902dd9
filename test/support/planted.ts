/**
 * A reader with a mistake behind four bytes in their order: a campaign that is worth its time finds
 * it.
 */

/** Throws where no reader of ours would. */
export function readPlanted(input: Uint8Array): number {
  if (input[0] !== 0x7b) return 0;
  if (input[1] !== 0x22) return 1;
  if (input[2] !== 0x5c) return 2;
  if (input[3] !== 0x7d) return 3;
  throw new TypeError("planted");
}

/** Cost of the input's length. */
export function readEach(input: Uint8Array): number {
  let sum = 0;
  for (const byte of input) sum += byte;
  return sum;
}

/** Cost of the input's length squared. */
export function readEachWithEach(input: Uint8Array): number {
  let sum = 0;
  for (const byte of input) for (const other of input) sum += byte ^ other;
  return sum;
}

/** Memory of the input's length. */
export function keepAll(input: Uint8Array): number {
  return [...input].map((byte) => ({ byte })).length;
}

/** Memory of the input's length squared. */
export function keepAllOfAll(input: Uint8Array): number {
  return [...input].map((_, index) => [...input.subarray(0, index)]).length;
}
