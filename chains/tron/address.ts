/**
 * Tron addresses: read and check (base58check), from a public key, and deposit addresses under an
 * account xpub. An address is 0x41 ‖ the last 20 bytes of the public key's Keccak-256. The only
 * spelling is base58check, which begins with T. Letters keep their case, because there is no
 * lower-case form. Hex is refused, because 20 bytes in hex do not name the chain. No network, no
 * disk, and no private key. Source: the chain's documentation, "Account address format".
 */
import { base58 } from "@scure/base";
import { type Refusal, refuse } from "../../base/fault.ts";
import { childPointOf } from "../curve/account-node.ts";
import { hashOfPoint, pointOf } from "../curve/point.ts";
import { sha256 } from "./hash.ts";

/**
 * Every address has 34 characters, because the prefix byte fixes the first character and the
 * length.
 */
const shape = /^T[1-9A-HJ-NP-Za-km-z]{33}$/;
const hexShape = /^(?:0x)?(?:41)?[0-9a-fA-F]{40}$/;
const lostCase = /^[tT][0-9a-z]{33}$/i;
const prefix = 0x41;
const addressBytesCount = 21;
const checksumBytesCount = 4;
/** One payment reads the same few addresses a dozen times; the oldest goes first. */
const readMax = 4096;
const read = new Map<string, Uint8Array>();

/**
 * Reads an address: T and 33 characters of base58. Returns the same text. Refuses with
 * ADDRESS_FORMAT, ADDRESS_CHECKSUM or ADDRESS_ZERO.
 */
export function parseAddress(
  text: string,
): { readonly ok: true; readonly address: string } | Refusal {
  if (typeof text !== "string" || !shape.test(text))
    return refuse("ADDRESS_FORMAT", whyNoForm(text));
  const bytes = bytesOf(text);
  if (bytes === null) return refuse("ADDRESS_CHECKSUM");
  if (bytes[0] !== prefix) return refuse("ADDRESS_FORMAT", "another prefix than the chain's");
  return bytes.every((byte, at) => at === 0 || byte === 0)
    ? refuse("ADDRESS_ZERO")
    : { ok: true, address: text };
}

/**
 * The address of a secp256k1 public key: 33 bytes, or 65 bytes beginning with 4. @throws
 * ADDRESS_PUBLIC_KEY
 */
export function addressOfPublicKey(publicKey: Uint8Array): string {
  return addressOfHash(hashOfPoint(pointOf(publicKey)));
}

/**
 * The address at path 0/`addressIndex` (0 … 2^31-1) under an account's extended public key.
 * @throws ADDRESS_XPUB when `xpub` is not an account's extended public key, ADDRESS_INDEX when
 * there is no such child
 */
export function depositAddressOf(xpub: string, addressIndex: number): string {
  return addressOfHash(hashOfPoint(childPointOf(xpub, addressIndex)));
}

/** The address of 20 bytes. */
export function addressOfHash(hash: Uint8Array): string {
  const bytes = new Uint8Array(addressBytesCount + checksumBytesCount);
  bytes[0] = prefix;
  bytes.set(hash, 1);
  bytes.set(checksumOf(bytes.subarray(0, addressBytesCount)), addressBytesCount);
  return base58.encode(bytes);
}

/** The address of 21 bytes; null unless they begin with the prefix. */
export function addressOfBytes(bytes: Uint8Array): string | null {
  return bytes.length === addressBytesCount && bytes[0] === prefix
    ? addressOfHash(bytes.subarray(1))
    : null;
}

/** The 21 bytes of an address that `parseAddress` took. */
export function addressBytes(address: string): Uint8Array {
  return (bytesOf(address) ?? new Uint8Array(0)).slice();
}

/**
 * The bytes of a text in base58check without its checksum, or null if the checksum does not fit.
 */
function bytesOf(text: string): Uint8Array | null {
  const known = read.get(text);
  if (known !== undefined) return known;
  const whole = base58.decode(text);
  const bytes = whole.subarray(0, addressBytesCount);
  const checksum = whole.subarray(addressBytesCount);
  if (
    whole.length !== addressBytesCount + checksumBytesCount ||
    Buffer.compare(checksum, checksumOf(bytes)) !== 0
  )
    return null;
  const oldest = read.keys().next();
  if (read.size >= readMax && !oldest.done) read.delete(oldest.value);
  read.set(text, bytes);
  return bytes;
}

/** Base58check: the first four bytes of the SHA-256 of the SHA-256. */
function checksumOf(bytes: Uint8Array): Uint8Array {
  return sha256(sha256(bytes)).subarray(0, checksumBytesCount);
}

function whyNoForm(text: unknown): string {
  if (typeof text !== "string") return "no text";
  if (hexShape.test(text)) return "hex; give the form that begins with T";
  return lostCase.test(text)
    ? "a character is not of base58, or the letters lost their case"
    : "not T and 33 characters of base58";
}
