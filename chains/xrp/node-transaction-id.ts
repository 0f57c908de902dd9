/**
 * The id of signed bytes, by the nodes' side alone. Pure. Source: the ledger's "Basic data types",
 * hashes.
 */
import { createHash } from "node:crypto";

/**
 * The first half of the SHA-512 of the prefix and the signed bytes, as 64 hex digits in upper case.
 */
export function transactionId(signed: Uint8Array): string {
  const digest = createHash("sha512")
    .update(Buffer.from("TXN\0", "latin1"))
    .update(signed)
    .digest();
  return digest.subarray(0, 32).toString("hex").toUpperCase();
}
