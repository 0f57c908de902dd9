/**
 * Public keys under an account's extended public key (BIP-32, BIP-44), for the families on
 * secp256k1. No network, no disk, and no private key: an extended private key is refused.
 */
import { createHmac } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1";
import { HDKey } from "@scure/bip32";
import { AgentError } from "../../base/fault.ts";
import type { KeyPaths, PublicKeyNode } from "../family.ts";

const hardened = 0x80000000;
/** Depth of m/purpose'/coin'/account', the only xpub that is ever exported. */
const accountDepth = 3;
/**
 * Most parents that are kept; the oldest goes first. Deriving a parent again costs as much as a
 * child.
 */
const parentsMax = 1024;
const parents = new Map<string, ParentNode>();
/**
 * Most children that are kept, of all parents; the oldest goes first. An address is derived when it
 * is looked at, and again when it leaves.
 */
const childrenMax = 4096;
const children = new Map<string, Uint8Array>(); // long form (65 bytes) by account and index

type Point = typeof secp256k1.Point.BASE;

/** The parent of all children 0/index, with its point, whose root is taken once. */
interface ParentNode {
  readonly key: Uint8Array; // compressed, 33 bytes
  readonly chainCode: Uint8Array; // 32 bytes
  readonly point: Point;
}

/**
 * The derivation paths of a family's keys. Account 0 pays from 0/0, account 1 receives at 0/index.
 * They are two accounts, because an account's extended public key and one leaked child key give the
 * account's key.
 */
export function keyPathsOfCoinType(coinType: number): KeyPaths {
  const accounts = [
    { purpose: "hot", number: 0 },
    { purpose: "deposits", number: 1 },
  ] as const;
  return { purpose: 44, coinType, accounts, hotWalletKey: [0, 0], deposits: [0] };
}

/** The extended public key of a node, as any other wallet shows it. */
export function extendedKeyOf(node: PublicKeyNode): string {
  return new HDKey(node).publicExtendedKey;
}

/**
 * The compressed public key (33 bytes) at path 0/`addressIndex` (0 … 2^31-1) under an account's
 * extended public key. The parent is kept between calls.
 * @throws ADDRESS_XPUB when `xpub` is not an account's extended public key, ADDRESS_INDEX when
 * there is no such child
 */
export function childKeyOf(xpub: string, addressIndex: number): Uint8Array {
  const point = childPointOf(xpub, addressIndex);
  const key = point.slice(0, 33);
  key[0] = 2 + ((point[64] as number) & 1);
  return key;
}

/**
 * As `childKeyOf`, in the long form (65 bytes): a root less than from the compressed one. The child
 * is kept between calls.
 */
export function childPointOf(xpub: string, addressIndex: number): Uint8Array {
  const name = `${addressIndex} ${xpub}`;
  const kept = children.get(name);
  if (kept !== undefined) return kept.slice();
  const point = childPoint(xpub, addressIndex).toBytes(false);
  const oldest = children.keys().next();
  if (children.size >= childrenMax && !oldest.done) children.delete(oldest.value);
  children.set(name, point);
  return point.slice();
}

function childPoint(xpub: string, addressIndex: number): Point {
  if (!Number.isSafeInteger(addressIndex) || addressIndex < 0 || addressIndex >= hardened) {
    throw new AgentError("ADDRESS_INDEX", "none", "address index is outside 0 … 2^31-1", {
      addressIndex,
    });
  }
  const child = childOf(externalParentOf(xpub), addressIndex);
  if (child === null)
    throw new AgentError("ADDRESS_INDEX", "none", "no child at this index", { addressIndex });
  return child;
}

/**
 * The compressed public key (33 bytes) of an account's extended public key. @throws ADDRESS_XPUB
 */
export function accountKeyOf(xpub: string): Uint8Array {
  return publicKeyOf(parseXpub(xpub));
}

function publicKeyOf({ publicKey }: HDKey): Uint8Array {
  if (publicKey === null)
    throw new AgentError("ADDRESS_XPUB", "none", "extended key without a public key");
  return publicKey;
}

function externalParentOf(xpub: string): ParentNode {
  const kept = parents.get(xpub);
  if (kept !== undefined) return kept;
  const node = parseXpub(xpub).deriveChild(0);
  const { chainCode } = node;
  // The library silently returns the next child where there is none.
  if (node.index !== 0 || chainCode === null)
    throw new AgentError("ADDRESS_INDEX", "none", "no child at index 0");
  const key = publicKeyOf(node);
  const parent = { key, chainCode, point: secp256k1.Point.fromHex(key) };
  const oldest = parents.keys().next();
  if (parents.size >= parentsMax && !oldest.done) parents.delete(oldest.value);
  parents.set(xpub, parent);
  return parent;
}

function parseXpub(xpub: string): HDKey {
  // Checks the prefix first, so an extended private key that was pasted by mistake is never
  // decoded.
  if (!xpub.startsWith("xpub") || xpub.length > 120)
    throw new AgentError("ADDRESS_XPUB", "none", "not an extended public key");
  let account: HDKey;
  try {
    account = HDKey.fromExtendedKey(xpub);
  } catch {
    // Without the cause, because the library's message may quote the key.
    throw new AgentError("ADDRESS_XPUB", "none", "extended public key does not decode");
  }
  if (account.privateKey !== null || account.depth !== accountDepth || account.index < hardened) {
    throw new AgentError("ADDRESS_XPUB", "none", "not the extended public key of an account", {
      depth: account.depth,
    });
  }
  return account;
}

/**
 * The public key of a child by CKDpub of BIP-32; null for about one index in 2^127 that has none.
 * Without the library, which decompresses parent and child each time again. All of it is public, so
 * nothing has to take the same time for each tweak.
 */
function childOf({ key, chainCode, point }: ParentNode, index: number): Point | null {
  const asked = Buffer.alloc(37);
  asked.set(key);
  asked.writeUInt32BE(index, 33);
  const tweak = BigInt(
    `0x${createHmac("sha512", chainCode).update(asked).digest("hex").slice(0, 64)}`,
  );
  if (tweak === 0n || tweak >= secp256k1.Point.CURVE().n) return null;
  const child = point.add(secp256k1.Point.BASE.multiplyUnsafe(tweak));
  return child.is0() ? null : child;
}
