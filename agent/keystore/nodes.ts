/**
 * The accounts of a wallet: each belongs to one family and holds one node above its keys. The
 * family defines the derivation paths and the public names of accounts. Secrets go in and out as
 * Secret and stay bytes; the family gets only public halves. Sources: BIP-32, BIP-44, BIP-84.
 */

import { createHash, createHmac } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1";
import { ripemd160 } from "@noble/hashes/legacy";
import { AgentError, invariant } from "../../base/fault.ts";
import { fastCurve } from "../../chains/curve/fast-curve.ts";
import { families } from "../../chains/families.ts";
import type { AddressSpaceName, NamedAccount } from "../../chains/family.ts";
import { walletFingerprintOf } from "../../protocol/identity.ts";
import type { PairedAccount } from "../../protocol/messages.ts";
import { allocateFixedBytes, copyToFixedBytes } from "../files/fixed-bytes.ts";
import { Secret } from "./secret.ts";

/*
 * Private derivation of BIP-32 on bytes that are wiped. The usual libraries use numbers and hex
 * text, which cannot be erased and which a copy of the memory shows. Curve points come from
 * libsecp256k1 as WebAssembly, which wipes its copy of the key. Without WebAssembly they come from
 * noble, whose numbers stay until they are collected. Sources: BIP-32, SEC 1.
 */

/** A private key and its chain code, 32 bytes each; the holder wipes both. */
interface ExtendedKey {
  readonly key: Uint8Array;
  readonly chainCode: Uint8Array;
}

/** The first hardened index. */
const hardened = 0x80000000;

const order = Buffer.from(
  "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
  "hex",
);
const masterLabel = Buffer.from("Bitcoin seed");

type PointOf = (key: Uint8Array) => Uint8Array;

/** For runtimes without WebAssembly (--jitless). */
export const compressedPublicKeyByNoble: PointOf = (key) => secp256k1.getPublicKey(key, true);

/** Returns the compressed public key (33 bytes) of a private one. */
export const compressedPublicKeyOf: PointOf = fastCurve?.pointOf ?? compressedPublicKeyByNoble;

type SignatureOf = (digest: Uint8Array, key: Uint8Array) => Uint8Array;

/** For runtimes without WebAssembly (--jitless). */
export const signatureByNoble: SignatureOf = (digest, key) =>
  secp256k1.sign(digest, key, { lowS: true }).toBytes("compact");

/** Returns r(32) ‖ s(32), s low, of a private key over a digest of 32 bytes. */
export const signatureOf: SignatureOf = fastCurve?.signCompact ?? signatureByNoble;

/**
 * Returns the master node of a seed (BIP-32, "Master key generation"). @throws AgentError
 * KEYSTORE_DERIVATION
 */
function masterOf(seed: Uint8Array): ExtendedKey {
  const digest = createHmac("sha512", masterLabel).update(seed).digest();
  try {
    const key = copyToFixedBytes(digest.subarray(0, 32));
    if (!isKey(key)) throw withoutKey();
    return { key, chainCode: copyToFixedBytes(digest.subarray(32)) };
  } finally {
    digest.fill(0);
  }
}

/**
 * CKDpriv of BIP-32; the caller keeps the parent. @throws AgentError KEYSTORE_DERIVATION for about
 * one index in 2^127
 */
function childOf(parent: ExtendedKey, index: number): ExtendedKey {
  const data = allocateFixedBytes(37);
  if (index >= hardened) data.set(parent.key, 1);
  else data.set(compressedPublicKeyOf(parent.key), 0);
  new DataView(data.buffer).setUint32(33, index);
  const digest = createHmac("sha512", parent.chainCode).update(data).digest();
  data.fill(0);
  try {
    const key = sumOf(digest.subarray(0, 32), parent.key);
    if (key === null) throw withoutKey();
    return { key, chainCode: copyToFixedBytes(digest.subarray(32)) };
  } finally {
    digest.fill(0);
  }
}

