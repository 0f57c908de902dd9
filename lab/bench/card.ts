/**
 * The card of the bench: the figures that a user of the product feels, by name, each with its
 * median over the rounds and, where one says more, with the median of its ratio to another figure
 * of the same round.
 */
import type { ActsFigures } from "./acts.ts";
import type { AgentRound, Round } from "./agent.ts";
import type { Ceilings } from "./ceilings.ts";
import { median, percentile, rounded } from "./figures.ts";
import type { PathFigures } from "./path.ts";

export interface UserRound {
  readonly agent: AgentRound;
  readonly path: PathFigures;
  readonly acts: ActsFigures;
  readonly ceilings: Ceilings;
  readonly plain?: Round; // if the same run measured it
}

interface Row {
  readonly says: string;
  readonly unit: string;
  readonly digits: number;
  readonly value: (round: UserRound) => number;
  readonly to?: { readonly says: string; readonly value: (round: UserRound) => number | undefined };
}

export interface CardFigure {
  readonly value: number;
  readonly unit: string;
  readonly ratio?: number;
  readonly to?: string; // the figure that the ratio divides by
}

export type Card = Readonly<Record<string, CardFigure>>;

const ownCpuUs = ({ agent }: UserRound): number =>
  (agent.cpuUs.signer ?? 0) + (agent.cpuUs.courier ?? 0);
const agentMiB = ({ agent: { idleMiB } }: UserRound): number =>
  (idleMiB.launcher ?? 0) + (idleMiB.signer ?? 0) + (idleMiB.courier ?? 0);
const pathCpuUs = ({ signerCpuUs, courierCpuUs }: PathFigures["evm"]): number =>
  signerCpuUs + courierCpuUs;

/**
 * The way to a durable signature: what it verifies, signs and checks, and its own syncs in line.
 */
function durableFloorMs({ agent: { syncs }, ceilings }: UserRound): number {
  const { ed25519VerifyUs, secpSignUs, secpRecoverUs } = ceilings;
  return (ed25519VerifyUs + secpSignUs + secpRecoverUs) / 1000 + syncs.inLine * syncs.meanMs;
}

const ofAgent256 = (value: (round: UserRound) => number) => ({
  says: "the agent alone, 256 in flight",
  value,
});
const ofEvm = (value: (figures: PathFigures["evm"]) => number) => ({
  says: "the same on EVM",
  value: ({ path }: UserRound) => value(path.evm),
});

const wholePath: Readonly<Record<string, Row>> = {
  evmPayoutsPerSecond64: {
    ...{ says: "payouts to Completed, EVM, 64 connections", unit: "/s", digits: 1 },
    value: ({ path }) => path.evm.payoutsPerSecond,
    to: ofAgent256(({ agent }) => agent.many.jobsPerSecond),
  },
  tronPayoutsPerSecond64: {
    ...{ says: "payouts to Completed, Tron, 64 connections", unit: "/s", digits: 1 },
    value: ({ path }) => path.tron.payoutsPerSecond,
    to: ofEvm(({ payoutsPerSecond }) => payoutsPerSecond),
  },
  evmAgentCpuUs64: {
    ...{ says: "CPU of the agent a payout, EVM", unit: "us", digits: 0 },
    value: ({ path }) => pathCpuUs(path.evm),
    to: ofAgent256(ownCpuUs),
  },
  evmSignerCpuUs64: {
    ...{ says: "CPU of its signer a payout, EVM", unit: "us", digits: 0 },
    value: ({ path }) => path.evm.signerCpuUs,
    to: ofAgent256(({ agent }) => agent.cpuUs.signer ?? 0),
  },
  evmCourierCpuUs64: {
    ...{ says: "CPU of its courier a payout, EVM", unit: "us", digits: 0 },
    value: ({ path }) => path.evm.courierCpuUs,
    to: ofAgent256(({ agent }) => agent.cpuUs.courier ?? 0),
  },
  evmGatewayCpuUs64: {
    ...{ says: "CPU of the gateway a payout, EVM", unit: "us", digits: 0 },
    value: ({ path }) => path.evm.gatewayCpuUs,
    to: { says: "CPU of the agent there", value: ({ path }) => pathCpuUs(path.evm) },
  },
  tronSignerCpuUs64: {
    ...{ says: "CPU of the signer a payout, Tron", unit: "us", digits: 0 },
    value: ({ path }) => path.tron.signerCpuUs,
    to: ofEvm(({ signerCpuUs }) => signerCpuUs),
  },
  tronCourierCpuUs64: {
    ...{ says: "CPU of the courier a payout, Tron", unit: "us", digits: 0 },
    value: ({ path }) => path.tron.courierCpuUs,
    to: ofEvm(({ courierCpuUs }) => courierCpuUs),
  },
  tronGatewayCpuUs64: {
    ...{ says: "CPU of the gateway a payout, Tron", unit: "us", digits: 0 },
    value: ({ path }) => path.tron.gatewayCpuUs,
    to: ofEvm(({ gatewayCpuUs }) => gatewayCpuUs),
  },
  postToNodeMsP50: {
    ...{ says: "POST to bytes at the node, one a second, p50", unit: "ms", digits: 1 },
    value: ({ path }) => percentile(path.alone.postToNodeMs, 0.5),
  },
  postToNodeMsP90: {
    ...{ says: "POST to bytes at the node, one a second, p90", unit: "ms", digits: 1 },
    value: ({ path }) => percentile(path.alone.postToNodeMs, 0.9),
    to: { says: "p50", value: ({ path }) => percentile(path.alone.postToNodeMs, 0.5) },
  },
  postToCompletedMsP50: {
    ...{ says: "POST to Completed, one a second, p50", unit: "ms", digits: 0 },
    value: ({ path }) => percentile(path.alone.postToCompletedMs, 0.5),
    to: { says: "a block", value: () => 1_000 },
  },
  nodeCallsPerPayout64: {
    ...{ says: "calls to the EVM node a payout, 64 connections", unit: "calls", digits: 2 },
    value: ({ path }) => path.evm.nodeCalls,
  },
  nodeCallsPerPayout1: {
    ...{ says: "calls to the EVM node a payout, one a second", unit: "calls", digits: 1 },
    value: ({ path }) => path.nodeCallsAlone,
    to: { says: "64 connections", value: ({ path }) => path.evm.nodeCalls },
  },
  nodeCallsIdleDay: {
    ...{ says: "calls to the EVM node a day while nobody pays", unit: "calls", digits: 0 },
    value: ({ path }) => path.nodeCallsIdlePerSecond * 86_400,
    to: { says: "a call each block", value: () => 86_400 },
  },
};

