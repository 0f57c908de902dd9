/**
 * The names of this family's networks: CAIP-2, namespace xrpl, and the network's own number, e.g.
 * xrpl:0 for the main network. Pure. Sources: CAIP-2 registry, xrpl; xrpl.org, "NetworkID" field.
 */

export const namespace = "xrpl";

/** The main network; 1 is the test network, 2 the developers'. */
export const mainNetwork = `${namespace}:0`;

/** Decimals of XRP: amounts and fees are in drops. */
export const nativeDecimal = 6;

/** SLIP-44: keys lie under m/44'/144'. */
export const coinType = 144;

/** A transaction for a network above this number needs a field that no transaction here has. */
const chainIdMax = 1024;

/** Reads a network's number, 0 … 1024. Null if the value is none. */
export function readChainId(value: unknown): number | null {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0 || value > chainIdMax)
    return null;
  return Object.is(value, -0) ? 0 : value;
}

/** The CAIP-2 name of the network of this number. */
export function networkOf(chainId: number): string {
  return `${namespace}:${chainId}`;
}

/** The number in a network's name; null for any other name. */
export function chainIdOf(network: string): number | null {
  const chainId = readChainId(Number(network.slice(namespace.length + 1)));
  return chainId !== null && networkOf(chainId) === network ? chainId : null;
}
