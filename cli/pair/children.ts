/** The two processes that share pairing's secrets between them: one seals and has no network, one registers and has no mnemonic. */
import { AgentError } from "../../protocol/fault.ts";
import { askChild } from "../child.ts";
import type { Granted, RegisteringAnswer, RegisteringSettings } from "../registering/answer.ts";
import type { SealedWallet, SealingAnswer, SealingSettings } from "../sealing/answer.ts";

/**
 * Seals the wallet, or checks it against the keystore that is there; both are the same call.
 * @throws AgentError MNEMONIC_*, ENCKEY_WEAK, KEYSTORE_*, PAIRING_READ_BACK, PAIRING_CHILD
 */
export async function sealWallet(
  settings: SealingSettings,
  secrets: { readonly mnemonic: Uint8Array; readonly encKey: Uint8Array },
  within: readonly string[] | null,
): Promise<SealedWallet & { readonly made: boolean }> {
  const parts = [Buffer.from(JSON.stringify(settings)), secrets.mnemonic, secrets.encKey];
  const answer = (await ask("sealing", parts, within ?? [])) as SealingAnswer;
  if (!answer.ok) {
    const { code, message, hint } = answer;
    throw new AgentError(code, "none", message, hint === undefined ? {} : { hint });
  }
  const { made, wallet, address, depositXpub, signerKey } = answer;
  return { made, wallet, address, depositXpub, signerKey };
}

/**
 * Registers at the gateway. Calling again with the same keys is harmless: the gateway raises the epoch.
 * @throws AgentError PAIRING_*
 */
export async function registerAgent(
  settings: RegisteringSettings,
  secrets: { readonly apiKey: Uint8Array; readonly linkSeed: Uint8Array },
): Promise<Granted> {
  const parts = [Buffer.from(JSON.stringify(settings)), secrets.apiKey, secrets.linkSeed];
  const answer = (await ask("registering", parts, [])) as RegisteringAnswer;
  if (!answer.ok) throw new AgentError(answer.code, "unknown", answer.message);
  const { agent, merchant, epoch, gatewayKey, keyId, shortCode } = answer;
  return { agent, merchant, epoch, gatewayKey, keyId, shortCode };
}

function ask(name: string, parts: readonly Uint8Array[], within: readonly string[]): Promise<unknown> {
  return askChild(`./${name}/main`, parts, within, (status) => {
    return new AgentError("PAIRING_CHILD", "unknown", `${name} ended with ${status ?? "a signal"} before it was done`);
  });
}
