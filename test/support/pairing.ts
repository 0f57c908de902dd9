/**
 * A merchant's server and a gateway that grants pairing, both new for every test, and their
 * readings afterwards.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { AgentFolder, knownMnemonic } from "./agent-folder.ts";
import { startsTheBuild } from "./built.ts";
import { PairingGateway } from "./pairing-gateway.ts";

export const otherMnemonic =
  "legal winner thank year wave sausage worth useful legal winner thank yellow";
// The running test's own: each test has others.
export let gateway: PairingGateway;
export let agent: AgentFolder;

/** To be called once at the head of a test file. */
export function eachTestItsPairing(): void {
  startsTheBuild();
  beforeEach(async () => {
    gateway = new PairingGateway();
    await gateway.open();
    agent = new AgentFolder();
  });
  afterEach(async () => {
    await gateway.close();
    agent.remove();
  });
}

export const fill = (changes: Readonly<Record<string, string>> = {}): string =>
  agent.writeConfig(gateway.url, {
    mnemonic: knownMnemonic,
    apiKey: gateway.apiKey,
    encKey: agent.encKey,
    ...changes,
  });
export const progress = (): { step: string; wallet: { signerKey: string } } =>
  JSON.parse(readFileSync(join(agent.state, "pairing.json"), "utf8"));
export const ledgerLines = (): string[] =>
  readFileSync(join(agent.state, "signer", "ledger", "00000001.jsonl"), "utf8")
    .trim()
    .split("\n");
export const lastJson = (output: string): Record<string, unknown> =>
  JSON.parse(
    output
      .trim()
      .split("\n")
      .find((line) => line.startsWith("{")) ?? "{}",
  );
