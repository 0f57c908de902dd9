/**
 * All families of chains, by name and by network. Offline. Source: CAIP-2 for the names of
 * networks.
 */
import { invariant } from "../base/fault.ts";
import { evm } from "./evm/family.ts";
import type {
  AddressSpaceName,
  ConfiguredChain,
  ExpiryExclusion,
  Family,
  PinExclusion,
} from "./family.ts";
import { tron } from "./tron/family.ts";
import { utxoFamilies } from "./utxo/family.ts";
import { xrp } from "./xrp/family.ts";

/**
 * Each family in each of its address spaces, by the name of the address space, in the order in
 * which a wallet lists its accounts.
 */
export const families: Readonly<Record<AddressSpaceName, Family>> = {
  evm,
  tron,
  ...utxoFamilies,
  xrp,
};

/** Every address space, in the same order. */
export const addressSpaceNames = Object.keys(families) as readonly AddressSpaceName[];

const everyFamily: readonly Family[] = Object.values(families);

/**
 * Names for people of the families for which something is true, each once, in the order of the
 * table.
 */
export function titlesOfFamilies(isOne: (family: Family) => boolean): string {
  return [...new Set(everyFamily.filter(isOne).map(({ title }) => title))].join(", ");
}

/** The family of a network that came from outside; undefined for an unknown network. */
export function findFamily(network: string): Family | undefined {
  return everyFamily.find(({ addressSpace: { networks } }) => isWithin(network, networks));
}

function isWithin(network: string, networks: string): boolean {
  return networks.endsWith(":") ? network.startsWith(networks) : network === networks;
}

/**
 * The family of a network that our own table, or a record of ours, names. An unknown network is a
 * bug.
 */
export function familyOf(network: string): Family {
  const family = findFamily(network);
  invariant(family !== undefined, "a network of our own has its family");
  return family;
}

/** The exclusion by expiry of a network's family; null if a slot excludes a second payment. */
export function expiryExclusionOf(network: string): ExpiryExclusion | null {
  const { exclusion } = familyOf(network);
  return exclusion.kind === "expiry" ? exclusion : null;
}

/** The exclusion by the pin of a network's family; null if the chain has no coins. */
export function pinExclusionOf(network: string): PinExclusion | null {
  const { exclusion } = familyOf(network);
  return exclusion.kind === "pin" ? exclusion : null;
}

/** True if only the chain knows an account's first slot: no block takes one below it. */
export function isFirstSlotOnChain(network: string): boolean {
  return findFamily(network)?.slots.first === null;
}

/**
 * True if the fee of a job comes out of its amount. A sweep of coins empties its address: what it
 * left there would be worth less than its fetching, and a higher fee takes nothing from anybody,
 * since the receiver is the own hot wallet. Elsewhere the account pays the fee beside the amount.
 */
export function isFeeInside(network: string, mode: string): boolean {
  return mode === "sweep" && pinExclusionOf(network) !== null;
}

/**
 * True if the gateway's service named a chain's nodes. `nodesFrom` of config.json decides. Without
 * this line the answer is true for chains with exclusion by expiry: there a second payment needs
 * statements of both gateway and nodes, which then have one source.
 */
export function hasGatewayNodes({
  family,
  nodesFrom,
}: Pick<ConfiguredChain, "family" | "nodesFrom">): boolean {
  return nodesFrom === undefined
    ? families[family].exclusion.kind === "expiry"
    : nodesFrom === "gateway";
}

/**
 * The family in an address space whose name came from outside; undefined for an unknown name.
 */
export function findFamilyOfAddressSpace(addressSpace: string): Family | undefined {
  return Object.hasOwn(families, addressSpace)
    ? families[addressSpace as AddressSpaceName]
    : undefined;
}

/** The name of a configured chain's network, CAIP-2. */
export function networkOf(chain: ConfiguredChain): string {
  return families[chain.family].networkOf(chain);
}

/** A slot for the operator, with the chain's own term. */
export function saySlot(network: string, slot: string): string {
  return familyOf(network).slots.say(slot);
}
