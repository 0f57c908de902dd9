/** Payees of deposits, by network. Offline. */
import type { Payee } from "./accounts.ts";
import { familyOf } from "./families.ts";

/** The address and the tag that a customer types for a deposit address of a network. */
export function payeeOf(network: string, depositAddress: string): Payee {
  return familyOf(network).accounts.payeeOf(depositAddress);
}

/**
 * True if the deposits of a network come to the hot wallet itself, each with a tag of its own.
 * Nothing is swept there, and a deposit address has no balance of its own.
 */
export function hasTags(network: string): boolean {
  return familyOf(network).accounts.deposits === "tags";
}
