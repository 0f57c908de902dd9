/**
 * `npm run bench [-- --json] [-- --jobs N] [-- --rounds N]`: the whole agent (its real processes) and a plain build in turn, in the
 * same run, beside what the machine can do at all. The plain build runs with ethers as it comes and once more tuned. Figures are
 * medians over the rounds; quote the ratios, they travel better.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Mnemonic } from "ethers";
import { type Ceilings, measureCeilings } from "./bench/ceilings.ts";
import { type RunFigures, startWorld, type World } from "./bench/world.ts";
import { readCommandLine } from "./command-line.ts";
import { childrenOf, run, type Started, start, stop, until } from "./processes.ts";
import { projectRoot } from "./rig.ts";

const { values, whole } = readCommandLine({
  name: "bench",
  does: "Measures the agent beside a plain build and the machine's ceilings; figures are medians over the rounds.",
  options: {
    jobs: { takes: "N", default: "3000", says: "so many jobs in each run" },
    rounds: { takes: "N", default: "3", says: "so many rounds" },
    json: { says: "one line of JSON" },
  },
});

interface Round {
  readonly one: RunFigures;
  readonly many: RunFigures;
  readonly readyMs: number;
  readonly idleMiB: Readonly<Record<string, number>>;
  readonly durableInsideMs?: number; // as the agent measures it itself
}

/** Jobs before anything is measured, at 256 and at 1 in flight. */
const warmUp = { many: 3000, one: 100 } as const;

const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;
const say = (line: string): void => void process.stderr.write(`bench: ${line}\n`);

/** Resident memory of a process in MiB: what it has alone plus its share of what it shares (Linux smaps_rollup, Pss). */
function memoryMiB(pid: number): number {
  const found = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"));
  return Math.round((Number(found?.[1] ?? 0) / 1024) * 10) / 10;
}

/** Resident memory as the kernel counts it for the process alone (VmRSS), MiB. */
function residentMiB(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Math.round((Number(found?.[1] ?? 0) / 1024) * 10) / 10;
}

/** Ends the measurement with an error when what is measured ends by itself. */
function alive(started: Started): Promise<never> {
  return started.ended.then((code) => Promise.reject(new Error(`what is measured ended with ${code}:\n${started.output()}`)));
}