const agentAlone: Readonly<Record<string, Row>> = {
  signerCpuUs16: {
    ...{ says: "CPU of the signer a job, 16 in flight", unit: "us", digits: 0 },
    value: ({ agent }) => agent.cpuUsFew?.signer ?? 0,
    to: { says: "256 in flight", value: ({ agent }) => agent.cpuUs.signer ?? 0 },
  },
  signerCpuUs256: {
    ...{ says: "CPU of the signer a job, 256 in flight", unit: "us", digits: 0 },
    value: ({ agent }) => agent.cpuUs.signer ?? 0,
    to: { says: "a hot loop of its necessary acts", value: ({ acts }) => acts.sumUs },
  },
  necessaryActsUs: {
    ...{ says: "CPU of the hot loop a payout", unit: "us", digits: 0 },
    value: ({ acts }) => acts.sumUs,
  },
  durableMs1: {
    ...{ says: "arrival to durable signature, one in flight", unit: "ms", digits: 2 },
    value: ({ agent }) => agent.durableInsideMs,
    to: { says: "verify, sign, check and its own syncs in line", value: durableFloorMs },
  },
  ownSyncMs1: {
    ...{ says: "the agent's own sync, one in flight, mean", unit: "ms", digits: 3 },
    value: ({ agent }) => agent.syncs.meanMs,
  },
  syncsInLine1: {
    ...{ says: "syncs in line before a signature, one in flight", unit: "syncs", digits: 2 },
    value: ({ agent }) => agent.syncs.inLine,
  },
  idleAllMiB: {
    ...{ says: "memory of the three agent processes, idle", unit: "MiB", digits: 1 },
    value: agentMiB,
    to: { says: "the plain build", value: ({ plain }) => plain?.idleMiB.process },
  },
  readyMs: {
    ...{ says: "start to ready", unit: "ms", digits: 0 },
    value: ({ agent }) => agent.starts.agent.readyMs,
    to: { says: "node alone", value: ({ agent }) => agent.starts.node.readyMs },
  },
  readyCpuMs: {
    ...{ says: "CPU to ready, all processes", unit: "ms", digits: 0 },
    value: ({ agent }) => agent.starts.agent.readyCpuUs / 1000,
    to: { says: "node alone", value: ({ agent }) => agent.starts.node.readyCpuUs / 1000 },
  },
};

const rows: Readonly<Record<string, Row>> = { ...wholePath, ...agentAlone };

export const cardNames: readonly string[] = Object.keys(rows);

export function cardOf(rounds: readonly UserRound[]): Card {
  return Object.fromEntries(
    Object.entries(rows).map(([name, { unit, digits, value, to }]) => {
      const figure = { value: rounded(median(rounds.map(value)), digits), unit };
      const ratios = rounds.flatMap((round) => {
        const base = to?.value(round);
        return base === undefined ? [] : [value(round) / base];
      });
      if (to === undefined || ratios.length < rounds.length) return [name, figure];
      return [name, { ...figure, ratio: rounded(median(ratios), 2), to: to.says }];
    }),
  );
}

/** The medians of the necessary acts, by name, in microseconds a payout. */
export function actsOfRounds(rounds: readonly UserRound[]): Readonly<Record<string, number>> {
  const names = Object.keys(rounds[0]?.acts.acts ?? {});
  return Object.fromEntries(
    names.map((name) => [name, rounded(median(rounds.map(({ acts }) => acts.acts[name] ?? 0)), 2)]),
  );
}

const worded = (name: string, { value, unit, ratio, to }: CardFigure) => ({
  figure: rows[name]?.says ?? name,
  value: `${value.toLocaleString("en-US", { maximumFractionDigits: 3 })}${unit.startsWith("/") ? unit : ` ${unit}`}`,
  ratio: ratio === undefined ? "" : `${ratio.toFixed(2)} times ${to}`,
});

/** The card as lines for people. */
export function describeCard(card: Card): string {
  return Object.entries(card)
    .map(([name, figure]) => worded(name, figure))
    .map(({ figure, value, ratio }) =>
      `${figure.padEnd(50)}${value.padStart(18)}   ${ratio}`.trimEnd(),
    )
    .join("\n");
}

/** The card as the table of docs/performance.md. */
export function markdownOf(card: Card): string {
  const lines = Object.entries(card).map(([name, figure]) => {
    const { figure: says, value, ratio } = worded(name, figure);
    return `| ${says} | ${value} | ${ratio === "" ? "–" : ratio} |`;
  });
  return ["| figure | value | ratio |", "|---|---:|---|", ...lines].join("\n");
}
