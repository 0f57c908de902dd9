/**
 * The whole path as a shop has it: orders over HTTP to the real gateway process, the real agent, a
 * local EVM chain (anvil) and the fake for java-tron, blocks of one second, to Completed. Rates at
 * 64 connections, times at one payout a second, and the calls that the EVM node gets, also while
 * nobody pays.
 */
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { TronWeb } from "tronweb";
import { type Kit, projectRoot, startKit } from "../kit/kit.ts";
import { until } from "../kit/processes.ts";
import { startTronProcess, type TronProcess } from "../tron-node/process.ts";
import { type CountedNode, countCalls } from "./calls.ts";
import { cpuUsOf } from "./cpu.ts";
import { ask, drain } from "./requests.ts";

/** The amount of one measurement: payouts before anything is measured, and measured ones. */
export interface PathPlan {
  readonly evm: { readonly warm: number; readonly payouts: number };
  readonly tron: { readonly warm: number; readonly payouts: number };
  readonly alone: number; // one a second
  readonly settleMs: number; // until the agent counts the network as idle, which takes it a minute
  readonly idleMs: number;
}

interface LoadFigures {
  readonly payoutsPerSecond: number; // first order sent → all Completed
  readonly signerCpuUs: number; // these three: a payout
  readonly courierCpuUs: number;
  readonly gatewayCpuUs: number;
  readonly nodeCalls: number; // a payout: calls of agent and gateway together to the EVM node
}

export interface PathFigures {
  readonly evm: LoadFigures;
  readonly tron: LoadFigures;
  /** Each payout's own times at one a second. */
  readonly alone: {
    readonly postToNodeMs: readonly number[];
    readonly postToCompletedMs: readonly number[];
  };
  readonly nodeCallsAlone: number; // a payout at one a second, without those of an idle second
  readonly nodeCallsIdlePerSecond: number; // agent and gateway together
}

const connections = 64;
const blockMs = 1_000;
/** Blocks below the head that are not solid: the fewest, as one confirmation is on EVM. */
const solidLag = 1;
const completedMsMax = 120_000;
/** More than a second, so that the payouts fall on every part of a block's time. */
const aloneMs = 1_050;
const generous = {
  maxPerWithdrawal: "1000",
  maxPerHour: "1000000",
  maxPerDay: "1000000",
  maxFeePerDay: "1000000",
};

interface Parts {
  readonly kit: Kit;
  readonly tron: TronProcess;
  readonly ofAgent: CountedNode;
  readonly ofGateway: CountedNode;
}

type Coin = "eth" | "trx";

async function startParts(): Promise<Parts> {
  const command = join(projectRoot, "dist", "lab", "tron-node", "command.js");
  const tron = await startTronProcess({ isPaced: true, slotMs: blockMs, solidLag }, command);
  const counted: CountedNode[] = [];
  let kit: Kit | null = null;
  try {
    kit = await startKit({
      ...{ confirmations: 1, blockTimeMs: blockMs },
      settings: {
        limits: { readsPerSecond: 100_000, writesPerSecond: 100_000, burst: 5 },
        logLevel: "warn",
      },
      policy: { eth: { ...generous, maxFee: "0.01" }, trx: { ...generous, maxFee: "60" } },
      alsoServes: async (nodeUrl) => {
        counted.push(await countCalls(nodeUrl), await countCalls(nodeUrl));
        return servedBy(counted[1]?.url ?? "", tron);
      },
    });
    const [ofAgent, ofGateway] = counted as [CountedNode, CountedNode];
    pointAgentAt(kit.configPath, ofAgent.url);
    await kit.startGateway(60_000);
    const paired = await kit.pair();
    if (paired.code !== 0) throw new Error(`pair.js ended with ${paired.code}:\n${paired.output}`);
    await kit.fund(10n ** 21n, 0n);
    const hotWallet =
      /T[1-9A-HJ-NP-Za-km-z]{33}/.exec((await kit.cli("address", "trx")).output)?.[0] ?? "";
    await tron.control("fund", { address: hotWallet, sun: "1000000000000" });
    await kit.startCrypto();
    return { kit, tron, ofAgent, ofGateway };
  } catch (error) {
    await closeAll({ kit, tron, counted });
    throw error;
  }
}

function servedBy(evmUrl: string, tron: TronProcess) {
  return {
    chains: {
      local: { family: "evm", chainId: 31_337, nodes: [evmUrl], confirmations: 1 },
      tron: { family: "tron", chainId: tron.chainId, nodes: tron.urls, confirmations: "finalized" },
    },
    currencies: {
      trx: {
        ...{ chain: "tron", decimal: 6, name: "TRON", symbol: "TRX" },
        ...{ minPaymentAmount: "1", minWithdrawAmount: "0.000001", market: "" },
      },
    },
  };
}

function pointAgentAt(configPath: string, evmUrl: string): void {
  const config = JSON.parse(readFileSync(configPath, "utf8")) as { chains: Record<string, object> };
  config.chains.local = { ...config.chains.local, nodes: [evmUrl] };
  config.chains.tron = { ...config.chains.tron, nodesFrom: "own" };
  writeFileSync(configPath, JSON.stringify(config), { mode: 0o600 });
}

