/**
 * Reads the account of a merchant that only receives: an extended public key, whose kind and depth
 * are checked first. A private key typed by mistake is never repeated. Sources: BIP-32
 * (serialization), BIP-44 (account level), SLIP-132.
 */

import { AgentError } from "../../base/fault.ts";
import { addressSpaceNames, findFamilyOfAddressSpace } from "../../chains/families.ts";
import type { AddressSpaceName, Family } from "../../chains/family.ts";

export interface ReceivingAccount {
  readonly family: AddressSpaceName;
  readonly xpub: string;
  readonly firstDepositAddress: string;
}

const accountDepth = 3;
const levels = [
  "the master key",
  "a purpose",
  "a coin",
  "an account",
  "a chain of addresses",
  "one address",
];

/**
 * Reads an account's xpub, or returns the reason why it is not one. A family's name and `=` before
 * it choose the family; without them it belongs to the first family.
 */
export function readReceivingAccount(
  text: string,
): ReceivingAccount | { readonly problem: string } {
  const [, name = addressSpaceNames[0] ?? "", xpub = ""] =
    /^(?:([a-z0-9]{1,16})=)?(.*)$/s.exec(text.trim()) ?? [];
  const family = findFamilyOfAddressSpace(name);
  if (family === undefined)
    return { problem: `what stands before = must be one of ${addressSpaceNames.join(", ")}` };
  const { accounts, paths } = family;
  const wanted = `give the ${accounts.keyLetters} of an account, such as m/${paths.purpose}'/${paths.coinType}'/0'`;
  if (/^[a-zA-Z]prv/.test(xpub)) {
    return {
      problem:
        "that is a private key: anybody who has seen it can take the money, so move it to a new wallet and give an xpub",
    };
  }
  const id = accounts.readKey(xpub);
  if (id === null) {
    if (/^[yzYZ]pub/.test(xpub))
      return { problem: `a ${xpub.slice(0, 4)} is for Bitcoin's segwit addresses; ${wanted}` };
    if (/^[tuvUV]pub/.test(xpub))
      return { problem: `a ${xpub.slice(0, 4)} is for a test network of Bitcoin; ${wanted}` };
    return { problem: `that is no ${accounts.keyLetters}, or a letter of it is wrong; ${wanted}` };
  }
  try {
    return {
      family: family.addressSpace.name,
      xpub: id,
      firstDepositAddress: family.depositAddress(id, 0),
    };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return { problem: problemOf(error.context.depth, family, wanted) };
  }
}

function problemOf(depth: unknown, { paths }: Family, wanted: string): string {
  if (typeof depth !== "number") return `that is no xpub, or a letter of it is wrong; ${wanted}`;
  if (depth === accountDepth)
    return `the last step to that key is not hardened, so it is no account's; ${wanted}`;
  const purpose = `m/${paths.purpose}'`;
  const path = ["", ` (${purpose})`, ` (${purpose}/${paths.coinType}')`][depth] ?? "";
  return `that key is of depth ${depth}, ${levels[depth] ?? "below any address"}${path}, and an account has depth ${accountDepth}; ${wanted}`;
}