/** Returns the first four bytes of HASH160 of the public key, by which a child names its parent. */
function fingerprintOf({ key }: ExtendedKey): number {
  const hash = ripemd160(createHash("sha256").update(compressedPublicKeyOf(key)).digest());
  return new DataView(hash.buffer, hash.byteOffset).getUint32(0);
}

/** Wipes key and chain code. A second call is harmless. */
function wipeKey({ key, chainCode }: ExtendedKey): void {
  key.fill(0);
  chainCode.fill(0);
}

/**
 * Returns tweak + key mod n, big-endian; null if the tweak is n or more, or the sum is 0: then
 * there is no child.
 */
function sumOf(tweak: Uint8Array, key: Uint8Array): Uint8Array | null {
  if (Buffer.compare(tweak, order) >= 0) return null;
  const sum = allocateFixedBytes(32);
  let carry = 0;
  for (let at = 31; at >= 0; at--) {
    carry += (tweak[at] as number) + (key[at] as number);
    sum[at] = carry & 0xff;
    carry >>= 8;
  }
  if (carry === 1 || Buffer.compare(sum, order) >= 0) subtractOrder(sum);
  if (sum.some((byte) => byte !== 0)) return sum;
  return null;
}

/** The borrow from the highest byte equals the carry into it. */
function subtractOrder(sum: Uint8Array): void {
  let borrow = 0;
  for (let at = 31; at >= 0; at--) {
    const left = (sum[at] as number) - (order[at] as number) - borrow;
    sum[at] = left & 0xff;
    borrow = left < 0 ? 1 : 0;
  }
}

function isKey(key: Uint8Array): boolean {
  return Buffer.compare(key, order) < 0 && key.some((byte) => byte !== 0);
}

function withoutKey(): AgentError {
  return new AgentError("KEYSTORE_DERIVATION", "none", "there is no key at a path that is needed");
}

/**
 * The bytes of an account node: key(32) ‖ chainCode(32) ‖ fingerprint of its parent(4), for the
 * standard extended public key.
 */
export const accountNodeLength = 68;

/** m / purpose' / coin type' / account' */
const accountDepth = 3;

/** One account of a wallet; its node is m/purpose'/coin type'/number' of the family. */
export interface WalletAccount {
  readonly family: AddressSpaceName;
  readonly purpose: NamedAccount["purpose"];
  readonly number: number;
  readonly node: Secret;
}

/**
 * Derives the accounts of these families from a BIP-39 seed (64 bytes), which the caller wipes.
 * @throws AgentError KEYSTORE_DERIVATION if one of the paths has no key
 */
export function deriveAccounts(
  seed: Uint8Array,
  names: readonly AddressSpaceName[],
): readonly WalletAccount[] {
  invariant(seed.length === 64, "a BIP-39 seed has 64 bytes");
  const master = masterOf(seed);
  try {
    return names.flatMap((family) => accountsUnder(master, family));
  } finally {
    wipeKey(master);
  }
}

function accountsUnder(master: ExtendedKey, family: AddressSpaceName): readonly WalletAccount[] {
  const { purpose, coinType, accounts } = families[family].paths;
  const above = childOf(master, purpose + hardened);
  try {
    const coin = childOf(above, coinType + hardened);
    try {
      return accounts.map((account) => ({
        family,
        ...account,
        node: nodeOf(coin, account.number),
      }));
    } finally {
      wipeKey(coin);
    }
  } finally {
    wipeKey(above);
  }
}

/** Returns the address of a hot wallet. */
export function hotWalletAddress(account: WalletAccount): string {
  const key = hotWalletKey(account);
  try {
    return addressOfKey(account.family, key);
  } finally {
    key.wipe();
  }
}

/** Returns the private key of a hot wallet, 32 bytes; the caller wipes it. For the vault. */
export function hotWalletKey({ family, purpose, node }: WalletAccount): Secret {
  invariant(purpose === "hot", "a hot wallet pays");
  return keyBelow(node, families[family].paths.hotWalletKey);
}

/**
 * Returns the private key of one deposit address, 32 bytes; the caller wipes it. Only for the
 * vault, at the moment of signing. A leaked key and the account's id together give the account's
 * own key, so it never leaves the vault.
 * @throws AgentError KEYSTORE_DERIVATION if there is no key at that index
 */
