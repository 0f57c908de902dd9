/**
 * The rows of the card in their order: each figure's name, its words and unit, the way to it from
 * one round, and the figure that its ratio divides by.
 */
import type { ActsFigures } from "./acts.ts";
import type { AgentRound, Round } from "./agent.ts";
import type { Ceilings } from "./ceilings.ts";
import { percentile } from "./figures.ts";
import type { GatewayActsFigures } from "./gateway-acts.ts";
import type { GrowthFigures, IdleFigures } from "./growth.ts";
import type { LoadFigures, PathFigures } from "./path.ts";

export interface UserRound {
  readonly agent: AgentRound;
  readonly path: PathFigures;
  readonly acts: ActsFigures;
  readonly gatewayActs: GatewayActsFigures;
  readonly ceilings: Ceilings;
  readonly plain?: Round; // these two: if the same run measured it
  readonly growth?: GrowthFigures; // the run's, the same in each round
}

export interface Row {
  readonly says: string;
  readonly unit: string;
  readonly digits: number;
  readonly value: (round: UserRound) => number | undefined; // undefined: not on this card
  readonly to?: { readonly says: string; readonly value: (round: UserRound) => number | undefined };
}

type Rows = Readonly<Record<string, Row>>;

const ownCpuUs = ({ agent }: UserRound): number =>
  (agent.cpuUs.signer ?? 0) + (agent.cpuUs.courier ?? 0);
const agentMiB = ({ agent: { idleMiB } }: UserRound): number =>
  (idleMiB.launcher ?? 0) + (idleMiB.signer ?? 0) + (idleMiB.courier ?? 0);
const loadCpuUs = ({ signerCpuUs, courierCpuUs }: LoadFigures): number =>
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
const evmOf = ({ path }: UserRound): LoadFigures => path.networks.evm;

/** Payouts on EVM at 64 connections. */
const onEvm: Rows = {
  evmCompletedPerSecond64: {
    ...{ says: "payouts Completed, EVM, 64 connections, steady part", unit: "/s", digits: 1 },
    value: (round) => evmOf(round).completedPerSecond,
    to: ofAgent256(({ agent }) => agent.many.jobsPerSecond),
  },
  evmAgentCpuUs64: {
    ...{ says: "CPU of the agent a payout, EVM", unit: "us", digits: 0 },
    value: (round) => loadCpuUs(evmOf(round)),
    to: ofAgent256(ownCpuUs),
  },
  evmSignerCpuUs64: {
    ...{ says: "CPU of its signer a payout, EVM", unit: "us", digits: 0 },
    value: (round) => evmOf(round).signerCpuUs,
    to: ofAgent256(({ agent }) => agent.cpuUs.signer ?? 0),
  },
  evmCourierCpuUs64: {
    ...{ says: "CPU of its courier a payout, EVM", unit: "us", digits: 0 },
    value: (round) => evmOf(round).courierCpuUs,
    to: ofAgent256(({ agent }) => agent.cpuUs.courier ?? 0),
  },
  evmGatewayCpuUs64: {
    ...{ says: "CPU of the gateway a payout, EVM", unit: "us", digits: 0 },
    value: (round) => evmOf(round).gatewayCpuUs,
    to: { says: "a hot loop of its necessary acts", value: ({ gatewayActs }) => gatewayActs.sumUs },
  },
  gatewayActsUs: {
    ...{ says: "CPU of the gateway's hot loop a payout", unit: "us", digits: 0 },
    value: ({ gatewayActs }) => gatewayActs.sumUs,
  },
  evmBothCpuUs64: {
    ...{ says: "CPU of gateway and agent a payout, EVM", unit: "us", digits: 0 },
    value: (round) => evmOf(round).gatewayCpuUs + loadCpuUs(evmOf(round)),
    to: { says: "CPU of the agent there", value: (round) => loadCpuUs(evmOf(round)) },
  },
  gatewayStatements64: {
    ...{
      says: "statements of the gateway's database a payout, EVM",
      unit: "statements",
      digits: 1,
    },
    value: (round) => evmOf(round).statements,
    to: { says: "those of the hot loop", value: ({ gatewayActs }) => gatewayActs.statements },
  },
  gatewayStatementsOutside64: {
    ...{ says: "those of them outside of a transaction", unit: "statements", digits: 1 },
    value: (round) => evmOf(round).statementsOutside,
  },
  nodeCallsPerPayout64: {
    ...{ says: "calls to the node a payout, EVM", unit: "calls", digits: 2 },
    value: (round) => evmOf(round).nodeCalls,
  },
  nodeKiBPerPayout64: {
    ...{ says: "read from the node a payout, EVM", unit: "KiB", digits: 1 },
    value: (round) => evmOf(round).nodeKiB,
  },
};

const titles = { tron: "Tron", xrp: "XRP", bitcoin: "Bitcoin", litecoin: "Litecoin" } as const;

