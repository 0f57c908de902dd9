/**
 * Memory for secrets that stays where it is. The runtime keeps short arrays of bytes inside its
 * heap and leaves copies behind as it moves them, which nobody can wipe; an ArrayBuffer's own
 * memory it never moves. Touches nothing.
 */

/**
 * So many bytes, all zero.
 * @public
 */
export function fixedBytes(length: number): Uint8Array {
  return new Uint8Array(new ArrayBuffer(length));
}

/**
 * A copy; the original is the caller's to wipe.
 * @public
 */
export function fixedCopy(bytes: Uint8Array): Uint8Array {
  const copy = fixedBytes(bytes.length);
  copy.set(bytes);
  return copy;
}