async function measure(world: World, idle: () => Record<string, number>, readyMs: number, jobs: number): Promise<Round> {
  await until(
    "the link",
    30_000,
    async () => (await Promise.race([world.linked().then(() => true as const), sleep(50).then(() => undefined)])) ?? undefined,
  );
  await sleep(2500);
  const idleMiB = idle();
  // Code that has run a while is what a long-lived process runs: both figures come after a warm-up, the same for every build.
  await world.run(warmUp.many, 256);
  const many = await world.run(jobs, 256);
  await sleep(1500);
  await world.run(warmUp.one, 1);
  const one = await world.run(300, 1);
  return { one, many, readyMs, idleMiB };
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

async function agentRound(dir: string, jobs: number): Promise<Round> {
  const world = await startWorld(join(dir, "world"));
  const config = join(dir, "config.json");
  const state = join(dir, "state");
  let crypto: Started | null = null;
  try {
    writeFileSync(config, agentConfig(world), { mode: 0o600 });
    const logFile = join(dir, "bench.log");
    const paired = await run(process.execPath, [join(projectRoot, "pair.js"), "--config", config, "--state", state, "--yes"], {
      logFile,
    });
    if (paired.code !== 0) throw new Error(`pair.js ended with ${paired.code}:\n${paired.output}`);
    const began = performance.now();
    const started = start(process.execPath, [join(projectRoot, "crypto.js"), "--config", config, "--state", state], { logFile });
    crypto = started;
    await until(
      "crypto ready",
      20_000,
      async () => (started.output().includes("crypto: ready") ? true : undefined),
      started.output,
    );
    const readyMs = performance.now() - began;
    const pidOf = (room: string): number => childrenOf(started.pid, join("agent", room, "main.js"))[0] ?? 0;
    const idle = (): Record<string, number> => ({
      signer: residentMiB(pidOf("signer")),
      courier: residentMiB(pidOf("courier")),
      launcher: residentMiB(started.pid),
      signerShared: memoryMiB(pidOf("signer")),
      courierShared: memoryMiB(pidOf("courier")),
    });
    const round = await Promise.race([measure(world, idle, readyMs, jobs), alive(started)]);
    // The agent's own word, told every two seconds: frame at the courier to signature on disk, over its newest 256 jobs.
    await sleep(2500);
    const status = await run(process.execPath, [join(projectRoot, "autowithdraw.js"), "status", "--json", "--state", state], {
      logFile,
    });
    return { ...round, durableInsideMs: Number(/"durableMedianUs":\s*(\d+)/.exec(status.output)?.[1] ?? 0) / 1000 };
  } finally {
    if (crypto !== null) await stop(crypto);
    await world.close();
  }
}

async function plainRound(dir: string, jobs: number, tuned: boolean): Promise<Round> {
  const world = await startWorld(join(dir, "world"));
  const script = fileURLToPath(new URL("./bench/plain.js", import.meta.url));
  const began = performance.now();
  const started = start(process.execPath, [script, world.url, world.apiKey, join(dir, "plain.db"), tuned ? "tuned" : ""], {
    logFile: join(dir, "plain.log"),
  });
  try {
    await until(
      "the plain build ready",
      20_000,
      async () => (started.output().includes("ready") ? true : undefined),
      started.output,
    );
    const idle = (): Record<string, number> => ({ process: residentMiB(started.pid) });
    return await Promise.race([measure(world, idle, performance.now() - began, jobs), alive(started)]);
  } finally {
    await stop(started);
    await world.close();
  }
}

function summary(rounds: readonly Round[]) {
  const of = (pick: (round: Round) => number): number => Math.round(median(rounds.map(pick)) * 1000) / 1000;
  const idle: Record<string, number> = {};
  for (const name of Object.keys(rounds[0]?.idleMiB ?? {})) idle[name] = of((round) => round.idleMiB[name] ?? 0);
  return {
    jobsPerSecond1: of((round) => round.one.jobsPerSecond),
    jobsPerSecond256: of((round) => round.many.jobsPerSecond),
    durableMs1: of((round) => round.durableInsideMs ?? round.one.durableMsMedian),
    durableSeenMs1: of((round) => round.one.durableMsMedian), // frame sent by the gateway → the signed fact is back there
    releasedMs1: of((round) => round.one.releasedMsMedian),
    readyMs: of((round) => round.readyMs),
    idleMiB: idle,
  };
}

const ratio = (a: number, b: number): number => Math.round((a / b) * 100) / 100;

async function main(): Promise<void> {
  const jobs = whole("jobs", { least: 300, most: 1_000_000 });
  const rounds = whole("rounds", { least: 1, most: 50 });
  const dir = mkdtempSync(join(tmpdir(), "autowithdraw-bench-"));
  try {
    const [ours, plain, tuned]: [Round[], Round[], Round[]] = [[], [], []];
    const floors: Ceilings[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      const fewer = Math.max(300, Math.floor(jobs / 4));
      floors.push(measureCeilings(join(dir, `sync-${round}`)));
      ours.push(await agentRound(mkdtempSync(join(dir, "agent-")), jobs));
      plain.push(await plainRound(mkdtempSync(join(dir, "plain-")), fewer, false));
      tuned.push(await plainRound(mkdtempSync(join(dir, "tuned-")), fewer, true));
      const rates = [ours, plain, tuned].map((list) => Math.round(list.at(-1)?.many.jobsPerSecond ?? 0));
      say(`round ${round} of ${rounds}: agent ${rates[0]}/s, plain ${rates[1]}/s, plain tuned ${rates[2]}/s at 256 in flight`);
    }
    const report = reportOf(ours, plain, tuned, medianCeilings(floors));
    process.stdout.write(values.json ? `${JSON.stringify({ rounds, jobs, ...report })}\n` : `${table(report)}\n`);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function medianCeilings(list: readonly Ceilings[]): Ceilings {
  const names = Object.keys(list[0] ?? {}) as (keyof Ceilings)[];
  return Object.fromEntries(names.map((name) => [name, median(list.map((one) => one[name]))])) as unknown as Ceilings;
}

function reportOf(ours: readonly Round[], plain: readonly Round[], tuned: readonly Round[], ceilings: Ceilings) {
  const [agent, other, fast] = [summary(ours), summary(plain), summary(tuned)];
  return {
    node: process.version,
    cores: cpus().length,
    cpu: cpus()[0]?.model ?? "",
    agent,
    plain: other,
    plainTuned: fast,
    ceilings,
    ratios: {
      jobsPerSecond256: ratio(agent.jobsPerSecond256, other.jobsPerSecond256),
      jobsPerSecond256Tuned: ratio(agent.jobsPerSecond256, fast.jobsPerSecond256),
      jobsPerSecond1: ratio(agent.jobsPerSecond1, other.jobsPerSecond1),
      durableToFloor: ratio(agent.durableMs1, ceilings.durableFloorMs),
      signatureCeilingShare: ratio(agent.jobsPerSecond256, ceilings.signaturesPerSecond),
    },
    idleMiB: Math.round(((agent.idleMiB.signer ?? 0) + (agent.idleMiB.courier ?? 0)) * 10) / 10,
  };
}

function table({ agent, plain, plainTuned, ceilings, ratios, idleMiB }: ReturnType<typeof reportOf>): string {
  const row = (name: string, figures: readonly (string | number)[], note: string): string =>
    `${name.padEnd(40)}${figures.map((figure) => String(figure).padStart(13)).join("")}   ${note}`.trimEnd();
  const all = [agent, plain, plainTuned];
  return [
    row("", ["agent", "plain", "plain tuned"], ""),
    row(
      "jobs per second, 256 in flight",
      all.map((one) => one.jobsPerSecond256),
      `${ratios.jobsPerSecond256} times plain, ${ratios.jobsPerSecond256Tuned} times tuned; ceiling ${Math.round(ceilings.signaturesPerSecond)} signatures/s`,
    ),
    row(
      "jobs per second, 1 in flight",
      all.map((one) => one.jobsPerSecond1),
      `${ratios.jobsPerSecond1} times plain`,
    ),
    row(
      "ms from arrival to durable, 1 in flight",
      all.map((one) => one.durableMs1),
      `${ratios.durableToFloor} times the floor of ${ceilings.durableFloorMs.toFixed(3)} ms (verify + sign + 3 syncs)`,
    ),
    row(
      "ms until the gateway has it, 1 in flight",
      all.map((one) => one.durableSeenMs1),
      "",
    ),
    row(
      "ms from arrival to the node, 1 in flight",
      all.map((one) => one.releasedMs1),
      "",
    ),
    row(
      "ms from start to ready",
      all.map((one) => one.readyMs),
      "",
    ),
    row(
      "idle MiB",
      [idleMiB, plain.idleMiB.process ?? 0, plainTuned.idleMiB.process ?? 0],
      `signer ${agent.idleMiB.signer}, courier ${agent.idleMiB.courier}; the launcher's ${agent.idleMiB.launcher} beside them`,
    ),
  ].join("\n");
}

await main();
process.exit(0);
