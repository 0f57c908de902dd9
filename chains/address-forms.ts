/**
 * Addresses that come from people and shops, on a network or on one of several. Apart from
 * families.ts, because the code between a job and the key asks the family itself.
 */
import { type Refusal, refuse } from "../base/fault.ts";
import { findFamily } from "./families.ts";
import type { ParsedAddress } from "./family.ts";

/**
 * Reads an address on a network. Refuses with ADDRESS_*, also for a network of no family, which a
 * job that was refused may name.
 */
export function parseAddress(text: string, network: string): ParsedAddress {
  return (
    findFamily(network)?.parseAddress(text, network) ??
    refuse("ADDRESS_FORMAT", "the network is of no family")
  );
}

/**
 * Reads an address whose network is not known: its canonical forms on any of these networks, at
 * least one. Refuses with ADDRESS_*, with the reason of the network whose form it is nearest to.
 */
export function parseAddressOnAny(text: string, networks: readonly string[]): AddressForms {
  const forms = new Set<string>();
  let closest: Refusal = refuse("ADDRESS_FORMAT");
  for (const network of networks) {
    const parsed = parseAddress(text, network);
    if (parsed.ok) forms.add(parsed.address);
    else if (parsed.code !== "ADDRESS_FORMAT") closest = parsed;
  }
  return forms.size > 0 ? { ok: true, addresses: [...forms] } : closest;
}

/** The canonical forms of one text, at least one. */
export type AddressForms = { readonly ok: true; readonly addresses: readonly string[] } | Refusal;
