/**
 * The names of this family's networks: CAIP-2, namespace tron, and the last eight hex digits of the
 * first block's id, e.g. tron:0x2b6653dc. Pure. Source: the chain's documentation, eth_chainId;
 * CAIP-2 registry, tron.
 */

export const namespace = "tron";

/** The network of the chain itself, whose test networks have other ids. */
export const mainNetwork = `${namespace}:0x2b6653dc`;

/** Decimals of TRX: amounts and fees are in sun. */
export const nativeDecimal = 6;

/** SLIP-44: keys lie under m/44'/195'. */
export const coinType = 195;

const chainIdMax = 0xffff_ffff;
const form = /^0x[0-9a-f]{8}$/;

/**
 * Reads a chain's id in its only spelling, 0x and eight hex digits in lower case, or as the number.
 * Null if the value is no chain's id.
 */
export function readChainId(value: unknown): string | null {
  const number = typeof value === "string" && form.test(value) ? Number.parseInt(value, 16) : value;
  if (
    typeof number !== "number" ||
    !Number.isSafeInteger(number) ||
    number < 1 ||
    number > chainIdMax
  )
    return null;
  return `0x${number.toString(16).padStart(8, "0")}`;
}

/** The CAIP-2 name of the network of a chain's id as `readChainId` spells it. */
export function networkOf(chainId: string): string {
  return `${namespace}:${chainId}`;
}

/** The chain's id in a network's name; null for a name of another family. */
export function chainIdOf(network: string): string | null {
  const start = `${namespace}:`;
  const chainId = network.startsWith(start) ? network.slice(start.length) : "";
  return form.test(chainId) ? readChainId(chainId) : null;
}
