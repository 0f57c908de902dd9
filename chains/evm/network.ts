/**
 * What all EVM chains have in common: how a network is named, and how many decimals its own coin
 * and gwei have. Pure. Source: CAIP-2, EIP-155.
 */

/**
 * Decimals of the native coin of every EVM chain: wei.
 * @public
 */
export const nativeDecimal = 18;

/**
 * Digits after the point of an amount in gwei, which prices of gas are spoken of in.
 * @public
 */
export const gweiDecimal = 9;

/**
 * Of the names of EVM networks, CAIP-2.
 * @public
 */
export const namespace = "eip155";

/**
 * The CAIP-2 name of a network, e.g. eip155:1.
 * @public
 */
export function networkOf(chainId: number | bigint): string {
  return `${namespace}:${chainId}`;
}
