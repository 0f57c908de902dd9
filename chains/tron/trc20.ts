/**
 * Call data of a token's transfer, and its Transfer event. Encoding and strict reading back; no
 * network. Sources: TIP-20; Solidity contract ABI specification (function selector, argument
 * encoding).
 */
import { addressBytes, addressOfHash } from "./address.ts";

/** transfer(address,uint256): selector(4) ‖ zeros(12) ‖ destination(20) ‖ amount(32). */
const selector = Uint8Array.of(0xa9, 0x05, 0x9c, 0xbb);
const callBytes = 68;

/** The call data, 68 bytes. The address must have passed `parseAddress`. */
export function encodeTransferCall(destination: string, amountUnits: bigint): Uint8Array {
  const data = new Uint8Array(callBytes);
  data.set(selector);
  data.set(addressBytes(destination).subarray(1), 16);
  data.set(Buffer.from(amountUnits.toString(16).padStart(64, "0"), "hex"), 36);
  return data;
}

/**
 * Null unless `data` is exactly a transfer call. The contract would accept an address of 21 bytes,
 * with the prefix 0x41 in front, instead of 20; here the padding must be zeros.
 */
export function decodeTransferCall(
  data: Uint8Array,
): { readonly destination: string; readonly amountUnits: bigint } | null {
  if (data.length !== callBytes) return null;
  const isTransfer = selector.every((byte, at) => data[at] === byte);
  const isPadded = data.subarray(4, 16).every((byte) => byte === 0);
  if (!isTransfer || !isPadded) return null;
  return {
    destination: addressOfHash(data.subarray(16, 36)),
    amountUnits: BigInt(`0x${Buffer.from(data.subarray(36)).toString("hex")}`),
  };
}
