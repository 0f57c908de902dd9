/**
 * Deposits on EVM as a shop and its customers have them: requests for an address, the payment page
 * while it waits, and the way from a request to Completed.
 */
import type { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../kit/processes.ts";
import { sendUnlocked } from "../kit/rpc.ts";
import { cpuUsOf } from "./cpu.ts";
import { type PathWorld, wakeOnly } from "./path-world.ts";
import { ask, drain, openPage, overConnections } from "./requests.ts";

/** The amount of one measurement; `warm` is done of each before it counts. */
export interface DepositPlan {
  readonly warm: number;
  readonly requests: number;
  readonly pages: number;
  readonly paid: number; // at once, from request to Completed
  readonly alone: number; // one a second
}

export interface DepositFigures {
  readonly requestsPerSecond: number; // addresses for one merchant
  readonly requestCpuUs: number; // these three: of the gateway, for each
  readonly pageCpuUs: number;
  readonly depositCpuUs: number; // from request to Completed
  readonly requestToCompletedMs: readonly number[]; // at one a second
}

interface OpenDeposit {
  readonly transactionId: string;
  readonly address: string;
  readonly paymentUrl: string;
}

const connections = 16;
const completedMsMax = 120_000;
const aloneMs = 1_050;
const amount = "0.001";
const amountWei = 10n ** 15n;
/** The pause of a request that is refused for a moment and names none. */
const laterMs = 1_000;

/** Pages that wait at once; each is viewed again and again. */
const pagesWaiting = 20;

let requests = 0;

/** One request, sent again while the gateway has no address for it. */
async function request({ kit }: PathWorld, agent?: Agent): Promise<OpenDeposit> {
  requests += 1;
  const body = JSON.stringify({ currency: "eth", amount, orderId: `deposit-${requests}` });
  const asked = {
    path: "/createTransactionRequest",
    shopKey: kit.shopKey,
    body,
    ...(agent === undefined ? {} : { agent }),
  };
  for (;;) {
    const response = await ask(kit.gatewayUrl, asked);
    if (response.statusCode !== 503) return JSON.parse((await drain(response)).head) as OpenDeposit;
    response.resume();
    await sleep(1_000 * Number(response.headers["retry-after"] ?? 0) || laterMs);
  }
}

async function pay({ kit }: PathWorld, { address }: OpenDeposit): Promise<void> {
  await sendUnlocked(kit.anvil.url, { to: address, value: `0x${amountWei.toString(16)}` });
}

async function completed(
  { kit }: PathWorld,
  { transactionId }: OpenDeposit,
  everyMs: number,
): Promise<void> {
  const path = `/transaction/${transactionId}?transactionType=1`;
  const look = async (): Promise<true | undefined> => {
    const { head } = await drain(await ask(kit.gatewayUrl, { path, shopKey: kit.shopKey }));
    return /"status":1\b/.test(head) ? true : undefined;
  };
  await until("a deposit Completed", completedMsMax, look, () => "", everyMs);
}

/** The gateway's CPU for each of so many, in microseconds, and the seconds that all took. */
async function timed(world: PathWorld, count: number, does: () => Promise<void>) {
  const pid = world.kit.gateway?.pid ?? 0;
  const [before, began] = [cpuUsOf(pid), performance.now()];
  await does();
  return { cpuUs: (cpuUsOf(pid) - before) / count, seconds: (performance.now() - began) / 1_000 };
}

const some = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);

/** One deposit, paid as soon as its address is there; milliseconds to Completed. */
async function depositAlone(world: PathWorld): Promise<number> {
  const began = performance.now();
  const asked = await request(world);
  await pay(world, asked);
  await completed(world, asked, 25);
  return performance.now() - began;
}

/** All figures, on the local chain, of which alone blocks are made. */
export async function measureDeposits(
  world: PathWorld,
  plan: DepositPlan,
): Promise<DepositFigures> {
  await wakeOnly(world, "evm");
  const opened: OpenDeposit[] = [];
  const requestMany = (count: number): Promise<void> =>
    overConnections(
      connections,
      some(count),
      async (_, agent) => void opened.push(await request(world, agent)),
    );
  await requestMany(plan.warm);
  const asked = await timed(world, plan.requests, () => requestMany(plan.requests));
  const view = (count: number): Promise<void> =>
    overConnections(connections, some(count), async (at, agent) => {
      await drain(await openPage(opened[at % pagesWaiting]?.paymentUrl ?? "", agent));
    });
  await view(plan.warm);
  const pages = await timed(world, plan.pages, () => view(plan.pages));
  const paid = await timed(world, plan.paid, async () => {
    const all: OpenDeposit[] = [];
    await overConnections(connections, some(plan.paid), async (_, agent) => {
      const one = await request(world, agent);
      await pay(world, one);
      all.push(one);
    });
    // One look at each, but for those that the block of the last one is awaited with.
    for (const one of all.reverse()) await completed(world, one, 250);
  });
  const began = performance.now();
  const alone: Promise<number>[] = [];
  for (const at of some(plan.alone)) {
    alone.push(depositAlone(world));
    await sleep(Math.max(0, began + (at + 1) * aloneMs - performance.now()));
  }
  return {
    ...{ requestsPerSecond: plan.requests / asked.seconds, requestCpuUs: asked.cpuUs },
    ...{ pageCpuUs: pages.cpuUs, depositCpuUs: paid.cpuUs },
    requestToCompletedMs: await Promise.all(alone),
  };
}
