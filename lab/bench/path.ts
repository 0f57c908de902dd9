/**
 * The whole path as a shop has it: orders over HTTP to the real gateway process, the real agent,
 * and five networks with blocks of one second, to Completed. The rate of the steady part, CPU,
 * calls and bytes of nodes at 64 connections; times at one payout a second; and the calls that the
 * EVM node gets while nobody pays.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Kit } from "../kit/kit.ts";
import { until } from "../kit/processes.ts";
import { cpuUsOf } from "./cpu.ts";
import { type DepositFigures, type DepositPlan, measureDeposits } from "./deposits.ts";
import { steadyRate } from "./figures.ts";
import { type NetworkName, networks, newReceiver } from "./networks.ts";
import { networkOf, type PathWorld, startPathWorld, statementsOf, wakeOnly } from "./path-world.ts";
import { ask, drain, overConnections, readAll } from "./requests.ts";

/** Payouts before anything is measured, and measured ones. */
export interface NetworkPlan {
  readonly warm: number;
  readonly payouts: number;
}

/** The amount of one measurement. */
export interface PathPlan {
  readonly networks: Readonly<Record<NetworkName, NetworkPlan>>;
  readonly deposits: DepositPlan;
  readonly alone: number; // one a second
  /** Until the agent counts the network as idle: a minute after its last payout. */
  readonly settleMs: number;
  readonly idleMs: number;
}

/** All but the rate: a payout. */
export interface LoadFigures {
  readonly completedPerSecond: number; // in the steady part
  readonly signerCpuUs: number;
  readonly courierCpuUs: number;
  readonly gatewayCpuUs: number;
  readonly nodeCalls: number; // those of agent and gateway together, to the network's node
  readonly nodeKiB: number; // read from it by both
  readonly statements: number; // those of the gateway to SQLite
  readonly statementsOutside: number; // those outside of a transaction
  readonly commits: number;
}

export interface PathFigures {
  readonly networks: Readonly<Record<NetworkName, LoadFigures>>;
  readonly deposits: DepositFigures;
  /** Each payout's own times at one a second. */
  readonly alone: {
    readonly postToNodeMs: readonly number[];
    readonly postToCompletedMs: readonly number[];
  };
  readonly nodeCallsAlone: number; // a payout at one a second, without those of an idle second
  readonly nodeCallsIdlePerSecond: number; // agent and gateway together
}

const connections = 64;
const completedMsMax = 120_000;
/** More than a second, so that the payouts fall on every part of a block's time. */
const aloneMs = 1_050;

let orders = 0;

interface Order {
  readonly hex: string; // the receiver's 20 bytes
  readonly orderId: string;
  readonly body: string;
}

/** An order to an address that nobody paid before. */
function newOrder(name: NetworkName): Order {
  orders += 1;
  const { currency, amount } = networks[name];
  const { hex, address } = newReceiver(name);
  const orderId = `path-${orders}`;
  return { hex, orderId, body: JSON.stringify({ currency, amount, orderId, address }) };
}

/** Withdrawals in a status, the newest one at most, as the shop reads them. */
async function someWith(kit: Kit, status: number): Promise<string> {
  const path = `/transactions?limit=1&transactionType=2&status=${status}`;
  return (await drain(await ask(kit.gatewayUrl, { path, shopKey: kit.shopKey }))).head;
}

async function allCompleted(kit: Kit): Promise<void> {
  await until("every order Completed", completedMsMax, async () =>
    (await someWith(kit, 0)) === "[]" ? true : undefined,
  );
  const failed = await someWith(kit, 2);
  if (failed !== "[]") throw new Error(`an order failed: ${failed}`);
}

/** The times at which orders turned Completed, in milliseconds, as the shop reads them. */
async function completedAt(
  kit: Kit,
  name: NetworkName,
  orderIds: ReadonlySet<string>,
): Promise<readonly number[]> {
  const path = `/transactions?transactionType=2&status=1&currency=${networks[name].currency}`;
  const records = JSON.parse(
    await readAll(await ask(kit.gatewayUrl, { path, shopKey: kit.shopKey })),
  ) as readonly {
    readonly orderId: string;
    readonly changedAt: string;
  }[];
  return records
    .filter(({ orderId }) => orderIds.has(orderId))
    .map(({ changedAt }) => Date.parse(changedAt));
}

