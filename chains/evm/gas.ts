/**
 * The least gas that a transfer needs, computed from its own bytes. With less gas no block takes
 * the transaction, or the block takes it and the payment fails. Offline; asks no node. Sources:
 * EIP-2028 (call data), EIP-7623 (floor price of call data).
 */
import { encodeTransferCall } from "./erc20.ts";

/**
 * Gas of the cheapest transaction (Yellow Paper, appendix G): a transfer to an address without
 * code.
 */
export const gasOfPlainTransfer = 21_000n;
/**
 * No known token moves money for less gas than this if the receiver's balance is new: 21,000 for
 * the transaction, 20,000 for one storage slot, and the call itself. The chain returns unused gas,
 * so a limit above the need costs nothing.
 */
const gasTokenMin = 45_000n;
/**
 * EIP-2028: a zero byte costs 4, another byte 16. In tokens of EIP-7623 they count 1 and 4, and
 * each token costs 10 in the floor.
 */
const gasPerToken = 4n;
const gasPerTokenFloor = 10n;

/**
 * The cost of the bytes before any code runs: EIP-2028's price or EIP-7623's floor, the higher of
 * the two.
 */
export function intrinsicGas(data: Uint8Array): bigint {
  let zeros = 0;
  for (const byte of data) if (byte === 0) zeros += 1;
  const tokens = BigInt(zeros + 4 * (data.length - zeros));
  return gasOfPlainTransfer + larger(tokens * gasPerToken, tokens * gasPerTokenFloor);
}

/** The least gas limit that such a transfer may carry. `contract` is "" for the native coin. */
export function gasFloorOf(transfer: {
  readonly contract: string;
  readonly destination: string;
  readonly amountUnits: bigint;
}): bigint {
  if (transfer.contract === "") return gasOfPlainTransfer;
  return larger(
    intrinsicGas(encodeTransferCall(transfer.destination, transfer.amountUnits)),
    gasTokenMin,
  );
}

function larger(a: bigint, b: bigint): bigint {
  if (a > b) return a;
  return b;
}
