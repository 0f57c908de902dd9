/**
 * `npm run bench [-- --json] [-- --jobs N] [-- --rounds N] [-- --seconds N]`: the whole agent (its
 * real processes) and a plain build in turn, in the same run, beside what the machine can do at
 * all. The plain build runs with ethers as it comes and once more tuned. Figures are medians over
 * the rounds, ratios are medians of each round's own; quote the ratios, they travel better. Each
 * wait has its end, and no round begins that `--seconds` leaves no time for. Then the real gateway
 * process, by itself (bench/gateway.ts), and where asked for a day of many payouts and the signer
 * with a long history.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readCommandLine } from "../kit/command-line.ts";
import { projectRoot } from "../kit/kit.ts";
import { run, type Started, start, stop, until } from "../kit/processes.ts";
import { pairAgent, placeIn, residentMiB, startAgent } from "./agent-process.ts";
import { type Ceilings, measureCeilings } from "./ceilings.ts";
import { cpuUsOf } from "./cpu.ts";
import { describeDay, measureDay } from "./day.ts";
import { describeGateway, measureGateway } from "./gateway.ts";
import { describeHistory, measureHistory } from "./history.ts";
import { type RunFigures, startWorld, type World } from "./world.ts";

const {
  values,
  whole,
  stop: refuse,
} = readCommandLine({
  name: "bench",
  does: "Measures the agent beside a plain build and the machine's ceilings; figures are medians over the rounds.",
  options: {
    jobs: { takes: "N", default: "3000", says: "so many jobs in each run" },
    rounds: { takes: "N", default: "3", says: "so many rounds" },
    seconds: {
      takes: "N",
      default: "210",
      says: "no round begins that would last longer than this in all; the first always does",
    },
    records: { takes: "N", default: "1000000", says: "the gateway's longest list" },
    orders: { takes: "LIST", default: "10000,1000000,6000000", says: "closed orders of each history, by commas" },
    payouts: { takes: "N", default: "30000", says: "so many payouts in one day" },
    only: { takes: "NAMES", default: "agent,gateway", says: "by commas: agent, gateway, day, history" },
    json: { says: "one line of JSON" },
  },
});

interface Round {
  readonly one: RunFigures;
  readonly many: RunFigures;
  readonly readyMs: number;
  readonly idleMiB: Readonly<Record<string, number>>;
  /** Microseconds a job at 256 in flight, by process. */
  readonly cpuUs: Readonly<Record<string, number>>;
  readonly durableInsideMs?: number; // as the agent measures it itself
}

/** Jobs before anything is measured, at 256 and at 1 in flight, and the measured ones at 1. */
const agentLoad = { warmMany: 3000, warmOne: 100, one: 300 } as const;
const plainLoad = { warmMany: 1000, warmOne: 50, one: 150 } as const;

/** The mean of the middle two for an even number, because the better of two rounds is no median. */
function median(list: readonly number[]): number {
  const sorted = [...list].sort((a, b) => a - b);
  const [low, high] = [sorted[Math.ceil(list.length / 2) - 1] ?? 0, sorted[Math.floor(list.length / 2)] ?? 0];
  return (low + high) / 2;
}

const say = (line: string): void => void process.stderr.write(`bench: ${line}\n`);

/**
 * Resident memory of a process in MiB: what it has alone plus its share of what it shares (Linux
 * smaps_rollup, Pss).
 */
function memoryMiB(pid: number): number {
  const found = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"));
  return Math.round((Number(found?.[1] ?? 0) / 1024) * 10) / 10;
}

/** Ends the measurement with an error when what is measured ends by itself. */
function alive(started: Started): Promise<never> {
  return started.ended.then((code) => Promise.reject(new Error(`what is measured ended with ${code}:\n${started.output()}`)));
}

/** One measurement: its processes by name, and the amount of its input. */
interface Measured {
  readonly pids: Readonly<Record<string, number>>;
  readonly idleMiB: () => Record<string, number>;
  readonly readyMs: number;
  readonly load: Record<keyof typeof agentLoad, number>;
  readonly jobs: number;
}

