/**
 * The ledger's key, derived from the signer's seed: it comes and goes with the keystore, another
 * encKey leaves it as it is, and nobody needs a second secret to keep. docs/ledger.md section 5.
 * Source: RFC 5869 (HKDF). Touches nothing.
 */
import { hkdfSync } from "node:crypto";
import type { KeystoreContents } from "./keystore.ts";
import { Secret } from "./secret.ts";

const label = "autowithdraw/2 ledger key";
const ledgerKeyBytes = 32;

/**
 * 32 bytes for a LedgerSeal; the caller wipes them.
 * @public
 */
export function ledgerKey({ signerSeed }: Pick<KeystoreContents, "signerSeed">): Secret {
  return new Secret(new Uint8Array(hkdfSync("sha256", signerSeed.bytes, new Uint8Array(0), label, ledgerKeyBytes)));
}