async function closeAll(parts: {
  kit: Kit | null;
  tron: TronProcess;
  counted: readonly CountedNode[];
}): Promise<void> {
  await parts.kit?.close();
  for (const node of parts.counted) await node.close();
  await parts.tron.stop();
}

let orders = 0;

/** An order to an address that nobody paid before; `hex` are its 20 bytes. */
function newOrder(coin: Coin): { readonly hex: string; readonly body: string } {
  orders += 1;
  const hex = randomBytes(20).toString("hex");
  const address = coin === "eth" ? `0x${hex}` : (TronWeb.address.fromHex(`41${hex}`) as string);
  return {
    hex,
    body: JSON.stringify({
      currency: coin,
      amount: "0.000001",
      orderId: `path-${orders}`,
      address,
    }),
  };
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

/** So many orders over 64 connections, each order behind the answer to the one before. */
async function load(
  { kit, ofAgent, ofGateway }: Parts,
  coin: Coin,
  payouts: number,
): Promise<LoadFigures> {
  const pids = [kit.signerPid() ?? 0, kit.courierPid() ?? 0, kit.gateway?.pid ?? 0];
  const made = Array.from({ length: payouts }, () => newOrder(coin));
  const used = (): number[] => pids.map(cpuUsOf);
  const calls = (): number => ofAgent.calls() + ofGateway.calls();
  const [usedBefore, callsBefore] = [used(), calls()];
  const began = performance.now();
  const one = async (): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let order = made.pop(); order !== undefined; order = made.pop()) {
      await drain(
        await ask(kit.gatewayUrl, {
          path: "/autoWithdraw",
          shopKey: kit.shopKey,
          body: order.body,
          agent,
        }),
      );
    }
    agent.destroy();
  };
  await Promise.all(Array.from({ length: connections }, one));
  await allCompleted(kit);
  const seconds = (performance.now() - began) / 1000;
  const [signerCpuUs = 0, courierCpuUs = 0, gatewayCpuUs = 0] = used().map(
    (us, at) => (us - (usedBefore[at] ?? 0)) / payouts,
  );
  const nodeCalls = (calls() - callsBefore) / payouts;
  return {
    payoutsPerSecond: payouts / seconds,
    signerCpuUs,
    courierCpuUs,
    gatewayCpuUs,
    nodeCalls,
  };
}

/**
 * One order, from before it is sent; milliseconds until its bytes pass to the node, and to
 * Completed.
 */
async function payAlone({
  kit,
  ofAgent,
}: Parts): Promise<{ readonly toNodeMs: number; readonly toCompletedMs: number }> {
  const { hex, body } = newOrder("eth");
  const passed = ofAgent.passed(hex);
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

/** Starts everything, takes all figures of one round, and ends it. */
export async function measurePath(plan: PathPlan): Promise<PathFigures> {
  const parts = await startParts();
  const { kit, ofAgent, ofGateway, tron } = parts;
  try {
    await until("funds at the gateway", 60_000, async () => {
      for (const coin of ["eth", "trx"]) {
        const { head } = await drain(
          await ask(kit.gatewayUrl, { path: `/balance/${coin}`, shopKey: kit.shopKey }),
        );
        if (/"available":"0"/.test(head)) return undefined;
      }
      return true;
    });
    const played = { eth: plan.evm, trx: plan.tron };
    const measured = new Map<Coin, LoadFigures>();
    for (const coin of ["eth", "trx"] as const) {
      if (played[coin].warm > 0) await load(parts, coin, played[coin].warm);
      measured.set(coin, await load(parts, coin, played[coin].payouts));
    }
    await sleep(plan.settleMs);
    const calls = (): number => ofAgent.calls() + ofGateway.calls();
    const idleFrom = calls();
    await sleep(plan.idleMs);
    const nodeCallsIdlePerSecond = (calls() - idleFrom) / (plan.idleMs / 1000);
    const aloneFrom = calls();
    const began = performance.now();
    const lone: ReturnType<typeof payAlone>[] = [];
    for (let at = 0; at < plan.alone; at += 1) {
      lone.push(payAlone(parts));
      await sleep(Math.max(0, began + (at + 1) * aloneMs - performance.now()));
    }
    const times = await Promise.all(lone);
    const idleCalls = (nodeCallsIdlePerSecond * (performance.now() - began)) / 1000;
    return {
      ...{ evm: measured.get("eth") as LoadFigures, tron: measured.get("trx") as LoadFigures },
      alone: {
        postToNodeMs: times.map(({ toNodeMs }) => toNodeMs),
        postToCompletedMs: times.map(({ toCompletedMs }) => toCompletedMs),
      },
      ...{ nodeCallsAlone: (calls() - aloneFrom - idleCalls) / plan.alone, nodeCallsIdlePerSecond },
    };
  } finally {
    await closeAll({ kit, tron, counted: [ofAgent, ofGateway] });
  }
}
