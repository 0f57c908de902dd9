/**
 * ECDSA on secp256k1 with a deterministic k and the low half of s: libsecp256k1 as WebAssembly where the runtime has it, otherwise
 * noble. Both give the same 64 bytes for the same key and digest. Sources: SEC 1, RFC 6979, EIP-2.
 */
import { secp256k1 } from "@noble/curves/secp256k1";

/** digest(32), key(32) → r(32) ‖ s(32). The key stays the caller's to wipe. */
export type SignDigest = (digest: Uint8Array, key: Uint8Array) => Uint8Array;

/** Slower by a factor of four, and its numbers cannot be wiped; for runtimes without WebAssembly (--jitless). */
export const signByNoble: SignDigest = (digest, key) => secp256k1.sign(digest, key, { lowS: true }).toBytes("compact");

/** The fastest this runtime has. */
export const signDigest: SignDigest = await bestSigner();

async function bestSigner(): Promise<SignDigest> {
  if (!("WebAssembly" in globalThis)) return signByNoble;
  const { sign } = await import("tiny-secp256k1");
  return (digest, key) => sign(digest, key);
}
