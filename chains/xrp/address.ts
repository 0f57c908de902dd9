/**
 * Addresses of this family: read and check, from a public key, and the X-address, which is one text
 * for an address and a tag. The canonical form is the classic address, base58check in the family's
 * own alphabet, which begins with r. No network, no disk, and no private key. Sources: xrpl.org,
 * "Addresses"; XLS-5 (X-address).
 */
import { base58xrp } from "@scure/base";
import { type Refusal, refuse } from "../../base/fault.ts";
import type { Payee } from "../accounts.ts";
import { pointOf } from "../curve/point.ts";
import { isReservedAddress } from "../curve/reserved.ts";
import { readTag } from "./deposit-tag.ts";
import { hash160, sha256Twice } from "./hash.ts";

/** Prefix(1) ‖ hash of the key(20) ‖ checksum(4). */
const classicShape = /^r[1-9A-HJ-NP-Za-km-z]{24,34}$/;
/** Prefix(2) ‖ hash of the key(20) ‖ flag(1) ‖ tag, little-endian(4) ‖ zeros(4) ‖ checksum(4). */
const extendedShape = /^[XT][1-9A-HJ-NP-Za-km-z]{46}$/;
const classicPrefix = Uint8Array.of(0);
const extendedPrefixes = [Uint8Array.of(0x05, 0x44), Uint8Array.of(0x04, 0x93)] as const; // X of a main network, T of others
const hashBytes = 20;
const checksumBytes = 4;
/** Has a key that everybody knows, and is closed for good: xrpl.org, "Special addresses". */
const genesisAccount = "rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh";

/**
 * Reads a classic address. Returns the same text. Refuses with ADDRESS_FORMAT, ADDRESS_CHECKSUM or
 * ADDRESS_ZERO; the words about an X-address name the address and the tag in it.
 */
export function parseAddress(
  text: string,
): { readonly ok: true; readonly address: string } | Refusal {
  if (typeof text !== "string" || !classicShape.test(text)) return refuseForm(text);
  const bytes = bytesOf(text);
  if (bytes === null) return refuse("ADDRESS_CHECKSUM");
  if (bytes.length !== classicPrefix.length + hashBytes || bytes[0] !== classicPrefix[0])
    return refuse("ADDRESS_FORMAT", "it is no address of an account");
  return bytes.every((byte) => byte === 0) ? refuse("ADDRESS_ZERO") : { ok: true, address: text };
}

function refuseForm(text: unknown): Refusal {
  if (typeof text !== "string") return refuse("ADDRESS_FORMAT", "no text");
  if (!extendedShape.test(text))
    return refuse("ADDRESS_FORMAT", "not r and 24 to 34 characters of this chain's base58");
  const payee = decodeXAddress(text);
  if (payee === null) return refuse("ADDRESS_CHECKSUM");
  const tag = payee.tag === "" ? "" : ` and the tag ${payee.tag}`;
  return refuse(
    "ADDRESS_FORMAT",
    `an X-address; give the address ${payee.address}${tag} in its place`,
  );
}

/** The address of a secp256k1 public key (33 or 65 bytes). @throws ADDRESS_PUBLIC_KEY */
export function addressOfPublicKey(publicKey: Uint8Array): string {
  return addressOfHash(hash160(compressPoint(pointOf(publicKey))));
}

/** The compressed form (33 bytes) of an uncompressed point (65 bytes). */
export function compressPoint(point: Uint8Array): Uint8Array {
  return Uint8Array.of(2 + ((point[64] ?? 0) & 1), ...point.subarray(1, 33));
}

/** The classic address of 20 bytes. */
export function addressOfHash(hash: Uint8Array): string {
  return textOf(classicPrefix, hash);
}

/** The 20 bytes of an address that `parseAddress` took. */
export function hashOfAddress(address: string): Uint8Array {
  return (bytesOf(address) ?? new Uint8Array(0)).slice(classicPrefix.length);
}

/** True for an address whose money nobody can spend: the lowest ones, and the first account. */
export function isReserved(address: string): boolean {
  return address === genesisAccount || isReservedAddress(hashOfAddress(address));
}

/** The X-address of a classic address and its tag; the tag is "" for none. */
export function encodeXAddress({ address, tag }: Payee): string {
  const rest = new Uint8Array(9);
  if (tag !== "") {
    rest[0] = 1;
    new DataView(rest.buffer).setUint32(1, Number(tag), true);
  }
  return textOf(extendedPrefixes[0], hashOfAddress(address), rest);
}

/** The classic address and the tag of an X-address, of any network; null for any other text. */
export function decodeXAddress(text: string): Payee | null {
  const bytes = extendedShape.test(text) ? bytesOf(text) : null;
  if (
    bytes?.length !== 31 ||
    !extendedPrefixes.some((prefix) => prefix[0] === bytes[0] && prefix[1] === bytes[1])
  )
    return null;
  const [hash, flag, rest] = [bytes.subarray(2, 22), bytes[22] as number, bytes.subarray(23)];
  const view = new DataView(rest.buffer, rest.byteOffset, rest.length);
  const tag = flag === 0 ? "" : readTag(`${view.getUint32(0, true)}`);
  const isEmpty = rest.subarray(flag === 1 ? 4 : 0).every((byte) => byte === 0);
  return flag > 1 || !isEmpty || tag === null ? null : { address: addressOfHash(hash), tag };
}

function textOf(...parts: readonly Uint8Array[]): string {
  const bytes = Buffer.concat(parts);
  return base58xrp.encode(Buffer.concat([bytes, checksumOf(bytes)]));
}

/** The bytes of a text in base58 without their checksum; null if it does not fit. */
function bytesOf(text: string): Uint8Array | null {
  const whole = base58xrp.decode(text);
  const bytes = whole.subarray(0, -checksumBytes);
  return Buffer.compare(whole.subarray(-checksumBytes), checksumOf(bytes)) === 0 ? bytes : null;
}

function checksumOf(bytes: Uint8Array): Uint8Array {
  return sha256Twice(bytes).subarray(0, checksumBytes);
}
