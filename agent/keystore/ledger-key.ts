/**
 * The ledger's key, derived from the signer's seed. So it comes and goes with the keystore, a new
 * encKey does not change it, and no second secret must be kept. docs/ledger.md section 5. Source:
 * RFC 5869 (HKDF). Touches nothing.
 */
import { hkdfSync } from "node:crypto";
import type { KeystoreContents } from "./keystore.ts";
import { Secret } from "./secret.ts";

const label = "autowithdraw/2 ledger key";
const ledgerKeyBytes = 32;

/** Returns 32 bytes for a LedgerSeal; the caller wipes them. */
export function ledgerKey({ signerSeed }: Pick<KeystoreContents, "signerSeed">): Secret {
  return new Secret(
    new Uint8Array(hkdfSync("sha256", signerSeed.bytes, new Uint8Array(0), label, ledgerKeyBytes)),
  );
}
