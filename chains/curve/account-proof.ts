/**
 * Accounts of the families whose keys lie on secp256k1, and proofs that the agent holds the key of
 * an account: of the hot wallet address, or of the account node behind an extended public key. A
 * proof is r(32) ‖ s(32) ‖ y parity of R(1) as hex, over the digest of the transcript that names
 * the account. No private key, no network. A proof is checked once in a pairing, so noble's speed
 * is enough and the gateway needs no WebAssembly. Sources: SEC 1 version 2, section 4.1.6;
 * docs/protocol.md section 3.2.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import type { Payee } from "../accounts.ts";
import type { FamilyAccounts, NamedAccount } from "../family.ts";
import { accountKeyOf, extendedKeyOf } from "./account-node.ts";

const form = /^[0-9a-f]{128}0[01]$/;

/**
 * The accounts of a family that names a compressed public key (33 bytes) by `addressOf`.
 * `proofFits` is false for any text that is not a proof. It throws ADDRESS_XPUB if an account for
 * deposits has no account's extended public key. `proofOf` finds the parity by trying both.
 */
export function createCompressedKeyAccounts(
  addressOf: (publicKey: Uint8Array) => string,
): FamilyAccounts {
  const proofFits = (account: NamedAccount, digest: Uint8Array, proof: string): boolean => {
    const publicKey = signerOf(digest, proof);
    if (publicKey === null) return false;
    if (account.purpose === "hot") return addressOf(publicKey) === account.id;
    return Buffer.compare(publicKey, accountKeyOf(account.id)) === 0;
  };
  const proofOf = (
    account: NamedAccount,
    digest: Uint8Array,
    signature: Uint8Array,
  ): string | null => {
    const text = Buffer.from(signature).toString("hex");
    return [`${text}00`, `${text}01`].find((proof) => proofFits(account, digest, proof)) ?? null;
  };
  const readKey = (text: string): string | null =>
    /^[t-zT-Z]pub/.test(text) && !text.startsWith("xpub") ? null : text;
  const payeeOf = (address: string): Payee => ({ address, tag: "" });
  const keys = {
    keyLetters: "xpub",
    readKey,
    addressOf,
    depositsIdOf: extendedKeyOf,
    proofFits,
    proofOf,
  };
  return { ...keys, deposits: "addresses", payeeOf };
}

/**
 * The compressed public key (33 bytes) that made the proof, or null. A proof with the malleated
 * half of s counts as none.
 */
function signerOf(digest: Uint8Array, proof: string): Uint8Array | null {
  if (!form.test(proof)) return null;
  try {
    const signature = secp256k1.Signature.fromCompact(proof.slice(0, 128)).addRecoveryBit(
      Number(proof.slice(128)),
    );
    return signature.hasHighS() ? null : signature.recoverPublicKey(digest).toRawBytes(true);
  } catch {
    return null;
  }
}
