/**
 * The signer of a signature on secp256k1: libsecp256k1 as WebAssembly if the runtime supports it,
 * otherwise noble. No private keys, no network. Source: SEC 1 version 2, section 4.1.6; EIP-2 for
 * the low half of s.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import { fastCurve } from "./fast-curve.ts";

const order = scalarBytes(secp256k1.CURVE.n);
const halfOrder = scalarBytes(secp256k1.CURVE.n >> 1n);
const none = new Uint8Array(32);

type KeyRecovery = (digest: Uint8Array, signature: Uint8Array, parity: 0 | 1) => Uint8Array | null;

/** Slower by a factor of six; for runtimes without WebAssembly (--jitless). */
export const recoverByNoble: KeyRecovery = (digest, signature, parity) => {
  try {
    return secp256k1.Signature.fromCompact(signature)
      .addRecoveryBit(parity)
      .recoverPublicKey(digest)
      .toRawBytes(false);
  } catch {
    return null;
  }
};

/**
 * The uncompressed public key (65 bytes) whose signature r(32) ‖ s(32) over `digest` (32 bytes) has
 * a point R of this y parity, or null when there is none.
 */
export const recoverPublicKey: KeyRecovery = fastCurve?.recover ?? recoverByNoble;

/**
 * True when r and s lie in 1 … n-1 and s in the lower half (EIP-2: the other half is the same
 * signature malleated).
 */
export function isCanonicalSignature(signature: Uint8Array): boolean {
  if (signature.length !== 64) return false;
  const r = signature.subarray(0, 32);
  const s = signature.subarray(32);
  // Big-endian and of one length, so bytes compare as numbers do.
  const isInRange = Buffer.compare(r, none) > 0 && Buffer.compare(r, order) < 0;
  return isInRange && Buffer.compare(s, none) > 0 && Buffer.compare(s, halfOrder) <= 0;
}

function scalarBytes(value: bigint): Uint8Array {
  return Buffer.from(value.toString(16).padStart(64, "0"), "hex");
}
