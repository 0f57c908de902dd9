/**
 * Private derivation of BIP-32 on bytes that are wiped. The usual libraries use numbers and hex
 * text, which cannot be erased and which a copy of the memory shows. Curve points come from
 * libsecp256k1 as WebAssembly, which wipes its copy of the key. Without WebAssembly they come from
 * noble, whose numbers stay until they are collected. Sources: BIP-32, SEC 1.
 */
import { createHash, createHmac } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1";
import { ripemd160 } from "@noble/hashes/legacy";
import { AgentError } from "../../base/fault.ts";
import { fastCurve } from "../../chains/curve/fast-curve.ts";
import { fixedBytes, fixedCopy } from "../files/fixed-bytes.ts";

/** A private key and its chain code, 32 bytes each; the holder wipes both. */
export interface ExtendedKey {
  readonly key: Uint8Array;
  readonly chainCode: Uint8Array;
}

/** The first hardened index. */
export const hardened = 0x80000000;

const order = Buffer.from(
  "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
  "hex",
);
const masterLabel = Buffer.from("Bitcoin seed");

type PointOf = (key: Uint8Array) => Uint8Array;

/** For runtimes without WebAssembly (--jitless). */
export const pointByNoble: PointOf = (key) => secp256k1.getPublicKey(key, true);

/** Returns the compressed public key (33 bytes) of a private one. */
export const pointOf: PointOf = fastCurve?.pointOf ?? pointByNoble;

type SignatureOf = (digest: Uint8Array, key: Uint8Array) => Uint8Array;

/** For runtimes without WebAssembly (--jitless). */
export const signatureByNoble: SignatureOf = (digest, key) =>
  secp256k1.sign(digest, key, { lowS: true }).toBytes("compact");

/** Returns r(32) ‖ s(32), s low, of a private key over a digest of 32 bytes. */
export const signatureOf: SignatureOf = fastCurve?.signCompact ?? signatureByNoble;

/**
 * Returns the master node of a seed (BIP-32, "Master key generation"). @throws AgentError
 * KEYSTORE_DERIVATION
 */
export function masterOf(seed: Uint8Array): ExtendedKey {
  const digest = createHmac("sha512", masterLabel).update(seed).digest();
  try {
    const key = fixedCopy(digest.subarray(0, 32));
    if (!isKey(key)) throw withoutKey();
    return { key, chainCode: fixedCopy(digest.subarray(32)) };
  } finally {
    digest.fill(0);
  }
}

/**
 * CKDpriv of BIP-32; the caller keeps the parent. @throws AgentError KEYSTORE_DERIVATION for about
 * one index in 2^127
 */
export function childOf(parent: ExtendedKey, index: number): ExtendedKey {
  const data = fixedBytes(37);
  if (index >= hardened) data.set(parent.key, 1);
  else data.set(pointOf(parent.key), 0);
  new DataView(data.buffer).setUint32(33, index);
  const digest = createHmac("sha512", parent.chainCode).update(data).digest();
  data.fill(0);
  try {
    const key = sumOf(digest.subarray(0, 32), parent.key);
    if (key === null) throw withoutKey();
    return { key, chainCode: fixedCopy(digest.subarray(32)) };
  } finally {
    digest.fill(0);
  }
}

/** Returns the first four bytes of HASH160 of the public key, by which a child names its parent. */
export function fingerprintOf({ key }: ExtendedKey): number {
  const hash = ripemd160(createHash("sha256").update(pointOf(key)).digest());
  return new DataView(hash.buffer, hash.byteOffset).getUint32(0);
}

/** Wipes key and chain code. A second call is harmless. */
export function wipeKey({ key, chainCode }: ExtendedKey): void {
  key.fill(0);
  chainCode.fill(0);
}

/**
 * Returns tweak + key mod n, big-endian; null if the tweak is n or more, or the sum is 0: then
 * there is no child.
 */
function sumOf(tweak: Uint8Array, key: Uint8Array): Uint8Array | null {
  if (Buffer.compare(tweak, order) >= 0) return null;
  const sum = fixedBytes(32);
  let carry = 0;
  for (let at = 31; at >= 0; at--) {
    carry += (tweak[at] as number) + (key[at] as number);
    sum[at] = carry & 0xff;
    carry >>= 8;
  }
  if (carry === 1 || Buffer.compare(sum, order) >= 0) subtractOrder(sum);
  if (sum.some((byte) => byte !== 0)) return sum;
  return null;
}

/** The borrow from the highest byte equals the carry into it. */
function subtractOrder(sum: Uint8Array): void {
  let borrow = 0;
  for (let at = 31; at >= 0; at--) {
    const left = (sum[at] as number) - (order[at] as number) - borrow;
    sum[at] = left & 0xff;
    borrow = left < 0 ? 1 : 0;
  }
}

function isKey(key: Uint8Array): boolean {
  return Buffer.compare(key, order) < 0 && key.some((byte) => byte !== 0);
}

function withoutKey(): AgentError {
  return new AgentError("KEYSTORE_DERIVATION", "none", "there is no key at a path that is needed");
}
