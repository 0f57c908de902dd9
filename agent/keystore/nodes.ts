/**
 * The account nodes a wallet needs, and what is public about them. Everything secret goes in and
 * out as Secret, and stays bytes on the way; the BIP-32 library, whose objects print their keys and
 * work on text, gets public halves alone. Sources: BIP-32, BIP-44, SLIP-44 coin type 60.
 */
import { HDKey } from "@scure/bip32";
import { families } from "../../chains/families.ts";
import { invariant } from "../../protocol/fault.ts";
import { walletFingerprintOf } from "../../protocol/identity.ts";
import type { PairedAccount } from "../../protocol/messages.ts";
import { fixedBytes, fixedCopy } from "../files/fixed-bytes.ts";
import { childOf, type ExtendedKey, fingerprintOf, hardened, masterOf, pointOf, signatureOf, wipeKey } from "./bip32.ts";
import { Secret } from "./secret.ts";

/**
 * An account node: key(32) ‖ chainCode(32) ‖ fingerprint of its parent(4), so that its xpub is the
 * standard one.
 * @public
 */
export const nodeBytes = 68;

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
  const made: ExtendedKey[] = [];
  const kept = (key: ExtendedKey): ExtendedKey => {
    made.push(key);
    return key;
  };
  try {
    const purpose = kept(childOf(kept(masterOf(seed)), 44 + hardened));
    const coin = kept(childOf(purpose, 60 + hardened));
    return { account0: nodeOf(coin, 0), account1: nodeOf(coin, 1) };
  } finally {
    made.forEach(wipeKey);
  }
}

/**
 * The paying address m/44'/60'/0'/0/0 in EIP-55 form.
 * @public
 */
export function hotAddress(account0: Secret): string {
  const hot = hotKey(account0);
  try {
    return families.evm.accounts.addressOf(pointOf(hot.bytes));
  } finally {
    hot.wipe();
  }
}

/**
 * The private key of the paying address, 32 bytes; the caller wipes it. For the vault.
 * @public
 */
export function hotKey(account0: Secret): Secret {
  const external = childOf(accountOf(account0), 0);
  try {
    const { key, chainCode } = childOf(external, 0);
    chainCode.fill(0);
    return new Secret(key);
  } finally {
    wipeKey(external);
  }
}

/**
 * The private key of an address for deposits m/44'/60'/1'/0/index, 32 bytes; the caller wipes it.
 * For the vault, which asks at the moment of signing. A leaked one and the account's xpub give the
 * account's own key, so it never leaves that room.
 * @throws AgentError KEYSTORE_DERIVATION where there is no child at that place
 * @public
 */
export function depositKey(account1: Secret, index: number): Secret {
  const external = childOf(accountOf(account1), 0);
  try {
    const { key, chainCode } = childOf(external, index);
    chainCode.fill(0);
    return new Secret(key);
  } finally {
    wipeKey(external);
  }
}

/**
 * The address for deposits at that place, in EIP-55 form.
 * @public
 */
export function addressOfKey(key: Secret): string {
  return families.evm.accounts.addressOf(pointOf(key.bytes));
}

/**
 * The extended public key of account 1, from which the gateway makes deposit addresses. Never call
 * it with account 0.
 * @public
 */
export function depositXpub(account1: Secret): string {
  const { key, chainCode } = accountOf(account1);
  const parentFingerprint = new DataView(account1.bytes.buffer, account1.bytes.byteOffset).getUint32(64);
  // Public from here on: an xpub holds the chain code.
  const publicHalf = { publicKey: pointOf(key), chainCode: chainCode.slice(), parentFingerprint };
  return new HDKey({ ...publicHalf, depth: accountDepth, index: 1 + hardened }).publicExtendedKey;
}

/**
 * The accounts of the wallet as others know them, in the order of a pairing transcript.
 * @public
 */
export function accountsOf({ account0, account1 }: AccountNodes): readonly PairedAccount[] {
  return [
    { family: "evm", purpose: "hot", id: hotAddress(account0) },
    { family: "evm", purpose: "deposits", id: depositXpub(account1) },
  ];
}

/**
 * Proofs that each account's key is here, in the order of `accountsOf`: signatures over `digest`
 * (32 bytes), which names one pairing.
 * @public
 */
export function proveAccounts(nodes: AccountNodes, digest: Uint8Array): readonly string[] {
  invariant(digest.length === 32, "a digest has 32 bytes");
  return accountsOf(nodes).map((account) => {
    const key = account.purpose === "hot" ? hotKey(nodes.account0) : accountKey(nodes.account1);
    try {
      const proof = families[account.family].accounts.proofOf(account, digest, signatureOf(digest, key.bytes));
      invariant(proof !== null, "a key's own signature names the key");
      return proof;
    } finally {
      key.wipe();
    }
  });
}

/**
 * The fingerprint of the wallet these nodes make.
 * @public
 */
export function walletOf(nodes: AccountNodes): string {
  return walletFingerprintOf(accountsOf(nodes));
}

/**
 * Zeroes both nodes. Twice is harmless.
 * @public
 */
export function wipeNodes(nodes: AccountNodes): void {
  nodes.account0.wipe();
  nodes.account1.wipe();
}

function nodeOf(coin: ExtendedKey, account: number): Secret {
  const child = childOf(coin, account + hardened);
  const node = fixedBytes(nodeBytes);
  node.set(child.key, 0);
  node.set(child.chainCode, 32);
  new DataView(node.buffer).setUint32(64, fingerprintOf(coin));
  wipeKey(child);
  return new Secret(node);
}

/** A copy of the account's own private key, 32 bytes; the caller wipes it. */
function accountKey(node: Secret): Secret {
  return new Secret(fixedCopy(accountOf(node).key));
}

/** Views into the node's own bytes, so nothing is left to wipe. */
function accountOf(node: Secret): ExtendedKey {
  const { bytes } = node;
  invariant(bytes.length === nodeBytes, "an account node has 68 bytes");
  return { key: bytes.subarray(0, 32), chainCode: bytes.subarray(32, 64) };
}
