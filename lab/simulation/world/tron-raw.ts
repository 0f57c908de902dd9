/**
 * Signed transfers of Tron read by code that shares nothing with the code that builds them: what
 * the simulated chain, and every invariant about what left the signer, goes by. Addresses are the
 * 21 bytes in hex. Sources: the protocol buffers' encoding guide; the chain's protobuf files.
 */
import { createHash } from "node:crypto";
import { keccak_256 } from "@noble/hashes/sha3";
import { base58 } from "@scure/base";
import { recover } from "../fakes/curve.ts";

export interface SignedTransfer {
  readonly hash: string;
  readonly bytes: number; // the signed transaction's
  readonly owner: string; // whom the bytes name
  readonly signer: string; // whose key signed
  readonly refBlockBytes: string; // hex
  readonly refBlockHash: string; // hex
  readonly expirationMs: number;
  readonly timestampMs: number;
  readonly feeLimitSun: bigint;
  readonly contract: string; // the token's contract, "" for coins
  readonly receiver: string;
  readonly units: bigint;
  readonly data: string; // data of a call, hex
}

type Fields = ReadonlyMap<number, bigint | Buffer>;

const known = new Map<string, SignedTransfer | null>();
const knownMax = 2_000;
const hexOf = new Map<string, string>();

/** Null for bytes that are no signed transfer. The same bytes are read once. */
export function readTransfer(raw: string): SignedTransfer | null {
  const before = known.get(raw);
  if (before !== undefined) return before;
  const read = decode(Buffer.from(raw.replace(/^0x/, ""), "hex"));
  if (known.size >= knownMax) known.clear();
  known.set(raw, read);
  return read;
}

/** The 21 bytes of an address in its usual spelling, hex. */
export function addressHex(address: string): string {
  const found =
    hexOf.get(address) ?? Buffer.from(base58.decode(address).subarray(0, 21)).toString("hex");
  hexOf.set(address, found);
  return found;
}

function decode(bytes: Buffer): SignedTransfer | null {
  const outer = fieldsOf(bytes);
  const [rawData, signature] = [blob(outer, 1), blob(outer, 2)];
  const raw = fieldsOf(rawData);
  const packed = fieldsOf(blob(raw, 11));
  const call = fieldsOf(blob(fieldsOf(blob(packed, 2)), 2));
  const paid = paidBy(number(packed, 1), call);
  const digest = createHash("sha256").update(rawData).digest();
  const publicKey =
    signature.length === 65
      ? recover(digest, signature.subarray(0, 64), signature[64] === 27 ? 0 : 1)
      : null;
  if (paid === null || publicKey === null) return null;
  return {
    ...{ hash: digest.toString("hex"), bytes: bytes.length, owner: blob(call, 1).toString("hex") },
    signer: `41${Buffer.from(keccak_256(publicKey.subarray(1)).subarray(12)).toString("hex")}`,
    ...{ refBlockBytes: blob(raw, 1).toString("hex"), refBlockHash: blob(raw, 4).toString("hex") },
    ...{
      expirationMs: Number(number(raw, 8)),
      timestampMs: Number(number(raw, 14)),
      feeLimitSun: number(raw, 18),
    },
    ...paid,
  };
}

function paidBy(
  type: bigint,
  call: Fields,
): Pick<SignedTransfer, "contract" | "receiver" | "units" | "data"> | null {
  if (type === 1n)
    return {
      contract: "",
      receiver: blob(call, 2).toString("hex"),
      units: number(call, 3),
      data: "",
    };
  const data = blob(call, 4).toString("hex");
  if (type !== 31n || !data.startsWith("a9059cbb") || data.length !== 136) return null;
  const receiver = `41${data.slice(32, 72)}`;
  return {
    contract: blob(call, 2).toString("hex"),
    receiver,
    units: BigInt(`0x${data.slice(72)}`),
    data,
  };
}

function blob(fields: Fields, field: number): Buffer {
  const value = fields.get(field);
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
}

function number(fields: Fields, field: number): bigint {
  const value = fields.get(field);
  return typeof value === "bigint" ? value : 0n;
}

/** Numbers and bytes; nothing else stands in a transfer. */
function fieldsOf(bytes: Buffer): Fields {
  const fields = new Map<number, bigint | Buffer>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at] ?? 0;
      at += 1;
      value += BigInt(byte % 128) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = Number(varint());
    if (key % 8 === 0) {
      fields.set(key >> 3, varint());
      continue;
    }
    const length = Number(varint());
    fields.set(key >> 3, bytes.subarray(at, at + length));
    at += length;
  }
  return fields;
}
