/**
 * Questions to an ERC-20 token and the Transfer event: call data, topics, and strict reading of a
 * log; no network. Sources: EIP-20; Solidity contract ABI specification (function selector,
 * argument encoding).
 */
import { addressBytes, addressOfBytes } from "./address.ts";

/** Topic 0 of Transfer(address indexed from, address indexed to, uint256 value). */
export const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** Call data of decimals(). */
export const decimalsCall = "0x313ce567";

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
  if (log.topics.length !== 3 || topic !== transferTopic || from === undefined || to === undefined)
    return null;
  const fromAddress = addressOfTopic(from);
  const toAddress = addressOfTopic(to);
  if (fromAddress === null || toAddress === null || !/^0x[0-9a-f]{64}$/.test(log.data)) return null;
  return { from: fromAddress, to: toAddress, amountUnits: BigInt(log.data) };
}

function addressOfTopic(topic: string): string | null {
  return /^0x0{24}[0-9a-f]{40}$/.test(topic)
    ? addressOfBytes(addressBytes(`0x${topic.slice(26)}`))
    : null;
}
