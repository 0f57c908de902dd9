/**
 * RLP, the byte format of Ethereum transactions: encoder, and a strict decoder that takes canonical bytes only, so that one
 * value has one encoding and no byte stays unread. No network, no disk. Source: Ethereum Yellow Paper, appendix B.
 */
import { concatBytes } from "@noble/hashes/utils";
import { type Refusal, refuse } from "../../protocol/fault.ts";

export type RlpItem = Uint8Array | readonly RlpItem[];

/** Fields, access list, entry, storage keys, key (EIP-2930): what lies deeper is no transaction. */
const depthMax = 5;

export function encodeRlp(item: RlpItem): Uint8Array {
  if (item instanceof Uint8Array) {
    if (item.length === 1 && (item[0] as number) < 0x80) return item;
    return concatBytes(header(0x80, item.length), item);
  }
  const body = concatBytes(...item.map(encodeRlp));
  return concatBytes(header(0xc0, body.length), body);
}

/** Decodes one item that fills `bytes` to the last byte. Refuses (TRANSACTION_RLP) every form but the shortest. */
export function decodeRlp(bytes: Uint8Array): { readonly ok: true; readonly item: RlpItem } | Refusal {
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
  return Uint8Array.from(Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex"));
}

/** Null unless `bytes` is the shortest big-endian form of an integer of at most `bytesMax` bytes. */
export function integerOf(bytes: Uint8Array, bytesMax: number): bigint | null {
  if (bytes.length > bytesMax || bytes[0] === 0) return null;
  return bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
}

class RlpFormat extends Error {}

function header(offset: number, length: number): Uint8Array {
  if (length < 56) return Uint8Array.of(offset + length);
  const size = integerBytes(BigInt(length));
  return concatBytes(Uint8Array.of(offset + 55 + size.length), size);
}

function decodeAt(bytes: Uint8Array, start: number, limit: number, depth: number): { item: RlpItem; end: number } {
  if (depth > depthMax) throw new RlpFormat("nested too deep");
  const first = bytes[start];
  if (first === undefined || start >= limit) throw new RlpFormat("bytes end early");
  if (first < 0x80) return { item: bytes.slice(start, start + 1), end: start + 1 };
  const isList = first >= 0xc0;
  const { from, to } = bodyOf(bytes, start, limit, isList ? 0xc0 : 0x80);
  if (!isList) {
    if (to - from === 1 && (bytes[from] as number) < 0x80) throw new RlpFormat("one low byte with a prefix");
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

function bodyOf(bytes: Uint8Array, start: number, limit: number, offset: number): { from: number; to: number } {
  const short = (bytes[start] as number) - offset;
  let length = short;
  let from = start + 1;
  if (short > 55) {
    const size = short - 55;
    const field = bytes.slice(from, Math.min(from + size, limit));
    if (field.length !== size) throw new RlpFormat("bytes end early");
    // Four bytes of length are more than any buffer here can hold; longer fields would not fit a number exactly.
    const declared = integerOf(field, 4);
    if (declared === null) throw new RlpFormat("length with a leading zero, or too long");
    if (declared < 56n) throw new RlpFormat("short length in the long form");
    length = Number(declared);
    from += size;
  }
  if (from + length > limit) throw new RlpFormat("bytes end early");
  return { from, to: from + length };
}
