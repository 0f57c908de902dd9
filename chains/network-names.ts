/** Names of networks apart from any configured chain. Pure. Source: CAIP-2. */
import { mainNetwork as evm } from "./evm/network.ts";
import { familyOf } from "./families.ts";
import type { FamilyName } from "./family.ts";
import { mainNetwork as tron } from "./tron/network.ts";
import { ofEachFamily } from "./utxo/network.ts";
import { mainNetwork as xrp } from "./xrp/network.ts";

/** The network of each family's best known chain, for an address whose network is not known. */
export const mainNetworks: Readonly<Record<FamilyName, string>> = {
  evm,
  tron,
  ...ofEachFamily(({ id }) => id),
  xrp,
};

/** The address space of a network of our own (`Family.addressSpace`). */
export function addressSpaceOf(network: string): string {
  return familyOf(network).addressSpace;
}
