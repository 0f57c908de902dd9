/**
 * How networks of this family are named: CAIP-2, namespace tron, and the last eight hex digits of
 * the genesis block's id. Pure. Source: the chain's own JSON-RPC, whose eth_chainId is that number.
 */

/** @public */
export const namespace = "tron";

/**
 * Decimals of TRX: fees and amounts are in sun.
 * @public
 */
export const nativeDecimal = 6;

/**
 * SLIP-44: keys lie under m/44'/195'.
 * @public
 */
export const coinType = 195;

const chainIdMax = 0xffff_ffff;
const form = /^tron:(0x[0-9a-f]{8})$/;

/**
 * The CAIP-2 name of a network, e.g. tron:0x2b6653dc; null when the number is no chain's.
 * @public
 */
export function networkOf(chainId: number): string | null {
  if (!Number.isSafeInteger(chainId) || chainId < 1 || chainId > chainIdMax) return null;
  return `${namespace}:0x${chainId.toString(16).padStart(8, "0")}`;
}

/**
 * The number that a network's name ends in; null when it is none in its one spelling.
 * @public
 */
export function chainIdOf(network: string): number | null {
  const [, digits] = form.exec(network) ?? [];
  return digits === undefined || digits === "0x00000000" ? null : Number(digits);
}
