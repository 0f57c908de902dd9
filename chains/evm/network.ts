/**
 * Properties that all EVM chains share: the names of networks, and the decimals of the native coin
 * and of gwei. Pure. Source: CAIP-2, EIP-155.
 */

/** Decimals of the native coin of every EVM chain: wei. */
export const nativeDecimal = 18;

/** Digits after the point of an amount in gwei, the usual unit of gas prices. */
export const gweiDecimal = 9;

/** Namespace of EVM networks in CAIP-2. */
export const namespace = "eip155";

/** Ethereum's own network. */
export const mainNetwork = `${namespace}:1`;

/** The CAIP-2 name of a network, e.g. eip155:1. */
export function networkOf(chainId: number | bigint): string {
  return `${namespace}:${chainId}`;
}
