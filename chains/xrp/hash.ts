/**
 * Hashes of this family. The RIPEMD-160 is noble's, because not every OpenSSL has one. Offline.
 * Source: xrpl.org, "Basic data types": hashes and addresses.
 */
import { createHash } from "node:crypto";
import { ripemd160 } from "@noble/hashes/ripemd160";

/** SHA-256 of the SHA-256, for checksums. */
export function sha256Twice(bytes: Uint8Array): Uint8Array {
  return sha256(sha256(bytes));
}

/** RIPEMD-160 of the SHA-256 (20 bytes): names a public key. */
export function hash160(bytes: Uint8Array): Uint8Array {
  return ripemd160(sha256(bytes));
}

/** The first 32 bytes of the SHA-512 of several parts together. */
export function sha512Half(...parts: readonly Uint8Array[]): Uint8Array {
  const hash = createHash("sha512");
  for (const part of parts) hash.update(part);
  return Uint8Array.from(hash.digest().subarray(0, 32));
}

function sha256(bytes: Uint8Array): Uint8Array {
  return createHash("sha256").update(bytes).digest();
}
