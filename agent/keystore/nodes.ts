/**
 * The account nodes a wallet needs, and what is public about them. Everything secret goes in and out as Secret; the BIP-32
 * library's own objects print their keys and never leave this file. Sources: BIP-32, BIP-44, SLIP-44 coin type 60.
 */
import { HDKey } from "@scure/bip32";
import { addressOfPublicKey } from "../../chains/evm/address.ts";
import { AgentError, invariant } from "../../protocol/fault.ts";
import { walletFingerprintOf } from "../../protocol/identity.ts";
import { Secret } from "./secret.ts";

/**
 * An account node: key(32) ‖ chainCode(32) ‖ fingerprint of its parent(4), so that its xpub is the standard one.
 * @public
 */
export const nodeBytes = 68;

const hardened = 0x80000000;
/** m / purpose' / coin type' / account' */
const accountDepth = 3;

/**
 * The nodes of the EVM family: account 0 pays, account 1 receives.
 * @public
 */
export interface AccountNodes {
  readonly account0: Secret; // m/44'/60'/0'
  readonly account1: Secret; // m/44'/60'/1'
}

/**
 * Derives the account nodes of a BIP-39 seed (64 bytes), which stays the caller's to wipe.
 * @throws AgentError KEYSTORE_DERIVATION when one of the paths has no key
 * @public
 */
export function deriveNodes(seed: Uint8Array): AccountNodes {
  invariant(seed.length === 64, "a BIP-39 seed has 64 bytes");
  const root = HDKey.fromMasterSeed(seed);
  const purpose = childOf(root, 44 + hardened);
  const coin = childOf(purpose, 60 + hardened);
  try {
    return { account0: nodeOf(coin, 0), account1: nodeOf(coin, 1) };
  } finally {
    for (const key of [root, purpose, coin]) wipeKey(key);
  }
}

/**
 * The paying address m/44'/60'/0'/0/0 in EIP-55 form.
 * @public
 */
export function hotAddress(account0: Secret): string {
  const account = accountOf(account0, 0);
  const key = hotChild(account);
  try {
    return addressOfPublicKey(publicKeyOf(key));
  } finally {
    for (const each of [account, key]) wipeKey(each);
  }
}

/**
 * The private key of the paying address, 32 bytes; the caller wipes it. For the vault.
 * @public
 */
export function hotKey(account0: Secret): Secret {
  const account = accountOf(account0, 0);
  const key = hotChild(account);
  try {
    invariant(key.privateKey !== null, "a key derived from a private node is private");
    return new Secret(Uint8Array.from(key.privateKey));
  } finally {
    for (const each of [account, key]) wipeKey(each);
  }
}

/**
 * The extended public key of account 1, from which the gateway makes deposit addresses. Never call it with account 0.
 * @public
 */
export function depositXpub(account1: Secret): string {
  const account = accountOf(account1, 1);
  try {
    return account.publicExtendedKey;
  } finally {
    wipeKey(account);
  }
}

/**
 * The fingerprint of the wallet these nodes make.
 * @public
 */
export function walletOf(nodes: AccountNodes): string {
  return walletFingerprintOf({ hotAddress: hotAddress(nodes.account0), depositXpub: depositXpub(nodes.account1) });
}

/**
 * Zeroes both nodes. Twice is harmless.
 * @public
 */
export function wipeNodes(nodes: AccountNodes): void {
  nodes.account0.wipe();
  nodes.account1.wipe();
}

function nodeOf(coin: HDKey, account: number): Secret {
  const key = childOf(coin, account + hardened);
  const node = new Uint8Array(nodeBytes);
  try {
    invariant(key.privateKey !== null && key.chainCode !== null, "a key derived from a private node is private");
    node.set(key.privateKey, 0);
    node.set(key.chainCode, 32);
    new DataView(node.buffer).setUint32(64, key.parentFingerprint);
    return new Secret(node);
  } finally {
    wipeKey(key);
  }
}

function accountOf(node: Secret, account: number): HDKey {
  const bytes = node.bytes;
  invariant(bytes.length === nodeBytes, "an account node has 68 bytes");
  return new HDKey({
    privateKey: bytes.slice(0, 32),
    chainCode: bytes.slice(32, 64),
    depth: accountDepth,
    index: account + hardened,
    parentFingerprint: new DataView(bytes.buffer, bytes.byteOffset).getUint32(64),
  });
}

function hotChild(account: HDKey): HDKey {
  const external = childOf(account, 0);
  try {
    return childOf(external, 0);
  } finally {
    wipeKey(external);
  }
}

function childOf(parent: HDKey, index: number): HDKey {
  let child: HDKey;
  try {
    child = parent.deriveChild(index);
  } catch {
    // No cause: the library's message may quote a key.
    throw new AgentError("KEYSTORE_DERIVATION", "none", "there is no key at a path that is needed");
  }
  // BIP-32: about one index in 2^127 has no key; the library then silently answers with the next one.
  if (child.index !== index) throw new AgentError("KEYSTORE_DERIVATION", "none", "there is no key at a path that is needed");
  return child;
}

function publicKeyOf(key: HDKey): Uint8Array {
  invariant(key.publicKey !== null, "every key has its public half");
  return key.publicKey;
}

function wipeKey(key: HDKey): void {
  key.wipePrivateData();
  key.chainCode?.fill(0); // The library keeps it.
}
