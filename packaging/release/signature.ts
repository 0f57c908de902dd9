/**
 * The signature of a release's checksum: Ed25519 over the bytes of the `.sha256` file, raw, as
 * `openssl pkeyutl` makes and verifies it. The key comes from a file outside of the tree. Sources:
 * RFC 8032; openssl-pkeyutl(1).
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import { readFileSync, realpathSync, statSync } from "node:fs";
import { sep } from "node:path";

/** A key that a release is signed with, or the reason for a refusal. */
export type SigningKey =
  | { readonly ok: true; readonly key: KeyObject }
  | { readonly ok: false; readonly why: string };

/**
 * Reads a private key in PEM (PKCS 8) from `path`. A refusal is a value: a file that is missing,
 * lies in the folder `root`, or is open to others; a key that is none, or of another kind.
 */
export function readSigningKey(path: string, root: string): SigningKey {
  const refused = (why: string): SigningKey => ({ ok: false, why });
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return refused(`${path} is not there`);
  if (realpathSync(path).startsWith(realpathSync(root) + sep))
    return refused(`${path} lies in the project's folder: a signing key is kept outside of it`);
  if (stat.isFile() && (stat.mode & 0o077) !== 0)
    return refused(`${path} is open to others: chmod 600 ${path}`);
  const bytes = readFileSync(path);
  try {
    const key = createPrivateKey(bytes);
    if (key.asymmetricKeyType === "ed25519") return { ok: true, key };
    return refused(
      `${path} holds a key of the kind ${key.asymmetricKeyType}, and a release is signed with ed25519`,
    );
  } catch {
    return refused(`${path} holds no private key in PEM without a passphrase`);
  } finally {
    bytes.fill(0);
  }
}

/** The 64 bytes of the signature. The same key and the same bytes give the same signature. */
export function signatureOf(bytes: Uint8Array, key: KeyObject): Uint8Array {
  return sign(null, bytes, key);
}

/** The public key in PEM, as `openssl pkey -pubout` prints it. */
export function publicKeyText(key: KeyObject): string {
  return createPublicKey(key).export({ type: "spki", format: "pem" }).toString();
}
