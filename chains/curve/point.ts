/**
 * Points of secp256k1, and the hash by which both families on this curve name an account. Pure.
 * Sources: SEC 1 version 2, section 2.3.4; Yellow Paper, appendix F.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import { AgentError } from "../../base/fault.ts";
import { keccak256 } from "./keccak.ts";

/**
 * The uncompressed point (65 bytes) of a public key: 33 bytes, or 65 bytes beginning with 4.
 * @throws ADDRESS_PUBLIC_KEY
 */
export function pointOf(publicKey: Uint8Array): Uint8Array {
  try {
    return secp256k1.Point.fromHex(publicKey).toBytes(false);
  } catch (cause) {
    throw new AgentError(
      "ADDRESS_PUBLIC_KEY",
      "none",
      "not a point of secp256k1",
      { bytes: publicKey.length },
      { cause },
    );
  }
}

/**
 * The last 20 bytes of the Keccak-256 of an uncompressed point (65 bytes). Does not check that the
 * point lies on the curve.
 */
export function hashOfPoint(point: Uint8Array): Uint8Array {
  return keccak256(point.subarray(1)).slice(12);
}
