/**
 * One round of the agent's real processes, or of the plain build, beside the bench's own world: the
 * rate and the CPU a job at 256 and at 16 in flight, the times at one, memory, and starts.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { projectRoot } from "../kit/kit.ts";
import { run, type StartedProcess, start, stop, until } from "../kit/processes.ts";
import {
  type AgentPlace,
  pairAgent,
  placeIn,
  residentMiB,
  startAgent,
  startBareNode,
  syncsOf,
} from "./agent-process.ts";
import { cpuUsOf } from "./cpu.ts";
import { median } from "./figures.ts";
import { type RunFigures, startWorld, type World } from "./world.ts";

type ProcessNumbers = Readonly<Record<string, number>>;

/** Jobs before anything is measured, and measured ones, by their number in flight. */
export interface Load {
  readonly warmMany: number;
  readonly many: number;
  readonly few: number; // at 16
  readonly warmOne: number;
  readonly one: number;
  readonly held: number; // whose syncs are counted up to their signature
  readonly settleMs: number; // before memory is looked at
}

/**
 * The agent's courier has half of its code compiled after 3,000 jobs, and all of it after 16,000;
 * the plain build's few functions are compiled after some hundred.
 */
export const agentLoad: Omit<Load, "many"> = {
  warmMany: 16_000,
  few: 1_500,
  warmOne: 100,
  one: 300,
  held: 50,
  settleMs: 2_500,
};
export const plainLoad: Omit<Load, "many"> = {
  warmMany: 2_000,
  few: 0,
  warmOne: 50,
  one: 150,
  held: 0,
  settleMs: 2_500,
};

/** Starts of the agent and of Node alone, in turn: how many of each. */
export const startsEach = 3;

interface Start {
  readonly readyMs: number;
  readonly readyCpuUs: number;
}

export interface Round {
  readonly one: RunFigures;
  readonly many: RunFigures;
  readonly few?: RunFigures;
  readonly readyMs: number;
  readonly idleMiB: ProcessNumbers;
  /** Microseconds a job at 256 in flight, by process. */
  readonly cpuUs: ProcessNumbers;
  readonly cpuUsFew?: ProcessNumbers; // at 16
}

/** The figures that only the agent has. */
export interface AgentRound extends Round {
  readonly durableInsideMs: number; // as the agent measures it itself
  /** The agent's own syncs: those of the jobs at one in flight, and those up to a signature. */
  readonly syncs: {
    readonly meanMs: number;
    readonly inLine: number;
    readonly jobsPerSyncMany: number;
  };
  readonly starts: { readonly agent: Start; readonly node: Start };
}

/**
 * Resident memory of a process in MiB: what it has alone plus its share of what it shares (Linux
 * smaps_rollup, Pss).
 */
function memoryMiB(pid: number): number {
  const found = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"));
  return Math.round((Number(found?.[1] ?? 0) / 1024) * 10) / 10;
}

/** Ends the measurement with an error when what is measured ends by itself. */
function alive(started: StartedProcess): Promise<never> {
  return started.ended.then((code) =>
    Promise.reject(new Error(`what is measured ended with ${code}:\n${started.output()}`)),
  );
}

/** One measurement: its processes by name, and the amount of its input. */
interface Measurement {
  readonly pids: ProcessNumbers;
  readonly idleMiB: () => ProcessNumbers;
  readonly readyMs: number;
  readonly load: Load;
  readonly warmed?: () => Promise<void>;
  readonly loneBegins?: () => Promise<void>; // just before the measured jobs at one in flight
}

async function measure(
  world: World,
  { pids, idleMiB: idle, readyMs, load, warmed, loneBegins }: Measurement,
): Promise<Round> {
  await until(
    "the link",
    30_000,
    async () =>
      (await Promise.race([
        world.linked().then(() => true as const),
        sleep(50).then(() => undefined),
      ])) ?? undefined,
  );
  await sleep(load.settleMs);
  const idleMiB = idle();
  const names = Object.keys(pids);
  const timed = async (
    jobs: number,
    inFlight: number,
  ): Promise<{ readonly figures: RunFigures; readonly cpuUs: ProcessNumbers }> => {
    const before = names.map((name) => cpuUsOf(pids[name] ?? 0));
    const figures = await world.run(jobs, inFlight);
    const used = names.map(
      (name, at) => [name, (cpuUsOf(pids[name] ?? 0) - (before[at] ?? 0)) / jobs] as const,
    );
    return { figures, cpuUs: Object.fromEntries(used) };
  };
  // Code that has run a while is what a long-lived process runs: all figures come after a warm-up.
  // Work that the warm-up leaves falls into the run behind it, and about as much of that run falls
  // out of it.
  await world.run(load.warmMany, 256);
  await warmed?.();
  const many = await timed(load.many, 256);
  const few = load.few === 0 ? undefined : await timed(load.few, 16);
  await sleep(load.settleMs);
  await world.run(load.warmOne, 1);
  await loneBegins?.();
  const one = await world.run(load.one, 1);
  return {
    ...{ one, many: many.figures, readyMs, idleMiB, cpuUs: many.cpuUs },
    ...(few === undefined ? {} : { few: few.figures, cpuUsFew: few.cpuUs }),
  };
}

