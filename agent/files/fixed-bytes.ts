/**
 * Memory for secrets that stays at its address. The runtime keeps short arrays of bytes inside its
 * heap and moves them, and no code can wipe the old copies. An ArrayBuffer's own memory never
 * moves. Touches nothing.
 */

/** So many bytes, all zero. */
export function allocateFixedBytes(length: number): Uint8Array {
  return new Uint8Array(new ArrayBuffer(length));
}

/** Both, one after the other. Wipes `held`; the caller wipes `more`. */
export function joinFixedBytes(held: Uint8Array, more: Uint8Array): Uint8Array {
  const joined = allocateFixedBytes(held.length + more.length);
  joined.set(held);
  joined.set(more, held.length);
  held.fill(0);
  return joined;
}

/** A copy. The caller wipes the original. */
export function copyToFixedBytes(bytes: Uint8Array): Uint8Array {
  const copy = allocateFixedBytes(bytes.length);
  copy.set(bytes);
  return copy;
}
