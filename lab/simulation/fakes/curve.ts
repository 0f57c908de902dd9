/**
 * Stands in for chains/curve/fast-curve.ts: a signature from which the signer is found again by
 * trying the few keys that ever signed. Every key has its true public key, so addresses are real.
 * Tells the kernel of each digest before it is signed.
 */
import { createHash } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1";
import type { FastCurve } from "../../../chains/curve/fast-curve.ts";
import { kernel } from "../kernel/kernel.ts";

const publicKeys = new Map<string, Uint8Array>(); // by private key, hex

function sign(digest: Uint8Array, key: Uint8Array): Uint8Array {
  const keyHex = Buffer.from(key).toString("hex");
  let publicKey = publicKeys.get(keyHex);
  if (publicKey === undefined) {
    publicKey = secp256k1.getPublicKey(key, false);
    publicKeys.set(keyHex, publicKey);
  }
  kernel.onSign(Buffer.from(digest).toString("hex"));
  return Buffer.concat([signatureOf(digest, publicKey), Uint8Array.of(parityOf(digest))]);
}

export const fastCurve: FastCurve = {
  sign,
  // A true one: anybody who reads the proof of a key knows no key that signed.
  signCompact: (digest, key) => secp256k1.sign(digest, key, { lowS: true }).toBytes("compact"),
  pointOf: (key) => secp256k1.getPublicKey(key, true),
  recover,
};

/** The public key of the signer; null if no key that signed here made the signature. */
export function recover(
  digest: Uint8Array,
  signature: Uint8Array,
  parity: number,
): Uint8Array | null {
  if (parity !== parityOf(digest)) return null;
  for (const publicKey of publicKeys.values())
    if (signatureOf(digest, publicKey).equals(signature)) return publicKey;
  return null;
}

export function verify(digest: Uint8Array, point: Uint8Array, signature: Uint8Array): boolean {
  return signatureOf(digest, point).equals(signature);
}

/** Both halves between 1 and half the order. */
function signatureOf(digest: Uint8Array, publicKey: Uint8Array): Buffer {
  const half = createHash("sha256").update(publicKey).update(digest).digest();
  half[0] = ((half[0] ?? 0) & 0x3f) | 1;
  return Buffer.concat([half, half]);
}

function parityOf(digest: Uint8Array): 0 | 1 {
  return ((digest[31] ?? 0) & 1) === 0 ? 0 : 1;
}
