/**
 * EVM addresses: read and check (EIP-55), from a public key (Yellow Paper, appendix F), and deposit
 * addresses under an account xpub. No network, no disk, and no private key.
 */

import { type Refusal, refuse } from "../../base/fault.ts";
import { childPointOf } from "../curve/account-node.ts";
import { keccak256 } from "../curve/keccak.ts";
import { hashOfPoint, pointOf } from "../curve/point.ts";

const shape = /^0x[0-9a-fA-F]{40}$/;
const zero = "0".repeat(40);
/** One payment reads the same few addresses a dozen times, and each checksum costs a hash. */
const checksumsMax = 4096;
const checksums = new Map<string, string>();

/**
 * Reads an address: 0x and 40 hex digits. Mixed case must carry its EIP-55 checksum; all lower and
 * all upper case carry no checksum and are accepted. Returns the EIP-55 form. Refuses with
 * ADDRESS_FORMAT, ADDRESS_CHECKSUM or ADDRESS_ZERO.
 */
export function parseAddress(
  text: string,
): { readonly ok: true; readonly address: string } | Refusal {
  if (typeof text !== "string" || !shape.test(text))
    return refuse("ADDRESS_FORMAT", "it wants 0x and 40 hex digits");
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
 */
export function addressOfPublicKey(publicKey: Uint8Array): string {
  return addressOfBytes(hashOfPoint(pointOf(publicKey)));
}

/**
 * The EIP-55 address at path 0/`addressIndex` (0 … 2^31-1) under an account's extended public key.
 * @throws ADDRESS_XPUB when `xpub` is not an account's extended public key, ADDRESS_INDEX when
 * there is no such child
 */
export function depositAddressOf(xpub: string, addressIndex: number): string {
  return addressOfBytes(hashOfPoint(childPointOf(xpub, addressIndex)));
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

function checksummed(lower: string): string {
  const known = checksums.get(lower);
  if (known !== undefined) return known;
  const address = checksum(lower);
  if (checksums.size >= checksumsMax) checksums.clear();
  checksums.set(lower, address);
  return address;
}

function checksum(lower: string): string {
  const hash = keccak256(Buffer.from(lower));
  const upper = lower.toUpperCase();
  let address = "0x";
  for (let i = 0; i < lower.length; i++) {
    const byte = hash[i >> 1] as number;
    const nibble = i % 2 === 0 ? byte >> 4 : byte & 15;
    address += (nibble >= 8 ? upper : lower).charAt(i);
  }
  return address;
}