export function depositKey({ family, purpose, node }: WalletAccount, index: number): Secret {
  invariant(purpose === "deposits", "deposit addresses lie below a deposit account");
  invariant(
    Number.isSafeInteger(index) && index >= 0 && index < hardened,
    "an address index is unhardened",
  );
  return keyBelow(node, [...families[family].paths.deposits, index]);
}

/** Returns the address of a private key. */
export function addressOfKey(family: AddressSpaceName, key: Secret): string {
  return families[family].accounts.addressOf(compressedPublicKeyOf(key.bytes));
}

/** Returns an account's public name. A hot wallet's only public part is its address. */
export function pairedAccountOf(account: WalletAccount): PairedAccount {
  const { family, purpose } = account;
  return {
    family,
    purpose,
    id: purpose === "hot" ? hotWalletAddress(account) : depositsId(account),
  };
}

/** Returns the accounts' public names, in their order. */
export function pairedAccountsOf(accounts: readonly WalletAccount[]): readonly PairedAccount[] {
  return accounts.map(pairedAccountOf);
}

/**
 * Returns for each account, in order, a proof of its key: signatures over `digest` (32 bytes),
 * which names one pairing.
 */
export function proveAccounts(
  accounts: readonly WalletAccount[],
  digest: Uint8Array,
): readonly string[] {
  invariant(digest.length === 32, "a digest has 32 bytes");
  return accounts.map((account) => {
    const key =
      account.purpose === "hot"
        ? hotWalletKey(account)
        : new Secret(copyToFixedBytes(extendedKeyIn(account.node).key));
    try {
      const proof = families[account.family].accounts.proofOf(
        pairedAccountOf(account),
        digest,
        signatureOf(digest, key.bytes),
      );
      invariant(proof !== null, "a key's own signature names the key");
      return proof;
    } finally {
      key.wipe();
    }
  });
}

/** Returns the fingerprint of the wallet with these accounts. */
export function walletFingerprintOfAccounts(accounts: readonly WalletAccount[]): string {
  return walletFingerprintOf(pairedAccountsOf(accounts));
}

/** Zeroes every node. A second call is harmless. */
export function wipeAccounts(accounts: readonly WalletAccount[]): void {
  for (const { node } of accounts) node.wipe();
}

/** Returns the public id of a deposit account: its complete public half. */
function depositsId({ family, number, node }: WalletAccount): string {
  const { key, chainCode } = extendedKeyIn(node);
  const parentFingerprint = new DataView(node.bytes.buffer, node.bytes.byteOffset).getUint32(64);
  const publicHalf = {
    publicKey: compressedPublicKeyOf(key),
    chainCode: chainCode.slice(),
    parentFingerprint,
  };
  return families[family].accounts.depositsIdOf({
    ...publicHalf,
    depth: accountDepth,
    index: number + hardened,
  });
}

function nodeOf(coin: ExtendedKey, number: number): Secret {
  const child = childOf(coin, number + hardened);
  const node = allocateFixedBytes(accountNodeLength);
  node.set(child.key, 0);
  node.set(child.chainCode, 32);
  new DataView(node.buffer).setUint32(64, fingerprintOf(coin));
  wipeKey(child);
  return new Secret(node);
}

/** Derives a key along a path, and wipes every node on the way. */
function keyBelow(node: Secret, path: readonly number[]): Secret {
  invariant(path.length > 0, "no key of an account is its node's own");
  let at = extendedKeyIn(node);
  for (const [depth, index] of path.entries()) {
    const child = childOf(at, index);
    if (depth > 0) wipeKey(at);
    at = child;
  }
  at.chainCode.fill(0);
  return new Secret(at.key);
}

/** Returns views into the node's own bytes, so nothing is left to wipe. */
function extendedKeyIn(node: Secret): ExtendedKey {
  const { bytes } = node;
  invariant(bytes.length === accountNodeLength, "an account node has 68 bytes");
  return { key: bytes.subarray(0, 32), chainCode: bytes.subarray(32, 64) };
}
