/**
 * What one server of each kind takes, in one run of the real processes on a local chain with blocks
 * of 12 seconds: while nobody pays, by an interval that is multiplied up to a day, and for 1,000
 * orders. Disk is what the folders hold after a clean stop, so no write-ahead file counts.
 */
import { randomBytes } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Kit, startKit } from "../kit/kit.ts";
import { stop, until } from "../kit/processes.ts";
import { residentMiB } from "./agent-process.ts";
import { type CountedNode, countCalls } from "./calls.ts";
import { rounded } from "./figures.ts";
import { ask, drain } from "./requests.ts";

/** What gateway and agent hold or ask. */
interface ProgramAmounts {
  readonly gateway: number;
  readonly agent: number;
}

export interface ResourceFigures {
  readonly idleMinutes: number; // measured; the figures of a day are so many times more
  readonly idleDay: {
    readonly diskKiB: ProgramAmounts;
    readonly memoryMiB: ProgramAmounts;
    readonly questions: ProgramAmounts;
  };
  readonly orders: number;
  readonly afterOrders: {
    readonly diskKiB: ProgramAmounts;
    readonly memoryMiB: ProgramAmounts;
    readonly questions: ProgramAmounts;
  };
}

export interface ResourcePlan {
  readonly orders: number;
  readonly idleMs: number;
  readonly settleMs: number; // until the agent counts the network as idle, which takes it a minute
  readonly blockMs: number;
}

const dayMs = 86_400_000;
const connections = 16;
const completedMsMax = 900_000;
const generous = {
  maxPerWithdrawal: "1000",
  maxPerHour: "1000000",
  maxPerDay: "1000000",
  maxFeePerDay: "1000000",
};

/** Bytes of all files below a folder. */
function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => lstatSync(join(folder, name)))
    .reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
}

class Run {
  readonly #kit: Kit;
  readonly #nodes: { readonly agent: CountedNode; readonly gateway: CountedNode };

  constructor(kit: Kit, nodes: Run["nodes"]) {
    this.#kit = kit;
    this.#nodes = nodes;
  }

  get nodes(): { readonly agent: CountedNode; readonly gateway: CountedNode } {
    return this.#nodes;
  }

  /** Both processes are stopped, the folders are measured, and both are started again. */
  async disk(): Promise<ProgramAmounts> {
    const kit = this.#kit;
    if (kit.crypto !== null) await stop(kit.crypto);
    if (kit.gateway !== null) await stop(kit.gateway);
    const bytes = {
      gateway: bytesIn(dirname(kit.gatewayConfigPath)),
      agent: bytesIn(kit.stateDir),
    };
    await kit.startGateway();
    await kit.startCrypto();
    return bytes;
  }

  /** The agent's are launcher, signer and courier together. */
  memory(): ProgramAmounts {
    const { gateway, crypto, signerPid, courierPid } = this.#kit;
    const of = (pids: readonly (number | undefined)[]): number =>
      rounded(
        pids.reduce<number>((sum, pid) => sum + (pid === undefined ? 0 : residentMiB(pid)), 0),
        0,
      );
    return { gateway: of([gateway?.pid]), agent: of([crypto?.pid, signerPid(), courierPid()]) };
  }