/** Payouts on another network at 64 connections, beside the same figures on EVM. */
function onNetwork(name: keyof typeof titles): Rows {
  const row = (
    says: string,
    unit: string,
    digits: number,
    of: (figures: LoadFigures) => number,
  ): Row => ({
    ...{ says: `${says}, ${titles[name]}`, unit, digits },
    value: ({ path }) => of(path.networks[name]),
    to: { says: "the same on EVM", value: (round) => of(evmOf(round)) },
  });
  return {
    [`${name}CompletedPerSecond64`]: row(
      "payouts Completed, steady part",
      "/s",
      1,
      (one) => one.completedPerSecond,
    ),
    [`${name}SignerCpuUs64`]: row("CPU of the signer a payout", "us", 0, (one) => one.signerCpuUs),
    [`${name}CourierCpuUs64`]: row(
      "CPU of the courier a payout",
      "us",
      0,
      (one) => one.courierCpuUs,
    ),
    [`${name}GatewayCpuUs64`]: row(
      "CPU of the gateway a payout",
      "us",
      0,
      (one) => one.gatewayCpuUs,
    ),
    [`${name}NodeCalls64`]: row("calls to the node a payout", "calls", 2, (one) => one.nodeCalls),
    [`${name}NodeKiB64`]: row("read from the node a payout", "KiB", 1, (one) => one.nodeKiB),
  };
}

/** Payouts at one a second, and none at all. */
const atOne: Rows = {
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
  nodeCallsPerPayout1: {
    ...{ says: "calls to the EVM node a payout, one a second", unit: "calls", digits: 1 },
    value: ({ path }) => path.nodeCallsAlone,
    to: { says: "64 connections", value: (round) => evmOf(round).nodeCalls },
  },
  nodeCallsIdleDay: {
    ...{ says: "calls to the EVM node a day while nobody pays", unit: "calls", digits: 0 },
    value: ({ path }) => path.nodeCallsIdlePerSecond * 86_400,
    to: { says: "a call each block", value: () => 86_400 },
  },
};

const ofPayout = {
  says: "a payout on EVM",
  value: (round: UserRound) => evmOf(round).gatewayCpuUs,
};

/** Deposits on EVM. */
const ofDeposits: Rows = {
  depositAddressesPerSecond16: {
    ...{ says: "deposit requests of one merchant, 16 connections", unit: "/s", digits: 1 },
    value: ({ path }) => path.deposits.requestsPerSecond,
  },
  depositRequestCpuUs16: {
    ...{ says: "CPU of the gateway a deposit request", unit: "us", digits: 0 },
    value: ({ path }) => path.deposits.requestCpuUs,
    to: ofPayout,
  },
  depositCpuUs16: {
    ...{ says: "CPU of the gateway a deposit, request to Completed", unit: "us", digits: 0 },
    value: ({ path }) => path.deposits.depositCpuUs,
    to: ofPayout,
  },
  depositMsP50: {
    ...{ says: "request of a deposit to Completed, one a second, p50", unit: "ms", digits: 0 },
    value: ({ path }) => percentile(path.deposits.requestToCompletedMs, 0.5),
    to: { says: "a block", value: () => 1_000 },
  },
  pageCpuUs16: {
    ...{ says: "CPU of the gateway a view of a waiting payment page", unit: "us", digits: 0 },
    value: ({ path }) => path.deposits.pageCpuUs,
    to: ofPayout,
  },
};

/** An idle gateway with many paired agents, beside one with few. */
function ofGrowth(of: (figures: IdleFigures) => number): Pick<Row, "value" | "to"> {
  return {
    value: ({ growth }) => (growth === undefined ? undefined : of(growth.many)),
    to: {
      says: "10 agents",
      value: ({ growth }) => (growth === undefined ? undefined : of(growth.few)),
    },
  };
}

const idle: Rows = {
  idleQuestions2000: {
    ...{ says: "questions to the node an idle second, 2,000 agents", unit: "questions", digits: 2 },
    ...ofGrowth(({ questions }) => questions),
  },
  idleCpuMs2000: {
    ...{ says: "CPU of the gateway an idle second, 2,000 agents", unit: "ms", digits: 1 },
    ...ofGrowth(({ cpuMs }) => cpuMs),
  },
};

const agentAlone: Rows = {
  agentCpuUs256: {
    ...{ says: "CPU of the agent a job, 256 in flight", unit: "us", digits: 0 },
    value: ownCpuUs,
    to: { says: "the plain build", value: ({ plain }) => plain?.cpuUs.process },
  },
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
    ...{ says: "CPU of the signer's hot loop a payout", unit: "us", digits: 0 },
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

export const rows: Rows = {
  ...onEvm,
  ...onNetwork("tron"),
  ...onNetwork("xrp"),
  ...onNetwork("bitcoin"),
  ...onNetwork("litecoin"),
  ...atOne,
  ...ofDeposits,
  ...idle,
  ...agentAlone,
};
