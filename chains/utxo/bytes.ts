/**
 * The integers and lengths of transactions as bytes: little-endian, and the compact size. The
 * reader checks every bound and accepts a compact size only in its shortest form. Pure. Source:
 * serialize.h of Bitcoin Core (ReadCompactSize).
 */

const word64Max = 2n ** 64n - 1n;

/** The bytes of several parts in their order. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}

/** `value` in 0 … 2^32-1. */
export function uint32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** `value` in 0 … 2^64-1. */
export function uint64(value: bigint): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value & word64Max);
  return bytes;
}

/** `value` in 0 … 65,535: no transaction that is made or read here counts further. */
export function compactSize(value: number): Uint8Array {
  return value < 0xfd ? Uint8Array.of(value) : Uint8Array.of(0xfd, value & 0xff, value >> 8);
}

/** The bytes behind their length. */
export function prependLength(bytes: Uint8Array): Uint8Array {
  return joinBytes([compactSize(bytes.length), bytes]);
}

/**
 * Reads bytes from the front. After the first fault everything reads as nothing, and `isWhole`
 * stays false, so a caller asks only once, at the end.
 */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #at = 0;
  #isBroken = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get at(): number {
    return this.#at;
  }

  /** True if all reads were in bounds and no byte is left. */
  get isWhole(): boolean {
    return !this.#isBroken && this.#at === this.#bytes.length;
  }

  fail(): void {
    this.#isBroken = true;
  }

  take(length: number): Uint8Array {
    if (this.#isBroken || length > this.#bytes.length - this.#at) {
      this.fail();
      return new Uint8Array(0);
    }
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  byte(): number {
    return this.take(1)[0] ?? 0;
  }

  uint32(): number {
    const bytes = this.take(4);
    return bytes.length === 4 ? viewOf(bytes).readUInt32LE() : 0;
  }

  uint64(): bigint {
    const bytes = this.take(8);
    return bytes.length === 8 ? viewOf(bytes).readBigUInt64LE() : 0n;
  }

  /** A compact size; a longer form than needed, and a size beyond 65,535, are faults. */
  compactSize(): number {
    const first = this.byte();
    if (first < 0xfd) return first;
    const [low, high] = this.take(first === 0xfd ? 2 : 0);
    const size = (low ?? 0) + (high ?? 0) * 0x100;
    if (size >= 0xfd) return size;
    this.fail();
    return 0;
  }

  /** A number of items that take `itemBytes` at least; more than the rest can hold is a fault. */
  count(itemBytes: number): number {
    const count = this.compactSize();
    if (count * itemBytes <= this.#bytes.length - this.#at) return count;
    this.fail();
    return 0;
  }

  /** The bytes behind their length. */
  sized(): Uint8Array {
    return this.take(this.compactSize());
  }
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
