/** The whole agent as the bench starts it: its real processes, beside a world on this machine. */
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Mnemonic } from "ethers";
import { projectRoot } from "../kit/kit.ts";
import {
  childrenOf,
  freePort,
  run,
  type StartedProcess,
  start,
  stop,
  until,
} from "../kit/processes.ts";
import { cpuUsOf } from "./cpu.ts";
import type { World } from "./world.ts";

export interface AgentPlace {
  readonly config: string;
  readonly state: string;
  readonly logFile: string;
  readonly metrics: string; // address of its metrics
}

export async function placeIn(dir: string): Promise<AgentPlace> {
  mkdirSync(dir, { recursive: true });
  const metrics = `127.0.0.1:${await freePort()}`;
  return {
    config: join(dir, "config.json"),
    state: join(dir, "state"),
    logFile: join(dir, "bench.log"),
    metrics,
  };
}

function agentConfig(world: World, metrics: string): string {
  return JSON.stringify({
    gatewayUrl: world.url,
    mnemonic: Mnemonic.fromEntropy(randomBytes(16)).phrase,
    apiKey: world.apiKey,
    encKey: randomBytes(32).toString("hex"),
    chains: { local: { family: "evm", chainId: 31337, nodes: [world.url], confirmations: 1 } },
    currencies: { eth: { chain: "local", decimal: 18 } },
    metrics: { listen: metrics },
    policy: {
      eth: {
        maxPerWithdrawal: "1",
        maxPerHour: "1000",
        maxPerDay: "1000",
        maxFee: "0.01",
        maxFeePerDay: "1000000",
      },
    },
  });
}

/** Pairs a new agent with the world. */
export async function pairAgent(
  { config, state, logFile, metrics }: AgentPlace,
  world: World,
): Promise<void> {
  writeFileSync(config, agentConfig(world, metrics), { mode: 0o600 });
  const args = [join(projectRoot, "pair.js"), "--config", config, "--state", state, "--yes"];
  const paired = await run(process.execPath, args, { logFile });
  if (paired.code !== 0) throw new Error(`pair.js ended with ${paired.code}:\n${paired.output}`);
}

export interface RunningAgent {
  readonly started: StartedProcess;
  readonly readyMs: number; // from the start of the process to its word
  readonly readyCpuUs: number; // its processes together, up to there
  readonly pidOf: (room: "signer" | "courier") => number;
}

export async function startAgent({ config, state, logFile }: AgentPlace): Promise<RunningAgent> {
  const began = performance.now();
  const started = start(
    process.execPath,
    [join(projectRoot, "crypto.js"), "--config", config, "--state", state],
    { logFile },
  );
  await until(
    "crypto ready",
    20_000,
    async () => (started.output().includes("crypto: ready") ? true : undefined),
    started.output,
    5,
  );
  const readyMs = performance.now() - began;
  const pidOf = (room: "signer" | "courier"): number =>
    childrenOf(started.pid, join("agent", room, "main.js"))[0] ?? 0;
  const readyCpuUs = [started.pid, pidOf("signer"), pidOf("courier")].reduce(
    (sum, pid) => sum + cpuUsOf(pid),
    0,
  );
  return { started, readyMs, readyCpuUs, pidOf };
}

/** A start of Node with one line to print: the part of a start that no program can save. */
export async function startBareNode(
  logFile: string,
): Promise<{ readonly readyMs: number; readonly readyCpuUs: number }> {
  const began = performance.now();
  const started = start(
    process.execPath,
    ["-e", 'process.stdout.write("ready"); setInterval(() => {}, 60_000);'],
    { logFile },
  );
  await until(
    "node ready",
    20_000,
    async () => (started.output().includes("ready") ? true : undefined),
    started.output,
    5,
  );
  const readyMs = performance.now() - began;
  const readyCpuUs = cpuUsOf(started.pid);
  await stop(started);
  return { readyMs, readyCpuUs };
}

/** The courier has the signer's newest figures each two seconds and shows those before them. */
const metricsMs = 4_500;

/** The syncs of the agent's ledger so far, once its figures hold everything up to now. */
export async function syncsOf({
  metrics,
}: AgentPlace): Promise<{ readonly count: number; readonly ms: number }> {
  await sleep(metricsMs);
  const text = await (await fetch(`http://${metrics}/metrics`)).text();
  const figure = (name: string): number => {
    const found = new RegExp(`^autowithdraw_ledger_sync_seconds_${name} (\\S+)$`, "m").exec(text);
    if (found === null) throw new Error(`the agent's metrics hold no ${name} of syncs`);
    return Number(found[1]);
  };
  return { count: figure("count"), ms: figure("sum") * 1000 };
}

/** Resident memory as the kernel counts it for the process alone (VmRSS), MiB. */
export function residentMiB(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Math.round((Number(found?.[1] ?? 0) / 1024) * 10) / 10;
}
