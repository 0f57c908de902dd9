/**
 * Call data of an ERC-20 transfer: encoding and strict reading back; no network. Sources: EIP-20;
 * Solidity contract ABI specification (function selector, argument encoding).
 */
import { concatBytes } from "@noble/hashes/utils";
import { addressBytes, addressOfBytes } from "./address.ts";
import { integerBytes } from "./rlp.ts";

/** transfer(address,uint256): selector(4) ‖ zeros(12) ‖ destination(20) ‖ amount(32). */
const transferSelector = Uint8Array.of(0xa9, 0x05, 0x9c, 0xbb);
const callBytes = 68;

/**
 * Call data of transfer(destination, amountUnits), 68 bytes. The address must have passed
 * `parseAddress`.
 */
export function encodeTransferCall(destination: string, amountUnits: bigint): Uint8Array {
  return concatBytes(
    transferSelector,
    word(addressBytes(destination)),
    word(integerBytes(amountUnits)),
  );
}

/** Null unless `data` is exactly a transfer call; the destination comes in EIP-55 form. */
export function decodeTransferCall(
  data: Uint8Array,
): { readonly destination: string; readonly amountUnits: bigint } | null {
  if (data.length !== callBytes) return null;
  const isTransfer = transferSelector.every((byte, i) => data[i] === byte);
  const isPadded = data.subarray(4, 16).every((byte) => byte === 0);
  if (!isTransfer || !isPadded) return null;
  return {
    destination: addressOfBytes(data.subarray(16, 36)),
    amountUnits: BigInt(`0x${Buffer.from(data.subarray(36)).toString("hex")}`),
  };
}

function word(bytes: Uint8Array): Uint8Array {
  const padded = new Uint8Array(32);
  padded.set(bytes, 32 - bytes.length);
  return padded;
}
