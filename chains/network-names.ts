/** Names of networks apart from any configured chain. Pure. Source: CAIP-2. */
import { mainNetwork as evm } from "./evm/network.ts";
import { familyOf } from "./families.ts";
import type { AddressSpaceName } from "./family.ts";
import { mainNetwork as tron } from "./tron/network.ts";
import { mapUtxoNetworks } from "./utxo/network.ts";
import { mainNetwork as xrp } from "./xrp/network.ts";

/** The best known network of each address space, for an address whose network is not known. */
export const mainNetworkByAddressSpace: Readonly<Record<AddressSpaceName, string>> = {
  evm,
  tron,
  ...mapUtxoNetworks(({ id }) => id),
  xrp,
};

/** The networks that share addresses with a network of our own (`AddressSpace.networks`). */
export function addressSpaceOf(network: string): string {
  return familyOf(network).addressSpace.networks;
}
