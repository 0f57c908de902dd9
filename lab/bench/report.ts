/**
 * The agent beside the plain build, from all rounds: medians of the figures, and medians of each
 * round's own ratios.
 */
import { cpus } from "node:os";
import { type AgentRound, cpuOf, type Round } from "./agent.ts";
import type { Ceilings } from "./ceilings.ts";
import { median, rounded } from "./figures.ts";

const insideMs = (round: Round): number | undefined =>
  (round as Partial<AgentRound>).durableInsideMs;

function summary(rounds: readonly Round[]) {
  const of = (pick: (round: Round) => number): number => rounded(median(rounds.map(pick)), 3);
  const named = (
    pick: (round: Round) => Readonly<Record<string, number>>,
  ): Record<string, number> =>
    Object.fromEntries(
      Object.keys(rounds[0] === undefined ? {} : pick(rounds[0])).map((name) => [
        name,
        of((round) => pick(round)[name] ?? 0),
      ]),
    );
  return {
    jobsPerSecond1: of((round) => round.one.jobsPerSecond),
    jobsPerSecond256: of((round) => round.many.jobsPerSecond),
    cpuUsPerJob256: { ...named((round) => round.cpuUs), all: of(cpuOf) } as {
      readonly all: number;
      readonly [name: string]: number;
    },
    durableMs1: of((round) => insideMs(round) ?? round.one.durableMsMedian),
    // frame sent by the gateway → the signed fact is back there
    durableSeenMs1: of((round) => round.one.durableMsMedian),
    releasedMs1: of((round) => round.one.releasedMsMedian),
    readyMs: of((round) => round.readyMs),
    idleMiB: named((round) => round.idleMiB),
  };
}

const ratio = (a: number, b: number): number => Math.round((a / b) * 100) / 100;

/**
 * The median of the ratios of each round's two figures, since rounds differ more than builds do.
 */
function ratioOf(
  ours: readonly Round[],
  theirs: readonly Round[],
  pick: (round: Round) => number,
): number {
  return ratio(median(ours.map((round, at) => pick(round) / pick(theirs[at] as Round))), 1);
}

function medianCeilings(list: readonly Ceilings[]): Ceilings {
  const names = Object.keys(list[0] ?? {}) as (keyof Ceilings)[];
  return Object.fromEntries(
    names.map((name) => [name, median(list.map((one) => one[name]))]),
  ) as unknown as Ceilings;
}

export interface ComparedRounds {
  readonly ours: readonly AgentRound[];
  readonly plain: readonly Round[];
  readonly tuned: readonly Round[];
  readonly ceilings: readonly Ceilings[];
}

export function reportOf({ ours, plain, tuned, ceilings: all }: ComparedRounds) {
  const ceilings = medianCeilings(all);
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

/** The figures as lines for people. */
export function describeAgent({
  agent,
  plain,
  plainTuned,
  ceilings,
  ratios,
  idleMiB,
}: ReturnType<typeof reportOf>): string {
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
