/**
 * Proofs that somebody holds the key of an EVM account: the hot address, or the account node behind
 * an extended public key. A proof is r(32) ‖ s(32) ‖ y parity of R(1) as hex, over the digest of
 * the transcript that names the account. No private key, no network. It is checked once a pairing,
 * so noble's speed is enough and the gateway needs no WebAssembly. Sources: SEC 1 version 2,
 * section 4.1.6; docs/protocol.md section 3.2.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import type { NamedAccount } from "../family.ts";
import { accountKeyOf, addressOfPublicKey } from "./address.ts";

const form = /^[0-9a-f]{128}0[01]$/;

/**
 * Whether the account's own key made `proof` over `digest` (32 bytes). False for anything that is
 * not a proof at all.
 * @throws AgentError ADDRESS_XPUB when an account for deposits has no account's extended public key
 * @public
 */
export function accountProofFits(account: NamedAccount, digest: Uint8Array, proof: string): boolean {
  const publicKey = signerOf(digest, proof);
  if (publicKey === null) return false;
  return account.purpose === "hot"
    ? addressOfPublicKey(publicKey) === account.id
    : Buffer.compare(publicKey, accountKeyOf(account.id)) === 0;
}

/**
 * The proof as text: of r(32) ‖ s(32) under the account's key, whose parity is found by trying
 * both. Null when neither fits.
 * @public
 */
export function accountProofOf(account: NamedAccount, digest: Uint8Array, signature: Uint8Array): string | null {
  const text = Buffer.from(signature).toString("hex");
  return [`${text}00`, `${text}01`].find((proof) => accountProofFits(account, digest, proof)) ?? null;
}

/**
 * The compressed public key (33 bytes) that made the proof, or null; the malleated half of s is no
 * proof.
 */
function signerOf(digest: Uint8Array, proof: string): Uint8Array | null {
  if (!form.test(proof)) return null;
  try {
    const signature = secp256k1.Signature.fromCompact(proof.slice(0, 128)).addRecoveryBit(Number(proof.slice(128)));
    return signature.hasHighS() ? null : signature.recoverPublicKey(digest).toRawBytes(true);
  } catch {
    return null;
  }
}
