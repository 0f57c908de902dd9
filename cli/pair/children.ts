/**
 * The processes between which pairing divides its secrets. One seals and one proves, both without a
 * network; one registers and has neither mnemonic nor encKey.
 */
import { AgentError } from "../../base/fault.ts";
import type { SignerTranscriptProofs } from "../../protocol/pairing.ts";
import { askChild, askNetworklessChild, type ChildFault } from "../child.ts";
import type {
  RegisteringAnswer,
  RegisteringSettings,
  VerifiedGrant,
} from "../registering/answer.ts";
import type {
  BegunLedger,
  LedgerTask,
  ProvingAnswer,
  SealedWallet,
  SealingAnswer,
  SealingSettings,
} from "../sealing/answer.ts";
import type { Terminal } from "../terminal.ts";

/** The part of the outside that runs our programs. */
type Programs = Pick<Terminal, "runProgram">;

/**
 * Seals the wallet, or checks it against an existing keystore, in the same call.
 * @throws AgentError MNEMONIC_*, ENCKEY_WEAK, KEYSTORE_*, PAIRING_READ_BACK, PAIRING_CHILD
 */
export async function sealWallet(
  terminal: Programs,
  settings: SealingSettings,
  secrets: { readonly mnemonic: Uint8Array; readonly encKey: Uint8Array },
  within: readonly string[] | null,
): Promise<SealedWallet & { readonly made: boolean }> {
  const parts = [Buffer.from(JSON.stringify(settings)), secrets.mnemonic, secrets.encKey];
  const answer = (await ask(terminal, "sealing/main", parts, within ?? [])) as SealingAnswer;
  if (!answer.ok) throw faultOf(answer);
  const { made, wallet, accounts, signerKey } = answer;
  return { made, wallet, accounts, signerKey };
}

/**
 * The signatures of the wallet's own keys over the transcript.
 * @throws AgentError KEYSTORE_*, PAIRING_PROGRESS, PAIRING_TRANSCRIPT, PAIRING_CHILD
 */
export async function proveWallet(
  terminal: Programs,
  transcript: string,
  by: { readonly folder: string; readonly encKey: Uint8Array },
  within: readonly string[] | null,
): Promise<SignerTranscriptProofs> {
  const parts = [Buffer.from(by.folder), by.encKey, Buffer.from(transcript)];
  const answer = (await ask(terminal, "sealing/proving", parts, within ?? [])) as ProvingAnswer;
  if (!answer.ok) throw faultOf(answer);
  const { signerSignature, proofs } = answer;
  return { signerSignature, proofs };
}

function faultOf({ code, message, hint }: ChildFault): AgentError {
  return new AgentError(code, "none", message, hint === undefined ? {} : { hint });
}

/**
 * Registers at the gateway. Calling again with the same keys is harmless: the gateway raises the
 * epoch.
 * @throws AgentError PAIRING_*
 */
export async function registerAgent(
  terminal: Programs,
  settings: RegisteringSettings,
  secrets: { readonly apiKey: Uint8Array; readonly linkSeed: Uint8Array },
): Promise<VerifiedGrant> {
  const parts = [Buffer.from(JSON.stringify(settings)), secrets.apiKey, secrets.linkSeed];
  const answer = (await ask(terminal, "registering/main", parts, [])) as RegisteringAnswer;
  if (!answer.ok) {
    const { code, message, hint } = answer;
    throw new AgentError(code, "unknown", message, hint === "" ? {} : { hint });
  }
  const { agent, merchant, ledgerEpoch, gatewayKey, keyId, shortCode } = answer;
  return { agent, merchant, ledgerEpoch, gatewayKey, keyId, shortCode };
}

/**
 * Begins the ledger under the wallet's keys. At pairing, the same call may be repeated without
 * harm.
 * @throws AgentError KEYSTORE_*, LEDGER_*, PAIRING_FORGED, PAIRING_PROGRESS, COMMAND_CHILD
 */
export async function beginLedger(
  terminal: Programs,
  task: LedgerTask,
  encKey: Uint8Array,
): Promise<BegunLedger> {
  return askNetworklessChild<BegunLedger>(terminal, "./sealing/ledger", [
    Buffer.from(JSON.stringify(task)),
    encKey,
  ]);
}

function ask(
  terminal: Programs,
  name: string,
  parts: readonly Uint8Array[],
  within: readonly string[],
): Promise<unknown> {
  return askChild(terminal, `./${name}`, parts, within, (status) => {
    return new AgentError(
      "PAIRING_CHILD",
      "unknown",
      `${name.replace("/main", "")} ended with ${status ?? "a signal"} before it was done`,
    );
  });
}