async function measure(world: World, { pids, idleMiB: idle, readyMs, load, jobs }: Measured): Promise<Round> {
  await until(
    "the link",
    30_000,
    async () => (await Promise.race([world.linked().then(() => true as const), sleep(50).then(() => undefined)])) ?? undefined,
  );
  await sleep(2500);
  const idleMiB = idle();
  // Code that has run a while is what a long-lived process runs: both figures come after a warm-up,
  // the same for every build. Work that the warm-up leaves falls into the run behind it, and about
  // as much of that run falls out of it.
  await world.run(load.warmMany, 256);
  const names = Object.keys(pids);
  const before = names.map((name) => cpuUsOf(pids[name] ?? 0));
  const many = await world.run(jobs, 256);
  const used = names.map((name, at) => (cpuUsOf(pids[name] ?? 0) - (before[at] ?? 0)) / jobs);
  const cpuUs = Object.fromEntries(names.map((name, at) => [name, used[at] ?? 0]));
  await sleep(1500);
  await world.run(load.warmOne, 1);
  const one = await world.run(load.one, 1);
  return { one, many, readyMs, idleMiB, cpuUs };
}

async function agentRound(dir: string, jobs: number): Promise<Round> {
  const world = await startWorld(join(dir, "world"));
  const place = placeIn(dir);
  let crypto: Started | null = null;
  try {
    await pairAgent(place, world);
    const { started, readyMs, pidOf } = await startAgent(place);
    crypto = started;
    const pids = { signer: pidOf("signer"), courier: pidOf("courier"), launcher: started.pid, world: process.pid };
    const idleMiB = (): Record<string, number> => ({
      signer: residentMiB(pids.signer),
      courier: residentMiB(pids.courier),
      launcher: residentMiB(pids.launcher),
      signerShared: memoryMiB(pids.signer),
      courierShared: memoryMiB(pids.courier),
    });
    const round = await Promise.race([measure(world, { pids, idleMiB, readyMs, load: agentLoad, jobs }), alive(started)]);
    // The agent's own word, told every two seconds: frame at the courier to signature on disk, over
    // its newest 256 jobs.
    await sleep(2500);
    const status = await run(
      process.execPath,
      [join(projectRoot, "autowithdraw.js"), "status", "--json", "--state", place.state],
      { logFile: place.logFile },
    );
    return { ...round, durableInsideMs: Number(/"durableMedianUs":\s*(\d+)/.exec(status.output)?.[1] ?? 0) / 1000 };
  } finally {
    if (crypto !== null) await stop(crypto);
    await world.close();
  }
}

async function plainRound(dir: string, jobs: number, tuned: boolean): Promise<Round> {
  const world = await startWorld(join(dir, "world"));
  const script = fileURLToPath(new URL("./plain.js", import.meta.url));
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
      5,
    );
    const readyMs = performance.now() - began;
    const pids = { process: started.pid, world: process.pid };
    const idleMiB = (): Record<string, number> => ({ process: residentMiB(started.pid) });
    return await Promise.race([measure(world, { pids, idleMiB, readyMs, load: plainLoad, jobs }), alive(started)]);
  } finally {
    await stop(started);
    await world.close();
  }
}

const thousandths = (figure: number): number => Math.round(figure * 1000) / 1000;

function summary(rounds: readonly Round[]) {
  const of = (pick: (round: Round) => number): number => thousandths(median(rounds.map(pick)));
  const named = (pick: (round: Round) => Readonly<Record<string, number>>): Record<string, number> =>
    Object.fromEntries(
      Object.keys(rounds[0] === undefined ? {} : pick(rounds[0])).map((name) => [name, of((round) => pick(round)[name] ?? 0)]),
    );
  return {
    jobsPerSecond1: of((round) => round.one.jobsPerSecond),
    jobsPerSecond256: of((round) => round.many.jobsPerSecond),
    cpuUsPerJob256: { ...named((round) => round.cpuUs), all: of(cpuOf) } as {
      readonly all: number;
      readonly [name: string]: number;
    },
    durableMs1: of((round) => round.durableInsideMs ?? round.one.durableMsMedian),
    // frame sent by the gateway → the signed fact is back there
    durableSeenMs1: of((round) => round.one.durableMsMedian),
    releasedMs1: of((round) => round.one.releasedMsMedian),
    readyMs: of((round) => round.readyMs),
    idleMiB: named((round) => round.idleMiB),
  };
}

/**
 * The measurement without the world around it. Signer and courier do the work, the launcher next to
 * nothing.
 */
function cpuOf({ cpuUs }: Round): number {
  return (cpuUs.signer ?? 0) + (cpuUs.courier ?? 0) + (cpuUs.process ?? 0);
}

const ratio = (a: number, b: number): number => Math.round((a / b) * 100) / 100;

