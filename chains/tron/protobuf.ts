/**
 * Protocol buffers, as far as a transfer needs them: an encoder, and a strict decoder that takes
 * only one encoding of a message. Field numbers rise and none occurs twice. Numbers and lengths are
 * in their shortest form. A field with its default value (0, no bytes) is left out. No network, no
 * disk. Source: the protocol buffers' encoding guide; the rules of canonical form are ours.
 */
import { type Refusal, refuse } from "../../base/fault.ts";

/** A number is a varint, bytes are length-delimited. A transfer has no other types. */
export type ProtoField = readonly [number: number, value: bigint | Uint8Array];

/** Fields by number, in rising order. */
export type ProtoMessage = ReadonlyMap<number, bigint | Uint8Array>;

const wireVarint = 0;
const wireBytes = 2;
/** Every number here is an int64 that is not negative. */
const numberMax = 2n ** 63n - 1n;
/** Seven bits a byte: the length of the largest number. */
const varintBytesMax = 9;

/**
 * The message of these fields, whose numbers rise. Leaves fields of a default value out. The
 * numbers lie in 0 … 2^63-1.
 */
export function encodeMessage(fields: readonly ProtoField[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const [number, value] of fields) {
    if (typeof value === "bigint") {
      if (value !== 0n) parts.push(tag(number, wireVarint), varint(value));
    } else if (value.length > 0)
      parts.push(tag(number, wireBytes), varint(BigInt(value.length)), value);
  }
  return new Uint8Array(Buffer.concat(parts));
}

/**
 * Decodes a message that fills `bytes` to the last byte; fields of bytes are views into it. Refuses
 * (TRANSACTION_PROTOBUF) every form except the one that `encodeMessage` writes.
 */
export function decodeMessage(
  bytes: Uint8Array,
): { readonly ok: true; readonly message: ProtoMessage } | Refusal {
  try {
    return { ok: true, message: messageOf(bytes) };
  } catch (error) {
    if (error instanceof ProtoFormat) return refuse("TRANSACTION_PROTOBUF", error.message);
    throw error;
  }
}

class ProtoFormat extends Error {}

function tag(number: number, wire: number): Uint8Array {
  return varint(BigInt(number * 8 + wire));
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return Uint8Array.of(...bytes, Number(rest));
}

function messageOf(bytes: Uint8Array): ProtoMessage {
  const message = new Map<number, bigint | Uint8Array>();
  let last = 0;
  let at = 0;
  while (at < bytes.length) {
    const head = readVarint(bytes, at);
    const number = Number(head.value >> 3n);
    const wire = Number(head.value & 7n);
    if (number <= last) throw new ProtoFormat("fields that do not rise");
    if (wire !== wireVarint && wire !== wireBytes)
      throw new ProtoFormat(`field ${number} of another kind`);
    const body = readVarint(bytes, head.end);
    if (body.value === 0n)
      throw new ProtoFormat(`field ${number} is spelled out though it is empty`);
    at = wire === wireVarint ? body.end : endOf(bytes, body);
    message.set(number, wire === wireVarint ? body.value : bytes.subarray(body.end, at));
    last = number;
  }
  return message;
}

interface Varint {
  readonly value: bigint;
  readonly end: number; // offset of the byte after it
}

function endOf(bytes: Uint8Array, { value: length, end }: Varint): number {
  if (length > BigInt(bytes.length - end)) throw new ProtoFormat("bytes end early");
  return end + Number(length);
}

function readVarint(bytes: Uint8Array, from: number): Varint {
  let value = 0n;
  for (let index = 0; index < varintBytesMax; index++) {
    const byte = bytes[from + index];
    if (byte === undefined) throw new ProtoFormat("bytes end early");
    value |= BigInt(byte & 0x7f) << BigInt(7 * index);
    if (byte >= 0x80) continue;
    if (byte === 0 && index > 0) throw new ProtoFormat("a number in more bytes than it needs");
    return { value, end: from + index + 1 };
  }
  throw new ProtoFormat(`a number above ${numberMax}`);
}
