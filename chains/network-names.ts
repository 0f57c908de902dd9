/** Names of networks apart from any configured chain. Pure. Source: CAIP-2. */
import { mainNetwork as evm } from "./evm/network.ts";
import type { FamilyName } from "./family.ts";
import { mainNetwork as tron } from "./tron/network.ts";

/** The network of each family's best known chain, for an address whose network is not known. */
export const mainNetworks: Readonly<Record<FamilyName, string>> = { evm, tron };

/** The namespace of a network's name. */
export function namespaceOf(network: string): string {
  return network.slice(0, network.indexOf(":"));
}
