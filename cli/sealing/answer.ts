/**
 * Input of the sealing processes in addition to their secrets, and their answers, which hold no
 * secret.
 */
import { writeSync } from "node:fs";
import { AgentError } from "../../base/fault.ts";
import type { PairedAccount } from "../../protocol/messages.ts";
import type { SignerTranscriptProofs } from "../../protocol/pairing.ts";
import type { ChildFault } from "../child.ts";

export interface SealingSettings {
  readonly folder: string; // the signer's
  readonly networks: readonly string[]; // CAIP-2, sorted
  /** The mnemonic must give one of these as a hot wallet's address; empty if none is expected. */
  readonly expected: readonly string[]; // canonical
  /** Gives the accounts and writes nothing. */
  readonly isLook: boolean;
}

/** The public part of a wallet and of the signer that holds it. */
export interface SealedWallet {
  readonly wallet: string; // fingerprint of all accounts
  readonly accounts: readonly PairedAccount[];
  readonly signerKey: string; // Ed25519 public key, hex
}

/** The facts that pairing has when a ledger begins, as in pairing.json. */
export interface PairingInputs {
  readonly wallet: SealedWallet;
  readonly granted: {
    readonly agent: string;
    readonly merchant: string;
    readonly ledgerEpoch: number;
    readonly gatewayKey: string;
  } | null;
  readonly word: string;
}

/**
 * A ledger to begin. `isRedone` if the old one is gone: then the seal of pairing.json must be
 * right, and the ledger begins locked.
 */
export interface LedgerTask {
  readonly signer: string; // the signer's folder
  readonly pairing: PairingInputs;
  readonly isRedone: boolean;
  readonly nowMs: number;
}

export interface BegunLedger {
  readonly ok: true;
  readonly word: string; // that closes pairing.json
  readonly aside: string; // present location of the old ledger, "" for none
}

export type SealingAnswer =
  | ({ readonly ok: true; readonly made: boolean } & SealedWallet)
  | ChildFault;

export type ProvingAnswer = ({ readonly ok: true } & SignerTranscriptProofs) | ChildFault;

/** An answer, or the fault in its place. */
export type AnswerOrFault<A> = A | ChildFault;

/** A program's answer: that of its only task, or the fault of it. A bug passes through. */
export function answerOf<A extends { readonly ok: true }>(act: () => A): AnswerOrFault<A> {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const { code, effect, message, context } = error;
    return {
      ok: false,
      code,
      effect,
      message,
      ...(typeof context.hint === "string" ? { hint: context.hint } : {}),
    };
  }
}

/** Writes the answer as the program's one line. */
export function writeAnswer(answer: { readonly ok: boolean }): void {
  // Not process.stdout, because for a pipe it would load the network module.
  writeSync(1, `${JSON.stringify(answer)}\n`);
}
