/** What goes into the sealing process beside its secrets, and what comes out: nothing secret. Only types. */
import type { Code } from "../../protocol/codes.ts";

/** @public */
export interface SealingSettings {
  readonly folder: string; // the signer's
  readonly networks: readonly string[]; // CAIP-2, sorted
}

/**
 * What is public about a wallet and the signer that holds it.
 * @public
 */
export interface SealedWallet {
  readonly wallet: string; // fingerprint
  readonly address: string; // paying address, EIP-55
  readonly depositXpub: string;
  readonly signerKey: string; // Ed25519 public key, hex
}

/** @public */
export type SealingAnswer =
  | ({ readonly ok: true; readonly made: boolean } & SealedWallet)
  | { readonly ok: false; readonly code: Code; readonly message: string; readonly hint?: string };
