/** What all EVM chains have in common: how a network is named, and how many decimals its own coin has. Pure. Source: CAIP-2, EIP-155. */

/**
 * Decimals of the native coin of every EVM chain: wei.
 * @public
 */
export const nativeDecimal = 18;

/**
 * The CAIP-2 name of a network, e.g. eip155:1.
 * @public
 */
export function networkOf(chainId: number | bigint): string {
  return `eip155:${chainId}`;
}
