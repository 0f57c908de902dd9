/**
 * Stands in for node:crypto: hashes stay the real ones, Ed25519 becomes a keyed hash that anybody
 * could make but nobody here does, and random bytes follow from the seed.
 */
import * as real from "node:crypto";
import { kernel } from "../kernel/kernel.ts";

export const {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  scryptSync,
  timingSafeEqual,
  webcrypto,
} = real;

const spkiPrefix = Buffer.from("302a300506032b6570032100", "hex");
const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex");

class FakeKey {
  readonly asymmetricKeyType = "ed25519";
  readonly type: "private" | "public";
  readonly raw: Buffer;
  readonly seed: Buffer | null;

  constructor(raw: Buffer, seed: Buffer | null) {
    this.type = seed === null ? "public" : "private";
    this.raw = raw;
    this.seed = seed;
  }

  export(): Buffer {
    return this.seed === null
      ? Buffer.concat([spkiPrefix, this.raw])
      : Buffer.concat([pkcs8Prefix, this.seed]);
  }
}

interface Der {
  readonly key: Uint8Array;
}

export function createPrivateKey({ key }: Der): FakeKey {
  const seed = Buffer.from(key.subarray(key.length - 32));
  const raw = createHash("sha256").update("public").update(seed).digest();
  raw[31] = (raw[31] ?? 0) & 0x3f;
  return new FakeKey(raw, seed);
}

export function createPublicKey(from: FakeKey | Der): FakeKey {
  if (from instanceof FakeKey) return new FakeKey(from.raw, null);
  return new FakeKey(Buffer.from(from.key.subarray(from.key.length - 32)), null);
}

export function sign(_algorithm: null, data: Uint8Array, key: FakeKey): Buffer {
  const half = createHash("sha256").update(key.raw).update(data).digest();
  return Buffer.concat([half, half]);
}

export function verify(
  algorithm: null,
  data: Uint8Array,
  key: FakeKey,
  signature: Uint8Array,
): boolean {
  return signature.length === 64 && sign(algorithm, data, key).equals(signature);
}

export function randomBytes(count: number): Buffer {
  return kernel.random.bytes("random bytes", count);
}
