/**
 * The rounds that the figures of the user and of the agent come from: in each, the machine's
 * limits, the agent, the hot loop of its necessary acts, the whole path, and the plain build.
 */
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { measureActs } from "./acts.ts";
import {
  type AgentRound,
  agentLoad,
  agentRound,
  cpuOf,
  type Load,
  plainLoad,
  plainRound,
  type Round,
  startsEach,
} from "./agent.ts";
import type { UserRound } from "./card-rows.ts";
import { type Ceilings, measureCeilings } from "./ceilings.ts";
import { measureGatewayActs } from "./gateway-acts.ts";
import { networkNames } from "./networks.ts";
import { measurePath, type PathPlan } from "./path.ts";
import type { ComparedRounds } from "./report.ts";

/** The amount of work of one round. */
export interface Loads {
  readonly agent: Load;
  readonly plain: Load;
  readonly path: PathPlan;
  readonly acts: number; // that each act is repeated
  readonly starts: number;
}

/** The loads of a real measurement; `jobs` at 256 in flight. */
export function longLoads(jobs: number): Loads {
  return {
    agent: { ...agentLoad, many: jobs },
    plain: { ...plainLoad, many: Math.max(300, Math.floor(jobs / 5)) },
    path: {
      networks: {
        evm: { warm: 2_000, payouts: 2_000 },
        xrp: { warm: 100, payouts: 300 },
        bitcoin: { warm: 50, payouts: 150 },
        litecoin: { warm: 50, payouts: 150 },
        // The last: the first payout on Tron comes about a minute after the agent's start.
        tron: { warm: 300, payouts: 1_200 },
      },
      deposits: { warm: 40, requests: 150, pages: 500, paid: 60, alone: 10 },
      alone: 20,
      // The minute is over while the other networks pay.
      settleMs: 20_000,
      idleMs: 10_000,
    },
    ...{ acts: 2_000, starts: startsEach },
  };
}

const few = { warm: 0, payouts: 2 };

/** So few that the figures mean nothing: they prove that each part works. */
export const shortLoads: Loads = {
  agent: { warmMany: 64, many: 64, few: 16, warmOne: 1, one: 3, held: 2, settleMs: 0 },
  plain: { warmMany: 16, many: 16, few: 0, warmOne: 1, one: 2, held: 0, settleMs: 0 },
  path: {
    networks: { evm: few, xrp: few, bitcoin: few, litecoin: few, tron: few },
    deposits: { warm: 1, requests: 2, pages: 2, paid: 1, alone: 1 },
    ...{ alone: 1, settleMs: 0, idleMs: 2_000 },
  },
  ...{ acts: 5, starts: 1 },
};

interface RoundsPlan {
  readonly withPlain: boolean;
  readonly withPath: boolean;
  readonly loads: Loads;
  readonly most: number; // rounds
  readonly endsAtMs: number; // by performance.now()
  readonly say: (line: string) => void;
}

async function userRound(
  dir: string,
  agent: AgentRound,
  ceilings: Ceilings,
  loads: Loads,
): Promise<UserRound> {
  const acts = measureActs({
    payoutsPerFrame: agent.many.jobsPerFrame,
    payoutsPerWrite: agent.syncs.jobsPerSyncMany,
    payoutsPerStatement: agent.many.jobsPerStatement,
    ...{ times: loads.acts, file: join(dir, "acts") },
  });
  const path = await measurePath(loads.path);
  const gatewayActs = await measureGatewayActs({
    payoutsPerCommit: 1 / path.networks.evm.commits,
    times: loads.acts,
  });
  return { agent, ceilings, acts, path, gatewayActs };
}

/** Measures round after round; the first always. */
export async function measureRounds(
  dir: string,
  wanted: RoundsPlan,
): Promise<{ users: UserRound[]; compared: ComparedRounds }> {
  const { loads, say } = wanted;
  const users: UserRound[] = [];
  const [ours, plain, tuned, ceilings]: [AgentRound[], Round[], Round[], Ceilings[]] = [
    [],
    [],
    [],
    [],
  ];
  let longestMs = 0;
  while (
    ours.length < wanted.most &&
    (ours.length === 0 || performance.now() + longestMs < wanted.endsAtMs)
  ) {
    const beganMs = performance.now();
    const limits = measureCeilings(join(dir, `sync-${ceilings.length}`));
    const agent = await agentRound(mkdtempSync(join(dir, "agent-")), loads.agent, loads.starts);
    ceilings.push(limits);
    ours.push(agent);
    say(`round ${ours.length}, 256 in flight: agent ${told(agent)}`);
    const user = wanted.withPath ? await userRound(dir, agent, limits, loads) : null;
    if (user !== null) say(`round ${ours.length}, 64 connections: ${toldPath(user)}`);
    if (wanted.withPlain) {
      plain.push(await plainRound(mkdtempSync(join(dir, "plain-")), loads.plain, false));
      tuned.push(await plainRound(mkdtempSync(join(dir, "tuned-")), loads.plain, true));
      const [other, fast] = [plain, tuned].map((list) => told(list.at(-1) as Round));
      say(`round ${ours.length}, 256 in flight: plain ${other}, plain tuned ${fast}`);
    }
    const other = plain.at(-1);
    if (user !== null) users.push(other === undefined ? user : { ...user, plain: other });
    longestMs = Math.max(longestMs, performance.now() - beganMs);
    say(
      `round ${ours.length} of ${wanted.most} took ${Math.round((performance.now() - beganMs) / 1000)} s`,
    );
  }
  return { users, compared: { ours, plain, tuned, ceilings } };
}

const told = (round: Round): string =>
  `${Math.round(round.many.jobsPerSecond)}/s (CPU a job ${Math.round(cpuOf(round))} us)`;

const toldPath = ({ path }: UserRound): string =>
  networkNames
    .map((name) => `${name} ${Math.round(path.networks[name].completedPerSecond)}/s`)
    .join(", ");
