/**
 * Public keys under an account's extended public key (BIP-32, BIP-44), for the families on
 * secp256k1. No network, no disk, and no private key: an extended private key is refused.
 */
import { HDKey } from "@scure/bip32";
import { AgentError } from "../../base/fault.ts";
import type { KeyPaths, PublicNode } from "../family.ts";

const hardened = 0x80000000;
/** Depth of m/purpose'/coin'/account', the only xpub that is ever exported. */
const accountDepth = 3;
/**
 * Most parents that are kept; the oldest goes first. Deriving a parent again costs as much as a
 * child.
 */
const parentsMax = 1024;
const parents = new Map<string, HDKey>();

/**
 * The derivation paths of a family's keys. Account 0 pays from 0/0, account 1 receives at 0/index.
 * They are two accounts, because an account's extended public key and one leaked child key give the
 * account's key.
 */
export function pathsOf(coinType: number): KeyPaths {
  const accounts = [
    { purpose: "hot", number: 0 },
    { purpose: "deposits", number: 1 },
  ] as const;
  return { purpose: 44, coinType, accounts, hotWalletKey: [0, 0], deposits: [0] };
}

/** The extended public key of a node, as any other wallet shows it. */
export function extendedKeyOf(node: PublicNode): string {
  return new HDKey(node).publicExtendedKey;
}

/**
 * The compressed public key (33 bytes) at path 0/`addressIndex` (0 … 2^31-1) under an account's
 * extended public key. The parent is kept between calls.
 * @throws ADDRESS_XPUB when `xpub` is not an account's extended public key, ADDRESS_INDEX when
 * there is no such child
 */
export function childKeyOf(xpub: string, addressIndex: number): Uint8Array {
  if (!Number.isSafeInteger(addressIndex) || addressIndex < 0 || addressIndex >= hardened) {
    throw new AgentError("ADDRESS_INDEX", "none", "address index is outside 0 … 2^31-1", { addressIndex });
  }
  return publicKeyOf(childOf(externalParentOf(xpub), addressIndex));
}

/**
 * The compressed public key (33 bytes) of an account's extended public key. @throws ADDRESS_XPUB
 */
export function accountKeyOf(xpub: string): Uint8Array {
  return publicKeyOf(parseXpub(xpub));
}

function publicKeyOf({ publicKey }: HDKey): Uint8Array {
  if (publicKey === null) throw new AgentError("ADDRESS_XPUB", "none", "extended key without a public key");
  return publicKey;
}

function externalParentOf(xpub: string): HDKey {
  const kept = parents.get(xpub);
  if (kept !== undefined) return kept;
  const parent = childOf(parseXpub(xpub), 0);
  const oldest = parents.keys().next();
  if (parents.size >= parentsMax && !oldest.done) parents.delete(oldest.value);
  parents.set(xpub, parent);
  return parent;
}

function parseXpub(xpub: string): HDKey {
  // Checks the prefix first, so an extended private key that was pasted by mistake is never
  // decoded.
  if (!xpub.startsWith("xpub") || xpub.length > 120) throw new AgentError("ADDRESS_XPUB", "none", "not an extended public key");
  let account: HDKey;
  try {
    account = HDKey.fromExtendedKey(xpub);
  } catch {
    // Without the cause, because the library's message may quote the key.
    throw new AgentError("ADDRESS_XPUB", "none", "extended public key does not decode");
  }
  if (account.privateKey !== null || account.depth !== accountDepth || account.index < hardened) {
    throw new AgentError("ADDRESS_XPUB", "none", "not the extended public key of an account", { depth: account.depth });
  }
  return account;
}

function childOf(parent: HDKey, index: number): HDKey {
  const child = parent.deriveChild(index);
  // BIP-32: about one index in 2^127 has no child. For such an index the library silently returns
  // the next child.
  if (child.index !== index) throw new AgentError("ADDRESS_INDEX", "none", "no child at this index", { addressIndex: index });
  return child;
}
