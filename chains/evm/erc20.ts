/**
 * Call data of the few ERC-20 functions that this project uses, and the Transfer event. Encoding
 * and strict reading back; no network. Sources: EIP-20; Solidity contract ABI specification
 * (function selector, argument encoding).
 */
import { concatBytes } from "@noble/hashes/utils";
import { addressBytes, addressOfBytes } from "./address.ts";
import { integerBytes } from "./rlp.ts";

/** transfer(address,uint256): selector(4) ‖ zeros(12) ‖ destination(20) ‖ amount(32). */
const transferSelector = Uint8Array.of(0xa9, 0x05, 0x9c, 0xbb);
const callBytes = 68;

/** Topic 0 of Transfer(address indexed from, address indexed to, uint256 value). */
export const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** Call data of decimals(). */
export const decimalsCall = "0x313ce567";

/**
 * Call data of transfer(destination, amountUnits), 68 bytes. The address must have passed
 * `parseAddress`.
 */
export function encodeTransferCall(destination: string, amountUnits: bigint): Uint8Array {
  return concatBytes(transferSelector, word(addressBytes(destination)), word(integerBytes(amountUnits)));
}

/** Null unless `data` is exactly a transfer call; the destination comes in EIP-55 form. */
export function decodeTransferCall(data: Uint8Array): { readonly destination: string; readonly amountUnits: bigint } | null {
  if (data.length !== callBytes) return null;
  const isTransfer = transferSelector.every((byte, i) => data[i] === byte);
  const isPadded = data.subarray(4, 16).every((byte) => byte === 0);
  if (!isTransfer || !isPadded) return null;
  return {
    destination: addressOfBytes(data.subarray(16, 36)),
    amountUnits: BigInt(`0x${Buffer.from(data.subarray(36)).toString("hex")}`),
  };
}

/** Call data of balanceOf(address), as 0x hex. */
export function encodeBalanceCall(address: string): string {
  return `0x70a08231${"0".repeat(24)}${address.slice(2).toLowerCase()}`;
}

/** An address as the 32-byte topic of an event, as 0x hex. */
export function addressTopic(address: string): string {
  return `0x${"0".repeat(24)}${address.slice(2).toLowerCase()}`;
}

/**
 * Reads a plain ERC-20 Transfer of any contract from a log, or returns null. Addresses come in
 * EIP-55 form. NFTs share the topic but index the value as well; their logs have four topics and no
 * data, and are not taken.
 */
export function readTransferLog(log: {
  readonly topics: readonly string[];
  readonly data: string;
}): { readonly from: string; readonly to: string; readonly amountUnits: bigint } | null {
  const [topic, from, to] = log.topics;
  if (log.topics.length !== 3 || topic !== transferTopic || from === undefined || to === undefined) return null;
  const fromAddress = addressOfTopic(from);
  const toAddress = addressOfTopic(to);
  if (fromAddress === null || toAddress === null || !/^0x[0-9a-f]{64}$/.test(log.data)) return null;
  return { from: fromAddress, to: toAddress, amountUnits: BigInt(log.data) };
}

function addressOfTopic(topic: string): string | null {
  return /^0x0{24}[0-9a-f]{40}$/.test(topic) ? addressOfBytes(addressBytes(`0x${topic.slice(26)}`)) : null;
}

function word(bytes: Uint8Array): Uint8Array {
  const padded = new Uint8Array(32);
  padded.set(bytes, 32 - bytes.length);
  return padded;
}
