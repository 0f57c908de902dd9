/**
 * ECDSA on secp256k1 with a deterministic k and the low half of s: libsecp256k1 as WebAssembly if
 * the runtime has it, otherwise noble. Both return the same 65 bytes for the same key and digest.
 * Sources: SEC 1, RFC 6979, EIP-2.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import { fastCurve } from "../../../chains/curve/fast-curve.ts";

/** digest(32), key(32) → r(32) ‖ s(32) ‖ y parity of R(1). The caller wipes the key. */
export type SignDigest = (digest: Uint8Array, key: Uint8Array) => Uint8Array;

/**
 * Signs with noble, for runtimes without WebAssembly (--jitless). Slower by a factor of four, and
 * its numbers cannot be wiped.
 */
export const signByNoble: SignDigest = (digest, key) => {
  const signature = secp256k1.sign(digest, key, { lowS: true });
  return Buffer.concat([signature.toBytes("compact"), Uint8Array.of(signature.recovery)]);
};

/** The fastest routine that this runtime has. */
export const signDigest: SignDigest = fastCurve?.sign ?? signByNoble;
