/** The two processes that share pairing's secrets between them: one seals and has no network, one registers and has no mnemonic. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { programPath, startChild } from "../../agent/launcher/child.ts";
import { frame } from "../../agent/launcher/frames.ts";
import { AgentError } from "../../protocol/fault.ts";
import type { Granted, RegisteringAnswer, RegisteringSettings } from "../registering/answer.ts";
import type { SealedWallet, SealingAnswer, SealingSettings } from "../sealing/answer.ts";

const answerCharactersMax = 65_536;

/**
 * How a process without a network is started here, e.g. `unshare --net --`; null where the machine permits neither form.
 * Sources: unshare(1), network_namespaces(7).
 */
export function withoutNetwork(): readonly string[] | null {
  for (const command of [
    ["unshare", "--net", "--"],
    ["unshare", "--user", "--map-root-user", "--net", "--"],
  ]) {
    const [program = "", ...args] = command;
    if (spawnSync(program, [...args, "true"], { stdio: "ignore" }).status === 0) return command;
  }
  return null;
}

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
  const answer = (await ask("../sealing/main", parts, within ?? [])) as SealingAnswer;
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
  const answer = (await ask("../registering/main", parts, [])) as RegisteringAnswer;
  if (!answer.ok) throw new AgentError(answer.code, "unknown", answer.message);
  const { agent, merchant, epoch, gatewayKey, keyId, shortCode } = answer;
  return { agent, merchant, epoch, gatewayKey, keyId, shortCode };
}

async function ask(name: string, parts: readonly Uint8Array[], within: readonly string[]): Promise<unknown> {
  const child = startChild({ program: fileURLToPath(programPath(import.meta.url, name)), within, env: process.env });
  const framed = parts.map(frame);
  for (const part of framed) child.stdin?.write(part);
  child.stdin?.end(() => {
    for (const part of framed) part.fill(0);
  });
  let output = "";
  child.stdout?.setEncoding("utf8");
  child.stdout?.on("data", (text: string) => {
    output = (output + text).slice(0, answerCharactersMax);
  });
  const status = await new Promise<number | null>((resolve) => {
    child.once("error", () => resolve(null));
    child.once("close", (code) => resolve(code));
  });
  try {
    if (status === 0) return JSON.parse(output);
  } catch {
    // Judged below: a child that ends well answers in JSON.
  }
  throw new AgentError(
    "PAIRING_CHILD",
    "unknown",
    `${name.replace(/^\.\.\/|\/main$/g, "")} ended with ${status ?? "a signal"} before it was done`,
  );
}
