/**
 * The commands of `autowithdraw` in this process: a state folder of its own, a signer with scripted
 * answers behind the operators' socket, a screen that keeps everything printed. A test file has one
 * kit, opened and closed around each test.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { Machine } from "../../cli/machine.ts";
import { runCommand } from "../../cli/main.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { held, OperatorSocket, pairedProgress, transactionId, well } from "./operator-socket.ts";

export const nowMs = 1795210863000; // 2026-11-20 21:41:03 UTC
export const secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlYzE";
export const apiKey = `k_0123456789abcdef.${secret}.${"0".repeat(32)}`;

export class Screen implements Terminal {
  text = "";
  isInteractive = false;
  answer = "no";
  rounds = 0;
  user = "alice";
  readonly now = (): number => nowMs;
  out(text: string): void {
    this.text += text;
  }
  err(text: string): void {
    this.text += text;
  }
  async confirm(question: string): Promise<boolean> {
    this.text += `${question}${this.answer}\n`;
    return this.answer === "yes";
  }
  async sleep(): Promise<boolean> {
    this.rounds -= 1;
    return this.rounds > 0;
  }
}

/**
 * config.json as the signer read it, no service manager, no exit reason. A scene changes one of
 * them.
 */
export const ordinary: Machine = {
  isUnderUnits: () => false,
  units: () => new Map(),
  exitReason: () => [],
  configOnDisk: () => ({ is: "read", digest: well.config.digest }),
  isThere: () => true,
  isReadOnly: () => false,
};

/** `machine` is for a test to change; each test begins with the ordinary one. */
export const kit = { dir: "", state: "", machine: ordinary, signer: new OperatorSocket() };

const networks = ["eip155:1"];
const currencies = [
  { id: "eth", network: "eip155:1", contract: "", decimal: 18, maxFee: "0.01" },
  { id: "usdt-erc20", network: "eip155:1", contract: held.contract, decimal: 6, maxFee: "0.01" },
];

/** Opens the kit before each test of the file, and closes it after. */
export function usesTheKit(): void {
  beforeEach(async () => {
    kit.machine = ordinary;
    kit.dir = mkdtempSync(join(tmpdir(), "aw-cli-"));
    kit.state = join(kit.dir, "state");
    mkdirSync(join(kit.state, "run"), { recursive: true });
    mkdirSync(join(kit.state, "signer"));
    writeFileSync(
      join(kit.state, "pairing.json"),
      JSON.stringify(pairedProgress(networks, currencies)),
    );
    writeFileSync(join(kit.dir, "api.key"), apiKey, { mode: 0o600 });
    await kit.signer.open(join(kit.state, "run", "operator.sock"));
    kit.signer.asked.length = 0;
  });
  afterEach(async () => {
    await kit.signer.close();
    rmSync(kit.dir, { recursive: true, force: true });
  });
}

/**
 * Types one line. STATE and DIR stand for the kit's folders, ID for the withdrawal of the scenes.
 */
export async function run(
  line: string,
  screen = new Screen(),
): Promise<{ code: number; text: string }> {
  const words = line
    .split(" ")
    .map((word) =>
      word === "ID"
        ? transactionId
        : word.replace(/STATE|DIR/, (name) => (name === "DIR" ? kit.dir : kit.state)),
    );
  const code = await runCommand(words, screen, kit.machine);
  return { code, text: screen.text };
}