/**
 * The median of the ratios of each round's two figures, since rounds differ more than builds do.
 */
function ratioOf(ours: readonly Round[], theirs: readonly Round[], pick: (round: Round) => number): number {
  return ratio(median(ours.map((round, at) => pick(round) / pick(theirs[at] as Round))), 1);
}

/** Each part: its figures by name, and the same as text. */
const parts: Readonly<Record<string, (dir: string) => Promise<{ readonly figures: object; readonly text: string }>>> = {
  async agent(dir) {
    const figures = await measureAgent(dir);
    return { figures, text: table(figures) };
  },
  async gateway(dir) {
    const records = whole("records", { least: 1, most: 10_000_000 });
    say(`the gateway, with a list of ${records} records`);
    const gateway = await measureGateway(join(dir, "gateway"), records);
    return { figures: { gateway }, text: describeGateway(gateway) };
  },
  async day(dir) {
    const day = await measureDay(join(dir, "day"), whole("payouts", { least: 1000, most: 1_000_000 }));
    return { figures: { day }, text: describeDay(day) };
  },
  async history(dir) {
    const history = await measureHistory(values.orders.split(",").map(Number), join(dir, "history"));
    return { figures: { history }, text: describeHistory(history) };
  },
};

async function main(): Promise<void> {
  const asked = values.only.split(",");
  const unknown = asked.find((name) => parts[name] === undefined);
  if (unknown !== undefined) refuse(`there is no part ${unknown}; there are ${Object.keys(parts).join(", ")}`);
  const dir = mkdtempSync(join(tmpdir(), "autowithdraw-bench-"));
  try {
    const measured = [];
    for (const [name, play] of Object.entries(parts)) if (asked.includes(name)) measured.push(await play(dir));
    const figures = Object.assign({}, ...measured.map((part) => part.figures)) as object;
    process.stdout.write(values.json ? `${JSON.stringify(figures)}\n` : `${measured.map(({ text }) => text).join("\n\n")}\n`);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function measureAgent(dir: string) {
  const jobs = whole("jobs", { least: 300, most: 1_000_000 });
  const most = whole("rounds", { least: 1, most: 50 });
  const endsAtMs = performance.now() + 1000 * whole("seconds", { least: 1, most: 86_400 });
  const [ours, plain, tuned]: [Round[], Round[], Round[]] = [[], [], []];
  const floors: Ceilings[] = [];
  let longestMs = 0;
  while (ours.length < most && (ours.length === 0 || performance.now() + longestMs < endsAtMs)) {
    const beganMs = performance.now();
    const fewer = Math.max(300, Math.floor(jobs / 5));
    floors.push(measureCeilings(join(dir, `sync-${floors.length}`)));
    ours.push(await agentRound(mkdtempSync(join(dir, "agent-")), jobs));
    plain.push(await plainRound(mkdtempSync(join(dir, "plain-")), fewer, false));
    tuned.push(await plainRound(mkdtempSync(join(dir, "tuned-")), fewer, true));
    longestMs = Math.max(longestMs, performance.now() - beganMs);
    const told = [ours, plain, tuned].map((list) => list.at(-1) as Round);
    const [agent, other, fast] = told.map(
      (round) => `${Math.round(round.many.jobsPerSecond)}/s (${Math.round(cpuOf(round))} us)`,
    );
    say(`round ${ours.length} of ${most} at 256 in flight, with CPU a job: agent ${agent}, plain ${other}, plain tuned ${fast}`);
  }
  return { rounds: ours.length, jobs, ...reportOf(ours, plain, tuned, medianCeilings(floors)) };
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
      jobsPerSecond256: ratioOf(ours, plain, (round) => round.many.jobsPerSecond),
      jobsPerSecond256Tuned: ratioOf(ours, tuned, (round) => round.many.jobsPerSecond),
      jobsPerSecond1: ratioOf(ours, plain, (round) => round.one.jobsPerSecond),
      cpuPerJob256: ratioOf(ours, plain, cpuOf),
      cpuPerJob256Tuned: ratioOf(ours, tuned, cpuOf),
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
      "CPU us a job, 256 in flight",
      all.map((one) => one.cpuUsPerJob256.all),
      `${ratios.cpuPerJob256} of plain, ${ratios.cpuPerJob256Tuned} of tuned; signer ${agent.cpuUsPerJob256.signer}, courier ${agent.cpuUsPerJob256.courier}`,
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
