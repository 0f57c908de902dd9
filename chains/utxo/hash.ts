/**
 * Hashes of this kind of chain. The RIPEMD-160 is noble's, because not every OpenSSL has one.
 * Offline. Source: the chain's developer reference, "Hashes".
 */
import { createHash } from "node:crypto";
import { ripemd160 } from "@noble/hashes/ripemd160";

/** SHA-256 of the SHA-256: ids of transactions, checksums, digests. */
export function sha256Twice(bytes: Uint8Array): Uint8Array {
  return sha256(sha256(bytes));
}

/** RIPEMD-160 of the SHA-256 (20 bytes): names public keys and scripts. */
export function hash160(bytes: Uint8Array): Uint8Array {
  return ripemd160(sha256(bytes));
}

function sha256(bytes: Uint8Array): Uint8Array {
  return createHash("sha256").update(bytes).digest();
}
