/**
 * EVM addresses: read and check (EIP-55), from a public key (Yellow Paper, appendix F), and deposit
 * addresses under an account xpub (BIP-32, BIP-44). No network, no disk, and no private key: an
 * extended private key is refused.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import { keccak_256 } from "@noble/hashes/sha3";
import { HDKey } from "@scure/bip32";
import { AgentError, type Refusal, refuse } from "../../protocol/fault.ts";

const shape = /^0x[0-9a-fA-F]{40}$/;
const zero = "0".repeat(40);
const hardened = 0x80000000;
/** Depth of m/purpose'/coin'/account', the only xpub that is ever exported. */
const accountDepth = 3;
/** Parents kept, oldest out first: deriving one anew costs as much as a child. */
const parentsMax = 1024;
const parents = new Map<string, HDKey>();
/** One payment reads its few addresses a dozen times, and each checksum is a hash. */
const checksumsMax = 4096;
const checksums = new Map<string, string>();

/**
 * Reads an address: 0x and 40 hex digits. Mixed case must carry its EIP-55 checksum; all lower and
 * all upper case carry none and are taken. Answers with the EIP-55 form. Refuses with
 * ADDRESS_FORMAT, ADDRESS_CHECKSUM or ADDRESS_ZERO.
 * @public
 */
export function parseAddress(text: string): { readonly ok: true; readonly address: string } | Refusal {
  if (typeof text !== "string" || !shape.test(text)) return refuse("ADDRESS_FORMAT");
  const digits = text.slice(2);
  const lower = digits.toLowerCase();
  if (lower === zero) return refuse("ADDRESS_ZERO");
  const address = checksummed(lower);
  const hasNoCase = digits === lower || digits === digits.toUpperCase();
  return hasNoCase || address === text ? { ok: true, address } : refuse("ADDRESS_CHECKSUM");
}

/**
 * The EIP-55 address of a secp256k1 public key: 33 bytes, or 65 bytes beginning with 4. @throws
 * ADDRESS_PUBLIC_KEY
 * @public
 */
export function addressOfPublicKey(publicKey: Uint8Array): string {
  return addressOfBytes(addressBytesOfPoint(uncompressed(publicKey)));
}

/**
 * The EIP-55 address at path 0/`addressIndex` (0 … 2^31-1) under an account's extended public key.
 * The parent is kept between calls.
 * @throws ADDRESS_XPUB when `xpub` is not an account's extended public key, ADDRESS_INDEX when
 * there is no such child
 * @public
 */
export function depositAddressOf(xpub: string, addressIndex: number): string {
  if (!Number.isSafeInteger(addressIndex) || addressIndex < 0 || addressIndex >= hardened) {
    throw new AgentError("ADDRESS_INDEX", "none", "address index is outside 0 … 2^31-1", { addressIndex });
  }
  const child = childOf(externalParentOf(xpub), addressIndex);
  if (child.publicKey === null) throw new AgentError("ADDRESS_XPUB", "none", "extended key without a public key");
  return addressOfPublicKey(child.publicKey);
}

/**
 * The compressed public key (33 bytes) of an account's extended public key. @throws ADDRESS_XPUB
 * @public
 */
export function accountKeyOf(xpub: string): Uint8Array {
  const { publicKey } = parseXpub(xpub);
  if (publicKey === null) throw new AgentError("ADDRESS_XPUB", "none", "extended key without a public key");
  return publicKey;
}

export function isZeroAddress(address: string): boolean {
  return address === `0x${zero}`;
}

/** The EIP-55 form of 20 bytes. */
export function addressOfBytes(bytes: Uint8Array): string {
  return checksummed(Buffer.from(bytes).toString("hex"));
}

/** The 20 bytes of an address in any form that `parseAddress` takes. */
export function addressBytes(address: string): Uint8Array {
  return Uint8Array.from(Buffer.from(address.slice(2), "hex"));
}

/**
 * The 20 bytes for an uncompressed point (65 bytes), without checking that it lies on the curve.
 */
export function addressBytesOfPoint(point: Uint8Array): Uint8Array {
  return keccak_256(point.subarray(1)).slice(12);
}

function checksummed(lower: string): string {
  const known = checksums.get(lower);
  if (known !== undefined) return known;
  const address = checksum(lower);
  if (checksums.size >= checksumsMax) checksums.clear();
  checksums.set(lower, address);
  return address;
}

function checksum(lower: string): string {
  const hash = keccak_256(lower);
  const upper = lower.toUpperCase();
  let address = "0x";
  for (let i = 0; i < lower.length; i++) {
    const byte = hash[i >> 1] as number;
    const nibble = i % 2 === 0 ? byte >> 4 : byte & 15;
    address += (nibble >= 8 ? upper : lower).charAt(i);
  }
  return address;
}

function uncompressed(publicKey: Uint8Array): Uint8Array {
  try {
    return secp256k1.Point.fromHex(publicKey).toBytes(false);
  } catch (cause) {
    throw new AgentError("ADDRESS_PUBLIC_KEY", "none", "not a point of secp256k1", { bytes: publicKey.length }, { cause });
  }
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
  // The prefix is looked at first, so that an extended private key pasted by mistake is never
  // decoded.
  if (!xpub.startsWith("xpub") || xpub.length > 120) throw new AgentError("ADDRESS_XPUB", "none", "not an extended public key");
  let account: HDKey;
  try {
    account = HDKey.fromExtendedKey(xpub);
  } catch {
    // No cause: the library's message may quote the key.
    throw new AgentError("ADDRESS_XPUB", "none", "extended public key does not decode");
  }
  if (account.privateKey !== null || account.depth !== accountDepth || account.index < hardened) {
    throw new AgentError("ADDRESS_XPUB", "none", "not the extended public key of an account", { depth: account.depth });
  }
  return account;
}

function childOf(parent: HDKey, index: number): HDKey {
  const child = parent.deriveChild(index);
  // BIP-32: about one index in 2^127 has no child; the library then silently answers with the next
  // one.
  if (child.index !== index) throw new AgentError("ADDRESS_INDEX", "none", "no child at this index", { addressIndex: index });
  return child;
}
