/**
 * Input of the registering process in addition to its secrets, and its answer, which holds no
 * secret. Only types.
 */
import type { Code } from "../../base/codes.ts";
import type { Egress } from "../../base/egress.ts";
import type { SignerTranscriptProofs } from "../../protocol/pairing.ts";

export interface RegisteringSettings {
  readonly gatewayUrl: string;
  readonly transcript: string;
  readonly proven: SignerTranscriptProofs; // by the process with the keys
  readonly egress?: Egress | undefined; // left out: directly, with the machine's own certificates
}

/** The gateway's grant, verified against the key that apiKey names. */
export interface VerifiedGrant {
  readonly agent: string;
  readonly merchant: string;
  readonly ledgerEpoch: number;
  readonly gatewayKey: string; // Ed25519 public key, hex
  readonly keyId: string;
  readonly shortCode: string; // both sides print it
}

export type RegisteringAnswer =
  | ({ readonly ok: true } & VerifiedGrant)
  | { readonly ok: false; readonly code: Code; readonly message: string; readonly hint: string }; // "" the code's own
