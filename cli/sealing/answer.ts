/** What goes into the sealing processes beside their secrets, and what comes out: nothing secret. */
import { writeSync } from "node:fs";
import { AgentError } from "../../protocol/fault.ts";
import type { ChildFault } from "../child.ts";

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
export type SealingAnswer = ({ readonly ok: true; readonly made: boolean } & SealedWallet) | ChildFault;

/**
 * Does the child's one piece of work and writes the answer, or the fault, as its one line. A bug passes through.
 * @public
 */
export function answerWith(act: () => { readonly ok: true }): void {
  let answer: { readonly ok: true } | ChildFault;
  try {
    answer = act();
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const { code, effect, message, context } = error;
    answer = { ok: false, code, effect, message, ...(typeof context.hint === "string" ? { hint: context.hint } : {}) };
  }
  // Not process.stdout, which for a pipe would load the network module.
  writeSync(1, `${JSON.stringify(answer)}\n`);
}