/** So many orders over 64 connections, each order behind the answer to the one before. */
async function load(world: PathWorld, name: NetworkName, payouts: number): Promise<LoadFigures> {
  const { kit } = world;
  const { ofAgent, ofGateway } = networkOf(world, name);
  const pids = [kit.signerPid() ?? 0, kit.courierPid() ?? 0, kit.gateway?.pid ?? 0];
  const made = Array.from({ length: payouts }, () => newOrder(name));
  const orderIds = new Set(made.map(({ orderId }) => orderId));
  const used = async (): Promise<readonly number[]> => {
    const { statements, outside, commits } = await statementsOf(world);
    const [calls, bytes] = [
      ofAgent.calls() + ofGateway.calls(),
      ofAgent.bytes() + ofGateway.bytes(),
    ];
    return [...pids.map(cpuUsOf), calls, bytes / 1_024, statements, outside, commits];
  };
  const before = await used();
  await overConnections(connections, made, async ({ body }, agent) => {
    await drain(
      await ask(kit.gatewayUrl, { path: "/autoWithdraw", shopKey: kit.shopKey, body, agent }),
    );
  });
  await allCompleted(kit);
  const each = (await used()).map((after, at) => (after - (before[at] ?? 0)) / payouts);
  const [signerCpuUs = 0, courierCpuUs = 0, gatewayCpuUs = 0, nodeCalls = 0, nodeKiB = 0] = each;
  const [statements = 0, statementsOutside = 0, commits = 0] = each.slice(5);
  return {
    completedPerSecond: steadyRate(await completedAt(kit, name, orderIds)),
    ...{
      signerCpuUs,
      courierCpuUs,
      gatewayCpuUs,
      nodeCalls,
      nodeKiB,
      statements,
      statementsOutside,
      commits,
    },
  };
}

/** The payouts of each network, one network after the other; no other makes blocks meanwhile. */
export async function measureNetworks(
  world: PathWorld,
  plans: Readonly<Partial<Record<NetworkName, NetworkPlan>>>,
): Promise<Partial<Record<NetworkName, LoadFigures>>> {
  const figures: Partial<Record<NetworkName, LoadFigures>> = {};
  for (const [name, { warm, payouts }] of Object.entries(plans) as [NetworkName, NetworkPlan][]) {
    await wakeOnly(world, name);
    if (warm > 0) await load(world, name, warm);
    figures[name] = await load(world, name, payouts);
  }
  return figures;
}

/**
 * One order, from before it is sent; milliseconds until its bytes pass to the node, and to
 * Completed.
 */
async function payAlone(
  world: PathWorld,
): Promise<{ readonly toNodeMs: number; readonly toCompletedMs: number }> {
  const { kit } = world;
  const { hex, body } = newOrder("evm");
  const passed = networkOf(world, "evm").ofAgent.passed(hex);
  const began = performance.now();
  const asked = { shopKey: kit.shopKey };
  const answer = JSON.parse(
    (await drain(await ask(kit.gatewayUrl, { ...asked, path: "/autoWithdraw", body }))).head,
  ) as {
    readonly transactionId: string;
  };
  const path = `/transaction/${answer.transactionId}?transactionType=2`;
  await until(
    "a lone payout Completed",
    completedMsMax,
    async () =>
      /"status":1\b/.test((await drain(await ask(kit.gatewayUrl, { ...asked, path }))).head)
        ? true
        : undefined,
    () => "",
    25,
  );
  const toCompletedMs = performance.now() - began;
  return { toNodeMs: (await passed) - began, toCompletedMs };
}

/** The EVM node's calls while nobody pays, then payouts at one a second. */
async function measureAlone(
  world: PathWorld,
  plan: PathPlan,
): Promise<Omit<PathFigures, "networks" | "deposits">> {
  const { ofAgent, ofGateway } = networkOf(world, "evm");
  await wakeOnly(world, "evm");
  await sleep(plan.settleMs);
  const calls = (): number => ofAgent.calls() + ofGateway.calls();
  const idleFrom = calls();
  await sleep(plan.idleMs);
  const nodeCallsIdlePerSecond = (calls() - idleFrom) / (plan.idleMs / 1000);
  const aloneFrom = calls();
  const began = performance.now();
  const lone: ReturnType<typeof payAlone>[] = [];
  for (let at = 0; at < plan.alone; at += 1) {
    lone.push(payAlone(world));
    await sleep(Math.max(0, began + (at + 1) * aloneMs - performance.now()));
  }
  const times = await Promise.all(lone);
  const idleCalls = (nodeCallsIdlePerSecond * (performance.now() - began)) / 1000;
  return {
    alone: {
      postToNodeMs: times.map(({ toNodeMs }) => toNodeMs),
      postToCompletedMs: times.map(({ toCompletedMs }) => toCompletedMs),
    },
    ...{ nodeCallsAlone: (calls() - aloneFrom - idleCalls) / plan.alone, nodeCallsIdlePerSecond },
  };
}

/** Starts everything, takes all figures of one round, and ends it. */
export async function measurePath(plan: PathPlan): Promise<PathFigures> {
  const world = await startPathWorld(Object.keys(plan.networks) as NetworkName[]);
  try {
    const figures = (await measureNetworks(world, plan.networks)) as PathFigures["networks"];
    const alone = await measureAlone(world, plan);
    // The last: each request that waits is watched, which costs questions.
    return { networks: figures, ...alone, deposits: await measureDeposits(world, plan.deposits) };
  } finally {
    await world.close();
  }
}