  calls(): ProgramAmounts {
    return { gateway: this.#nodes.gateway.calls(), agent: this.#nodes.agent.calls() };
  }
}

const between = (from: ProgramAmounts, to: ProgramAmounts): ProgramAmounts => ({
  gateway: to.gateway - from.gateway,
  agent: to.agent - from.agent,
});
const times = ({ gateway, agent }: ProgramAmounts, factor: number): ProgramAmounts => ({
  gateway: Math.round(gateway * factor),
  agent: Math.round(agent * factor),
});
const kib = (bytes: ProgramAmounts): ProgramAmounts => times(bytes, 1 / 1_024);

async function startRun(blockMs: number): Promise<{ readonly kit: Kit; readonly run: Run }> {
  const counted: CountedNode[] = [];
  const kit = await startKit({
    ...{ confirmations: 1, blockTimeMs: blockMs, policy: { eth: { ...generous, maxFee: "0.01" } } },
    settings: {
      limits: { readsPerSecond: 100_000, writesPerSecond: 100_000, burst: 5 },
      logLevel: "warn",
    },
    alsoServes: async (nodeUrl) => {
      counted.push(await countCalls(nodeUrl), await countCalls(nodeUrl));
      const local = {
        family: "evm",
        chainId: 31_337,
        nodes: [counted[1]?.url ?? ""],
        confirmations: 1,
      };
      return { chains: { local }, currencies: {} };
    },
  });
  try {
    const [agent, gateway] = counted as [CountedNode, CountedNode];
    await begin(kit, agent.url);
    return { kit, run: new Run(kit, { agent, gateway }) };
  } catch (error) {
    await kit.close();
    for (const node of counted) await node.close();
    throw error;
  }
}

async function begin(kit: Kit, agentNode: string): Promise<void> {
  const config = JSON.parse(readFileSync(kit.configPath, "utf8")) as { chains: { local: object } };
  config.chains.local = { ...config.chains.local, nodes: [agentNode] };
  writeFileSync(kit.configPath, JSON.stringify(config), { mode: 0o600 });
  await kit.startGateway();
  const paired = await kit.pair();
  if (paired.code !== 0) throw new Error(`pair.js ended with ${paired.code}:\n${paired.output}`);
  await kit.fund(10n ** 21n, 0n);
  await kit.startCrypto();
}

/** Withdrawals in a status, the newest one at most, as the shop reads them. */
async function someWith({ gatewayUrl, shopKey }: Kit, status: number): Promise<string> {
  const path = `/transactions?limit=1&transactionType=2&status=${status}`;
  return (await drain(await ask(gatewayUrl, { path, shopKey }))).head;
}

/** So many payouts over a few connections, to addresses that nobody paid before, to Completed. */
async function payOut(kit: Kit, orders: number): Promise<void> {
  let left = orders;
  const one = async (): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (left > 0) {
      left -= 1;
      const address = `0x${randomBytes(20).toString("hex")}`;
      const body = JSON.stringify({
        currency: "eth",
        amount: "0.000001",
        orderId: `resources-${left}`,
        address,
      });
      await drain(
        await ask(kit.gatewayUrl, { path: "/autoWithdraw", shopKey: kit.shopKey, body, agent }),
      );
    }
    agent.destroy();
  };
  await Promise.all(Array.from({ length: connections }, one));
  await until("every order Completed", completedMsMax, async () =>
    (await someWith(kit, 0)) === "[]" ? true : undefined,
  );
  const failed = await someWith(kit, 2);
  if (failed !== "[]") throw new Error(`an order failed: ${failed}`);
}

/** Starts everything, takes all figures, and ends it. */
export async function measureResources(plan: ResourcePlan): Promise<ResourceFigures> {
  const { kit, run } = await startRun(plan.blockMs);
  try {
    await until("funds at the gateway", 60_000, async () => {
      const { head } = await drain(
        await ask(kit.gatewayUrl, { path: "/balance/eth", shopKey: kit.shopKey }),
      );
      return /"available":"0"/.test(head) ? undefined : true;
    });
    const first = await run.disk();
    await sleep(plan.settleMs);
    const idleFrom = run.calls();
    await sleep(plan.idleMs);
    const idleQuestions = between(idleFrom, run.calls());
    const idleMemory = run.memory();
    const second = await run.disk();
    await sleep(plan.settleMs);
    const ordersFrom = run.calls();
    await payOut(kit, plan.orders);
    const questions = between(ordersFrom, run.calls());
    const memoryMiB = run.memory();
    const third = await run.disk();
    const factor = dayMs / plan.idleMs;
    return {
      idleMinutes: rounded(plan.idleMs / 60_000, 1),
      idleDay: {
        diskKiB: times(kib(between(first, second)), factor),
        memoryMiB: idleMemory,
        questions: times(idleQuestions, factor),
      },
      orders: plan.orders,
      afterOrders: { diskKiB: kib(between(second, third)), memoryMiB, questions },
    };
  } finally {
    await kit.close();
    for (const node of [run.nodes.agent, run.nodes.gateway]) await node.close();
  }
}

/** The figures as the table of docs/operations.md. */
export function tableOf({ idleDay, orders, afterOrders }: ResourceFigures): string {
  const row = (name: string, idle: number, after: number): string =>
    `| ${name} | ${idle.toLocaleString("en-US")} | ${after.toLocaleString("en-US")} |`;
  const both = (
    name: string,
    pick: (figures: ResourceFigures["idleDay"]) => ProgramAmounts,
  ): readonly string[] => [
    row(`${name}, gateway`, pick(idleDay).gateway, pick(afterOrders).gateway),
    row(`${name}, agent`, pick(idleDay).agent, pick(afterOrders).agent),
  ];
  return [
    `| | an idle day | ${orders.toLocaleString("en-US")} orders |`,
    "|---|---|---|",
    ...both("disk, KiB more", ({ diskKiB }) => diskKiB),
    ...both("memory, MiB", ({ memoryMiB }) => memoryMiB),
    ...both("questions to its node", ({ questions }) => questions),
  ].join("\n");
}
