/**
 * The identity of a signed EVM transaction. Offline. Source: Yellow Paper, section 4.3; EIP-2718
 * for typed transactions.
 */
import { keccak256 } from "../curve/keccak.ts";

/** Keccak-256 of the raw bytes, as 0x hex in lower case. */
export function txHashOf(raw: Uint8Array): string {
  return `0x${Buffer.from(keccak256(raw)).toString("hex")}`;
}
