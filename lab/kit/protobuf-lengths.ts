/**
 * The lengths in protobuf bytes, before Google's reader gets them: at a text whose length leads
 * beyond its message that reader goes on for billions of steps. Source: protobuf encoding.
 */

/** A message's fields that are messages themselves, by number. */
export interface NestedFields {
  readonly [field: number]: NestedFields;
}

/**
 * True if a length leads beyond the bytes of its message, here or in a nested one. Lengths are
 * taken modulo 2^32, as Google's reader takes them. False as well for other bytes that are no
 * protobuf.
 */
export function leadsBeyond(bytes: Uint8Array, nested: NestedFields): boolean {
  for (let at = 0; at < bytes.length; ) {
    const tag = varintAt(bytes, at);
    if (tag === null) return false;
    at = tag.end;
    const kind = Number(tag.value & 7n);
    if (kind === 5 || kind === 1) at += kind === 5 ? 4 : 8;
    else if (kind === 0 || kind === 2) {
      const value = varintAt(bytes, at);
      if (value === null) return false;
      at = value.end;
      if (kind === 0) continue;
      const length = Number(BigInt.asUintN(32, value.value));
      if (length > bytes.length - at) return true;
      const inner = nested[Number(tag.value >> 3n)];
      if (inner !== undefined && leadsBeyond(bytes.subarray(at, at + length), inner)) return true;
      at += length;
    } else return false;
  }
  return false;
}

function varintAt(
  bytes: Uint8Array,
  at: number,
): { readonly value: bigint; readonly end: number } | null {
  let value = 0n;
  for (let place = 0; place < 10; place += 1) {
    const byte = bytes[at + place];
    if (byte === undefined) return null;
    value |= BigInt(byte & 0x7f) << BigInt(7 * place);
    if (byte < 0x80) return { value, end: at + place + 1 };
  }
  return null;
}