/** Starts in turn; the agent runs after the last of them. */
async function startInTurn(place: AgentPlace, times: number) {
  const [agents, nodes]: [Start[], Start[]] = [[], []];
  let running = await startAgent(place);
  agents.push(running);
  nodes.push(await startBareNode(place.logFile));
  while (agents.length < times) {
    await stop(running.started);
    running = await startAgent(place);
    agents.push(running);
    nodes.push(await startBareNode(place.logFile));
  }
  const middle = (list: readonly Start[]): Start => ({
    readyMs: median(list.map(({ readyMs }) => readyMs)),
    readyCpuUs: median(list.map(({ readyCpuUs }) => readyCpuUs)),
  });
  return { running, starts: { agent: middle(agents), node: middle(nodes) } };
}

export async function agentRound(
  dir: string,
  load: Load,
  startTimes = startsEach,
): Promise<AgentRound> {
  const world = await startWorld(join(dir, "world"));
  const place = await placeIn(dir);
  let crypto: StartedProcess | null = null;
  try {
    await pairAgent(place, world);
    const { running, starts } = await startInTurn(place, startTimes);
    const { started, readyMs, pidOf } = running;
    crypto = started;
    const pids = {
      signer: pidOf("signer"),
      courier: pidOf("courier"),
      launcher: started.pid,
      world: process.pid,
    };
    const idleMiB = (): ProcessNumbers => ({
      signer: residentMiB(pids.signer),
      courier: residentMiB(pids.courier),
      launcher: residentMiB(pids.launcher),
      signerShared: memoryMiB(pids.signer),
      courierShared: memoryMiB(pids.courier),
    });
    const [warmed, loneFrom] = [{ count: 0 }, { count: 0, ms: 0 }];
    const measured: Measurement = {
      ...{ pids, idleMiB, readyMs, load },
      warmed: async () => void Object.assign(warmed, await syncsOf(place)),
      loneBegins: async () => void Object.assign(loneFrom, await syncsOf(place)),
    };
    const round = await Promise.race([measure(world, measured), alive(started)]);
    const loneTo = await syncsOf(place);
    // The agent's own word: frame at the courier to signature on disk, over its newest 256 jobs.
    const status = await run(
      process.execPath,
      [join(projectRoot, "autowithdraw.js"), "status", "--json", "--state", place.state],
      { logFile: place.logFile },
    );
    const { release } = await world.runHeld(load.held);
    const held = await syncsOf(place);
    await release();
    return {
      ...{ ...round, starts },
      durableInsideMs: Number(/"durableMedianUs":\s*(\d+)/.exec(status.output)?.[1] ?? 0) / 1000,
      syncs: {
        meanMs: (loneTo.ms - loneFrom.ms) / (loneTo.count - loneFrom.count),
        inLine: (held.count - loneTo.count) / load.held,
        jobsPerSyncMany: load.warmMany / warmed.count,
      },
    };
  } finally {
    if (crypto !== null) await stop(crypto);
    await world.close();
  }
}

export async function plainRound(dir: string, load: Load, tuned: boolean): Promise<Round> {
  const world = await startWorld(join(dir, "world"));
  const script = join(projectRoot, "dist", "lab", "bench", "plain.js");
  const began = performance.now();
  const started = start(
    process.execPath,
    [script, world.url, world.apiKey, join(dir, "plain.db"), tuned ? "tuned" : ""],
    {
      logFile: join(dir, "plain.log"),
    },
  );
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
    const idleMiB = (): ProcessNumbers => ({ process: residentMiB(started.pid) });
    return await Promise.race([measure(world, { pids, idleMiB, readyMs, load }), alive(started)]);
  } finally {
    await stop(started);
    await world.close();
  }
}

/**
 * The measurement without the world around it. Signer and courier do the work, the launcher next to
 * nothing.
 */
export function cpuOf({ cpuUs }: Round): number {
  return (cpuUs.signer ?? 0) + (cpuUs.courier ?? 0) + (cpuUs.process ?? 0);
}
