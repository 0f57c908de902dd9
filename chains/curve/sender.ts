/**
 * Recovers the sender from every signature instead of only verifying it. With a wrong parity the
 * bytes would be the transaction of another, empty account, and our slot would wait permanently. No
 * private key, no network.
 */
import { AgentError } from "../../base/fault.ts";
import { hashOfPoint } from "./point.ts";
import { isCanonicalSignature, recoverPublicKey } from "./recover.ts";

/**
 * The parts of a signature r(32) ‖ s(32) ‖ y parity(1) over `digest`, if the sender recovered from
 * it is the address `sender`. `hashOf` gives the hash of an address's point.
 * @throws TRANSACTION_SIGNATURE (not 65 bytes, r or s out of range, s in the upper half, a parity
 * beyond 1), TRANSACTION_SENDER (not the sender's), and as `hashOf`
 */
export function splitSenderSignature(
  digest: Uint8Array,
  signature: Uint8Array,
  sender: string,
  hashOf: (sender: string) => Uint8Array,
): { readonly pair: Uint8Array; readonly parity: 0 | 1 } {
  const pair = signature.subarray(0, 64);
  const parity = signature[64];
  if (signature.length !== 65 || (parity !== 0 && parity !== 1) || !isCanonicalSignature(pair)) {
    const problem = "signature is not r ‖ s in range with s in the lower half, and a parity";
    throw new AgentError("TRANSACTION_SIGNATURE", "none", problem);
  }
  if (!isOfSender(sender, hashOf, recoverPublicKey(digest, pair, parity))) {
    throw new AgentError(
      "TRANSACTION_SENDER",
      "none",
      "the signature was not made by the sender's key",
      { sender },
    );
  }
  return { pair, parity };
}

/**
 * The last point that fitted a sender's address. Its hash is made once; later calls only compare
 * the point.
 */
let known: { readonly sender: string; readonly point: Uint8Array } | null = null;

function isOfSender(
  sender: string,
  hashOf: (sender: string) => Uint8Array,
  point: Uint8Array | null,
): boolean {
  if (point === null) return false;
  if (known?.sender === sender) return Buffer.compare(known.point, point) === 0;
  const isOfAddress = Buffer.compare(hashOfPoint(point), hashOf(sender)) === 0;
  if (isOfAddress) known = { sender, point: Uint8Array.from(point) };
  return isOfAddress;
}
