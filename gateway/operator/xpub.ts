/**
 * The account that a merchant who only receives brings: an extended public key, looked at for its
 * kind and depth before anything is made of it. A private key typed by mistake is never repeated.
 * Sources: BIP-32 (serialization), BIP-44 (account level), SLIP-132.
 */
import { families } from "../../chains/families.ts";
import { AgentError } from "../../protocol/fault.ts";
import { receivingFamily } from "../store/receiving-keys.ts";

/** @public */
export interface ReceivingAccount {
  readonly xpub: string;
  readonly firstDepositAddress: string;
}

const accountDepth = 3;
const levels = ["the master key", "a purpose (m/44')", "a coin (m/44'/60')", "an account", "a chain of addresses", "one address"];
const wanted = "give the xpub of an account, such as m/44'/60'/0'";

/**
 * Reads an account's xpub, or says in words what else it is.
 * @public
 */
export function readAccount(text: string): ReceivingAccount | { readonly problem: string } {
  const xpub = text.trim();
  if (/^[a-zA-Z]prv/.test(xpub)) {
    return {
      problem: "that is a private key: whoever has seen it can take the money, so move it to a new wallet and give an xpub",
    };
  }
  if (/^[yzYZ]pub/.test(xpub)) return { problem: `a ${xpub.slice(0, 4)} is for Bitcoin's segwit addresses; ${wanted}` };
  if (/^[tuvUV]pub/.test(xpub)) return { problem: `a ${xpub.slice(0, 4)} is for a test network of Bitcoin; ${wanted}` };
  try {
    return { xpub, firstDepositAddress: families[receivingFamily].depositAddress(xpub, 0) };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return { problem: problemOf(error.context.depth) };
  }
}

function problemOf(depth: unknown): string {
  if (typeof depth !== "number") return `that is no xpub, or a letter of it is wrong; ${wanted}`;
  if (depth === accountDepth) return `the last step to that key is not hardened, so it is no account's; ${wanted}`;
  return `that key is of depth ${depth}, ${levels[depth] ?? "below any address"}, and an account has depth ${accountDepth}; ${wanted}`;
}
