/**
 * The whole system on one chain, killed at the steps of its payouts: signer, courier and gateway as
 * they are really started, with a proxy between the courier and each node that can hold a call. The
 * launcher starts signer and courier again, this world the gateway. An order's way goes on beneath
 * the next kills; at the end the chain judges.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Gate, type Hold, type HoldingProxy, startHoldingProxy } from "../../kit/holding-proxy.ts";
import { type Kit, startKit } from "../../kit/kit.ts";
import { until } from "../../kit/processes.ts";
import type { StepsChain } from "./chain.ts";
import { LedgerWatch } from "./ledger-watch.ts";
import { type Asked, policyOf, StepsOrders } from "./orders.ts";
import type { Round, Victim } from "./plan.ts";
import { Progress, type Recorded } from "./steps.ts";

const readyMs = 120_000;
/** A step that has not come by then is missed. */
const stepMs = 90_000;
const approveMs = 60_000;
/** An order has to end before so many more are struck. */
const openMax = 3;

/** The end of a round's wait: the step, a later one, or nothing. */
type Found = "step" | "later" | "nothing";

export interface Struck {
  readonly isHit: boolean;
  readonly isReorganised: boolean;
}

export class StepsWorld {
  readonly orders: StepsOrders;
  readonly #kit: Kit;
  readonly #chain: StepsChain;
  readonly #gate: Gate;
  readonly #proxies: readonly HoldingProxy[];
  readonly #ledger: LedgerWatch;
  readonly #hotWalletAddress: string;
  #gatewayStart: Promise<void> = Promise.resolve();

  private constructor(
    kit: Kit,
    chain: StepsChain,
    nodes: { readonly gate: Gate; readonly proxies: readonly HoldingProxy[] },
    hotWalletAddress: string,
    seed: string,
  ) {
    this.#kit = kit;
    this.#chain = chain;
    this.#gate = nodes.gate;
    this.#proxies = nodes.proxies;
    this.#hotWalletAddress = hotWalletAddress;
    this.#ledger = new LedgerWatch(join(kit.stateDir, "signer", "ledger"));
    this.orders = new StepsOrders(kit, chain, seed);
  }

  /** Closes the chain too, at its end. */
  static async create(chain: StepsChain, seed: string): Promise<StepsWorld> {
    const gate = new Gate();
    const proxies = await Promise.all(chain.urls.map((url) => startHoldingProxy(url, gate)));
    const kit = await startKit({ alsoServes: chain.served(), policy: { [chain.id]: policyOf(chain) }, readyMs });
    try {
      change(kit.configPath, (config) => {
        const served = config.chains[chain.chainName];
        if (served === undefined) throw new Error(`the agent has no chain ${chain.chainName}`);
        served.nodes = proxies.map(({ url }) => url);
      });
      await kit.startGateway();
      const paired = await kit.pair();
      if (paired.code !== 0) throw new Error(`pair.js ended with ${paired.code}:\n${paired.output}`);
      const { output } = await kit.cli("address", chain.id, "--json");
      const { address } = JSON.parse(output) as { address: string };
      await kit.startCrypto();
      await chain.fund(kit, address);
      const world = new StepsWorld(kit, chain, { gate, proxies }, address, seed);
      await world.orders.funded();
      return world;
    } catch (error) {
      await kit.close();
      for (const proxy of proxies) await proxy.close();
      await chain.close();
      throw error;
    }
  }

  /** One order, and a kill at a step of its way. */
  async strike(round: Round): Promise<Struck> {
    const { step, victim, also } = round;
    await this.#ready();
    if (round.hasCompany) await this.orders.post(this.orders.next(false));
    const order = this.orders.next(step.name === "APPROVED");
    const hold = await this.#holdFor(round, order);
    const pids = await this.#pids();
    let [isHit, isReorganised] = [false, false];
    try {
      const posted = this.orders.post(order);
      if (step.by !== "answer") await posted;
      const found = await this.#wait(round, order, hold, posted);
      isHit = found === "step" && isKilled(pids[victim]);
      if (isHit && also !== null) isKilled(pids[also]);
    } finally {
      hold?.end(round.passes ? "passes" : "is dropped");
      this.#chain.disagrees(false);
      this.#chain.goesOn(true);
    }
    if (isHit && (victim === "gateway" || also === "gateway")) await this.#startGateway(round.pauseMs);
    if (isHit && round.reorganises) isReorganised = await this.#chain.reorganises();
    if (step.name === "APPROVED") await this.#approve(order);
    const settled = this.orders.asked.at(-1 - openMax);
    if (settled !== undefined) await this.orders.ended(settled);
    return { isHit, isReorganised };
  }

