/** SHA-256 for checksums of addresses and for ids of transactions. Offline. Source: FIPS 180-4. */
import { createHash } from "node:crypto";

export function sha256(bytes: Uint8Array): Uint8Array {
  return createHash("sha256").update(bytes).digest();
}

/**
 * The identity of a transaction, signed or not: SHA-256 of its raw_data, as 64 hex digits in lower
 * case. The signature is not part of the hash.
 */
export function txHashOf(rawData: Uint8Array): string {
  return Buffer.from(sha256(rawData)).toString("hex");
}
