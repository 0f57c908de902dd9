/** Answers about several networks at once, and about several slots of one. Offline. */
import { addressSpaceNames, familyOf } from "./families.ts";
import type { AddressSpaceName, FamilyName } from "./family.ts";

/**
 * The address spaces of these networks, each only once, in the order of their table. An unknown
 * network is a bug.
 */
export function addressSpacesOf(networks: readonly string[]): readonly AddressSpaceName[] {
  const found = new Set(networks.map((network) => familyOf(network).addressSpace.name));
  return addressSpaceNames.filter((name) => found.has(name));
}

/** The last of these slots, all of one network. */
export function farthestSlot(network: string, slots: readonly [string, ...string[]]): string {
  const { compare } = familyOf(network).slots;
  return slots.reduce((far, slot) => (compare(slot, far) > 0 ? slot : far));
}

/**
 * The term for the slots of these networks: the chains' own term if they share one, else "slot".
 */
export function slotWord(networks: Iterable<string>): string {
  const words = new Set([...networks].map((network) => familyOf(network).slots.word));
  const [only] = words;
  return words.size === 1 && only !== undefined ? only : "slot";
}

const unnamed: readonly FamilyName[] = ["tron", "xrp"];

/**
 * False where a family's bytes name no network, so what is signed for one network of it may be
 * valid on another.
 */
export function isNetworkInSignedBytes(network: string): boolean {
  return !unnamed.includes(familyOf(network).name);
}
