/**
 * Gas that a transfer needs at the least, reckoned from its own bytes: below it no block takes the
 * transaction, or the block takes it and the payment fails. Offline; no node is asked. Sources:
 * EIP-2028 (call data), EIP-7623 (floor price of call data).
 */
import { encodeTransferCall } from "./erc20.ts";

/**
 * Gas of the cheapest transaction (Yellow Paper, appendix G): a transfer to an address without
 * code.
 * @public
 */
export const gasPlain = 21_000n;
/**
 * No known token moves money for less than this with a fresh receiver's balance to write: 21,000
 * for the transaction, 20,000 for one storage slot, the call itself. What a call leaves over comes
 * back, so a limit above the need costs nothing.
 */
const gasTokenMin = 45_000n;
/**
 * EIP-2028: a zero byte costs 4, another 16; in EIP-7623's tokens 1 and 4, each of them 10 in the
 * floor.
 */
const gasPerToken = 4n;
const gasPerTokenFloor = 10n;

/**
 * What the bytes cost before any code runs: EIP-2028's price or EIP-7623's floor, whichever is
 * higher.
 */
export function intrinsicGas(data: Uint8Array): bigint {
  let zeros = 0;
  for (const byte of data) if (byte === 0) zeros += 1;
  const tokens = BigInt(zeros + 4 * (data.length - zeros));
  return gasPlain + larger(tokens * gasPerToken, tokens * gasPerTokenFloor);
}

/**
 * The least gas limit that such a transfer may carry. `contract` is "" for the native coin.
 * @public
 */
export function gasFloorOf(transfer: {
  readonly contract: string;
  readonly destination: string;
  readonly amountUnits: bigint;
}): bigint {
  if (transfer.contract === "") return gasPlain;
  return larger(intrinsicGas(encodeTransferCall(transfer.destination, transfer.amountUnits)), gasTokenMin);
}

function larger(a: bigint, b: bigint): bigint {
  if (a > b) return a;
  return b;
}
