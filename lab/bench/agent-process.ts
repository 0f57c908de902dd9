/** The whole agent as the bench starts it: its real processes, beside a world on this machine. */
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Mnemonic } from "ethers";
import { projectRoot } from "../kit/kit.ts";
import { childrenOf, run, type Started, start, until } from "../kit/processes.ts";
import type { World } from "./world.ts";

export interface AgentPlace {
  readonly config: string;
  readonly state: string;
  readonly logFile: string;
}

export function placeIn(dir: string): AgentPlace {
  mkdirSync(dir, { recursive: true });
  return { config: join(dir, "config.json"), state: join(dir, "state"), logFile: join(dir, "bench.log") };
}

function agentConfig(world: World): string {
  return JSON.stringify({
    gatewayUrl: world.url,
    mnemonic: Mnemonic.fromEntropy(randomBytes(16)).phrase,
    apiKey: world.apiKey,
    encKey: randomBytes(32).toString("hex"),
    chains: { local: { family: "evm", chainId: 31337, nodes: [world.url], confirmations: 1 } },
    currencies: { eth: { chain: "local", decimal: 18 } },
    policy: { eth: { maxPerWithdrawal: "1", maxPerHour: "1000", maxPerDay: "1000", maxFee: "0.01", maxFeePerDay: "1000000" } },
  });
}

/** Pairs a new agent with the world. */
export async function pairAgent({ config, state, logFile }: AgentPlace, world: World): Promise<void> {
  writeFileSync(config, agentConfig(world), { mode: 0o600 });
  const args = [join(projectRoot, "pair.js"), "--config", config, "--state", state, "--yes"];
  const paired = await run(process.execPath, args, { logFile });
  if (paired.code !== 0) throw new Error(`pair.js ended with ${paired.code}:\n${paired.output}`);
}

export interface RunningAgent {
  readonly started: Started;
  readonly readyMs: number; // from the start of the process to its word
  readonly pidOf: (room: "signer" | "courier") => number;
}

export async function startAgent({ config, state, logFile }: AgentPlace): Promise<RunningAgent> {
  const began = performance.now();
  const started = start(process.execPath, [join(projectRoot, "crypto.js"), "--config", config, "--state", state], { logFile });
  await until(
    "crypto ready",
    20_000,
    async () => (started.output().includes("crypto: ready") ? true : undefined),
    started.output,
    5,
  );
  const readyMs = performance.now() - began;
  return { started, readyMs, pidOf: (room) => childrenOf(started.pid, join("agent", room, "main.js"))[0] ?? 0 };
}

/** Resident memory as the kernel counts it for the process alone (VmRSS), MiB. */
export function residentMiB(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Math.round((Number(found?.[1] ?? 0) / 1024) * 10) / 10;
}
