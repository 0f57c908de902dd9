/**
 * RLP, the byte format of Ethereum transactions: an encoder, and a strict decoder that takes only
 * canonical bytes. So one value has one encoding, and no byte stays unread. No network, no disk.
 * Source: Ethereum Yellow Paper, appendix B.
 */
import { type Refusal, refuse } from "../../base/fault.ts";

export type RlpItem = Uint8Array | readonly RlpItem[];

/** Fields, access list, entry, storage keys, key (EIP-2930). A deeper item is no transaction. */
const depthMax = 5;

/** The first `before` bytes of the result are left free. */
export function encodeRlp(item: RlpItem, before = 0): Uint8Array {
  const bytes = new Uint8Array(before + sizeOf(item));
  writeItem(item, bytes, before);
  return bytes;
}

/**
 * Decodes one item that fills `bytes` to the last byte. Refuses (TRANSACTION_RLP) every form but
 * the shortest.
 */
export function decodeRlp(
  bytes: Uint8Array,
): { readonly ok: true; readonly item: RlpItem } | Refusal {
  try {
    const { item, end } = decodeAt(bytes, 0, bytes.length, 1);
    if (end !== bytes.length) throw new RlpFormat("bytes after the end");
    return { ok: true, item };
  } catch (error) {
    if (error instanceof RlpFormat) return refuse("TRANSACTION_RLP", error.message);
    throw error;
  }
}

/** The shortest big-endian form; zero is the empty string (Yellow Paper, appendix B). */
export function integerBytes(value: bigint): Uint8Array {
  if (value === 0n) return new Uint8Array(0);
  const hex = value.toString(16);
  return new Uint8Array(Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex"));
}

/** Big-endian bytes without leading zeros; the result is a view into `bytes`. */
export function stripLeadingZeros(bytes: Uint8Array): Uint8Array {
  let first = 0;
  while (bytes[first] === 0) first += 1;
  return bytes.subarray(first);
}

/**
 * Null unless `bytes` is the shortest big-endian form of an integer of at most `bytesMax` bytes.
 */
export function readShortestInteger(bytes: Uint8Array, bytesMax: number): bigint | null {
  if (bytes.length > bytesMax || bytes[0] === 0) return null;
  return bytes.length === 0
    ? 0n
    : BigInt(`0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex")}`);
}

class RlpFormat extends Error {}

function isLowByte(item: Uint8Array): boolean {
  return item.length === 1 && (item[0] as number) < 0x80;
}

function sizeOf(item: RlpItem): number {
  if (item instanceof Uint8Array && isLowByte(item)) return 1;
  const body = bodySizeOf(item);
  return 1 + (body < 56 ? 0 : bytesOf(body)) + body;
}

function bodySizeOf(item: RlpItem): number {
  if (item instanceof Uint8Array) return item.length;
  let size = 0;
  for (const each of item) size += sizeOf(each);
  return size;
}

/** Bytes of a length above zero. */
function bytesOf(length: number): number {
  return Math.ceil((32 - Math.clz32(length)) / 8);
}

/** @returns the offset at which the next item begins */
function writeItem(item: RlpItem, bytes: Uint8Array, at: number): number {
  if (!(item instanceof Uint8Array)) {
    let next = writeHeader(0xc0, bodySizeOf(item), bytes, at);
    for (const each of item) next = writeItem(each, bytes, next);
    return next;
  }
  const from = isLowByte(item) ? at : writeHeader(0x80, item.length, bytes, at);
  bytes.set(item, from);
  return from + item.length;
}

function writeHeader(offset: number, length: number, bytes: Uint8Array, at: number): number {
  if (length < 56) {
    bytes[at] = offset + length;
    return at + 1;
  }
  const size = bytesOf(length);
  bytes[at] = offset + 55 + size;
  for (let index = 1; index <= size; index++) bytes[at + index] = length >>> (8 * (size - index));
  return at + 1 + size;
}

function decodeAt(
  bytes: Uint8Array,
  start: number,
  limit: number,
  depth: number,
): { item: RlpItem; end: number } {
  if (depth > depthMax) throw new RlpFormat("nested too deep");
  const first = bytes[start];
  if (first === undefined || start >= limit) throw new RlpFormat("bytes end early");
  if (first < 0x80) return { item: bytes.slice(start, start + 1), end: start + 1 };
  const isList = first >= 0xc0;
  const { from, to } = bodyOf(bytes, start, limit, isList ? 0xc0 : 0x80);
  if (!isList) {
    if (to - from === 1 && (bytes[from] as number) < 0x80)
      throw new RlpFormat("one low byte with a prefix");
    return { item: bytes.slice(from, to), end: to };
  }
  const items: RlpItem[] = [];
  let at = from;
  while (at < to) {
    const next = decodeAt(bytes, at, to, depth + 1);
    items.push(next.item);
    at = next.end;
  }
  return { item: items, end: to };
}

function bodyOf(
  bytes: Uint8Array,
  start: number,
  limit: number,
  offset: number,
): { from: number; to: number } {
  const short = (bytes[start] as number) - offset;
  let length = short;
  let from = start + 1;
  if (short > 55) {
    const size = short - 55;
    const field = bytes.slice(from, Math.min(from + size, limit));
    if (field.length !== size) throw new RlpFormat("bytes end early");
    // Four bytes of length exceed any buffer here; longer length fields would not fit a number
    // exactly.
    const declared = readShortestInteger(field, 4);
    if (declared === null) throw new RlpFormat("length with a leading zero, or too long");
    if (declared < 56n) throw new RlpFormat("short length in the long form");
    length = Number(declared);
    from += size;
  }
  if (from + length > limit) throw new RlpFormat("bytes end early");
  return { from, to: from + length };
}