  /** Waits for every order's end, and lets the chain judge. */
  async judge(): Promise<readonly string[]> {
    for (const one of this.orders.asked) await this.orders.ended(one);
    return this.orders.judge(this.#hotWalletAddress);
  }

  async close(): Promise<void> {
    this.#ledger.close();
    await this.#gatewayStart.catch(() => undefined);
    await this.#kit.close();
    for (const proxy of this.#proxies) await proxy.close();
    await this.#chain.close();
  }

  readonly #said = (): string => this.#kit.crypto?.output().slice(-3_000) ?? "";

  #pidOf(victim: Victim): number | undefined {
    if (victim === "signer") return this.#kit.signerPid();
    if (victim === "courier") return this.#kit.courierPid();
    const { gateway } = this.#kit;
    return gateway === null || gateway.child.exitCode !== null || gateway.child.signalCode !== null ? undefined : gateway.pid;
  }

  async #pids(): Promise<Readonly<Record<Victim, number>>> {
    const pid = (victim: Victim): Promise<number> =>
      until(`a running ${victim}`, readyMs, async () => this.#pidOf(victim), this.#said, 20);
    return { signer: await pid("signer"), courier: await pid("courier"), gateway: await pid("gateway") };
  }

  async #ready(): Promise<void> {
    await this.#gatewayStart;
    await this.#pids();
  }

  async #startGateway(pauseMs: number): Promise<void> {
    const { gateway } = this.#kit;
    await gateway?.ended;
    await sleep(pauseMs);
    this.#gatewayStart = this.#kit.startGateway(readyMs);
    await this.#gatewayStart;
  }

  /** Holds the call by which the step is recognised, from before the order is there. */
  async #holdFor({ step }: Round, { receiver }: Asked): Promise<Hold | null> {
    const chain = this.#chain;
    if (step.by === "broadcast question") return this.#gate.hold("question", (call) => chain.isBroadcast(call, receiver));
    if (step.by === "broadcast answer") return this.#gate.hold("answer", (call) => chain.isBroadcast(call, receiver));
    if (step.by !== "facts") return null;
    if (chain.asksAtItsBeginning) {
      const { courier } = await this.#pids();
      process.kill(courier, "SIGKILL");
      await until(
        "the courier's end",
        readyMs,
        async () => (this.#kit.courierPid() === courier ? undefined : true),
        this.#said,
        5,
      );
    }
    return this.#gate.hold("question", (call) => chain.isForFacts(call, receiver));
  }

  /** Resolves in the moment of the step, as soon as it is seen. */
  async #wait(round: Round, order: Asked, hold: Hold | null, posted: Promise<void>): Promise<Found> {
    const { step } = round;
    if (step.by === "answer") {
      await posted;
      return "step";
    }
    const progress = new Progress(order.transactionId);
    let isHeld = false;
    const judge = (): Found => {
      if (step.before.some((later) => progress.reached.has(later))) return "later";
      const isSeen = step.by === "record" ? progress.reached.has(step.name as Recorded) : isHeld;
      return isSeen && (step.by !== "facts" || progress.reached.has("APPROVED")) ? "step" : "nothing";
    };
    if (step.name === "APPROVED") void this.#approve(order).catch(() => undefined);
    return new Promise((resolve) => {
      const end = (found: Found): void => {
        clearTimeout(timer);
        unfollow();
        resolve(found);
      };
      const look = (): void => {
        const found = judge();
        if (found !== "nothing") end(found);
        else this.#prepare(round, progress);
      };
      const timer = setTimeout(() => end("nothing"), stepMs);
      const unfollow = this.#ledger.follow((fresh) => {
        for (const record of fresh) progress.take(record);
        look();
      });
      for (const record of this.#ledger.records) progress.take(record);
      void hold?.first.then(() => {
        isHeld = true;
        look();
      });
      look();
    });
  }

  /** A payment is on its way, or is in a block and not final, for as long as this takes. */
  #prepare({ step }: Round, progress: Progress): void {
    if (!progress.reached.has("SIGNED")) return;
    if (step.name === "BROADCAST") this.#chain.goesOn(false);
    if (step.name === "INCLUDED") this.#chain.disagrees(true);
  }

  /** An operator's yes, given until the ledger has it. */
  async #approve({ transactionId }: Asked): Promise<void> {
    const look = async (): Promise<true | undefined> => {
      const isThere = this.#ledger.records.some((one) => one.kind === "APPROVED" && one.transactionId === transactionId);
      if (isThere) return true;
      await this.#kit.cli("approve", transactionId, "--yes");
      return undefined;
    };
    await until(`the approval of ${transactionId}`, approveMs, look, this.#said);
  }
}

/** False for a process that has ended by itself. */
function isKilled(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}

interface AgentSettings {
  readonly chains: Record<string, { nodes: string[] } | undefined>;
}

function change(path: string, by: (config: AgentSettings) => void): void {
  const config = JSON.parse(readFileSync(path, "utf8")) as AgentSettings;
  by(config);
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
}
