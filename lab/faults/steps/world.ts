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
import { type KillReport, killAll, RecordKiller } from "./killer.ts";
import { LedgerWatch } from "./ledger-watch.ts";
import { type AskedPayment, policyOf, StepsOrders } from "./orders.ts";
import type { Round, Victim } from "./plan.ts";
import { Progress, type RecordedStep } from "./steps.ts";

/** As long as a machine needs that does much else. */
const readyMs = 600_000;
/** A step that has not come by then is missed. */
const stepMs = 120_000;
/** An order has to end before so many more are struck. */
const openMax = 3;

const missed: KillReport = { isMet: false, isKilled: false };

export interface StrikeReport {
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
  readonly #killer: RecordKiller;
  readonly #hotWalletAddress: string;
  #gatewayStart: Promise<void> = Promise.resolve();
  /** The shop's and the operator's part in the order that is struck. */
  #asking: Promise<unknown> = Promise.resolve();

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
    const ledger = join(kit.stateDir, "signer", "ledger");
    this.#ledger = new LedgerWatch(ledger);
    this.#killer = new RecordKiller(ledger);
    this.orders = new StepsOrders(kit, chain, seed);
  }

  /** Closes the chain too, at its end. */
  static async create(chain: StepsChain, seed: string): Promise<StepsWorld> {
    const gate = new Gate();
    const proxies = await Promise.all(chain.urls.map((url) => startHoldingProxy(url, gate)));
    const kit = await startKit({
      alsoServes: chain.served(),
      policy: { [chain.id]: policyOf(chain) },
      readyMs,
    });
    try {
      change(kit.configPath, (config) => {
        const served = config.chains[chain.chainName];
        if (served === undefined) throw new Error(`the agent has no chain ${chain.chainName}`);
        served.nodes = proxies.map(({ url }) => url);
      });
      await kit.startGateway();
      const paired = await kit.pair();
      if (paired.code !== 0)
        throw new Error(`pair.js ended with ${paired.code}:\n${paired.output}`);
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
  async strike(round: Round): Promise<StrikeReport> {
    const { step, victim, also, hasCompany } = round;
    await this.#gatewayStart;
    await this.#pids();
    if (hasCompany) await this.orders.post(this.orders.next(false));
    const order = this.orders.next(step.name === "APPROVED");
    const hold = await this.#holdFor(round, order);
    const running = await this.#pids();
    const pids = (also === null ? [victim] : [victim, also]).map((one) => running[one]);
    let [killed, isReorganised]: [KillReport, boolean] = [missed, false];
    const follow = this.#prepares(round, order);
    try {
      const isHeld = hold !== null && step.by !== "record";
      killed = isHeld
        ? await this.#killHeld(round, order, hold, pids)
        : await this.#killAt(round, order, pids);
    } finally {
      follow();
      hold?.end(round.passes ? "passes" : "is dropped");
      this.#chain.disagrees(false);
      this.#chain.goesOn(true);
    }
    if (killed.isKilled && (victim === "gateway" || also === "gateway"))
      await this.#startGateway(round.pauseMs);
    if (killed.isKilled && round.reorganises) isReorganised = await this.#chain.reorganises();
    await this.#asking;
    const settled = this.orders.asked.at(-1 - openMax);
    if (settled !== undefined) await this.orders.ended(settled);
    return { isHit: killed.isMet, isReorganised };
  }

  /** Waits for every order's end, and lets the chain judge. */
  async judge(): Promise<readonly string[]> {
    for (const one of this.orders.asked) await this.orders.ended(one);
    return this.orders.judge(this.#hotWalletAddress);
  }

  async close(): Promise<void> {
    this.#ledger.close();
    await this.#killer.close();
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
    return gateway === null || gateway.child.exitCode !== null || gateway.child.signalCode !== null
      ? undefined
      : gateway.pid;
  }

  async #pids(): Promise<Readonly<Record<Victim, number>>> {
    const pid = (victim: Victim): Promise<number> =>
      until(`a running ${victim}`, readyMs, async () => this.#pidOf(victim), this.#said, 20);
    return {
      signer: await pid("signer"),
      courier: await pid("courier"),
      gateway: await pid("gateway"),
    };
  }

  async #startGateway(pauseMs: number): Promise<void> {
    const { gateway } = this.#kit;
    await gateway?.ended;
    await sleep(pauseMs);
    this.#gatewayStart = this.#kit.startGateway(readyMs);
    await this.#gatewayStart;
  }

  /**
   * Holds the call by which the step is recognised, from before the order is there. REQUESTED holds
   * the first question too: with its answer known, the intent is in the same write.
   */
  async #holdFor({ step }: Round, { receiver }: AskedPayment): Promise<Hold | null> {
    const chain = this.#chain;
    if (step.by === "broadcast question")
      return this.#gate.hold("question", (call) => chain.isBroadcast(call, receiver));
    if (step.by === "broadcast answer")
      return this.#gate.hold("answer", (call) => chain.isBroadcast(call, receiver));
    if (step.by !== "first query" && step.name !== "REQUESTED") return null;
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
    return this.#gate.hold("question", (call) => chain.isFirstQuery(call, receiver));
  }

  /** The shop's answer, or a record. */
  async #killAt(
    { step }: Round,
    order: AskedPayment,
    pids: readonly number[],
  ): Promise<KillReport> {
    if (step.by === "answer") {
      await this.orders.post(order);
      return killAll(pids);
    }
    const { name, before } = step;
    const killing = this.#killer.kill(
      { orderId: order.orderId, step: name as RecordedStep, before, pids },
      stepMs,
    );
    // The record may come before the shop has its answer, and a dead gateway gives none.
    const posting = this.orders.post(order);
    this.#asking = name === "APPROVED" ? posting.then(() => this.#approve(order)) : posting;
    this.#asking.catch(() => undefined); // awaited below
    return killing;
  }

  /** The call waits as long as the kill needs; the ledger has to have approved the payment. */
  async #killHeld(
    { step: { before } }: Round,
    order: AskedPayment,
    hold: Hold,
    pids: readonly number[],
  ): Promise<KillReport> {
    await this.orders.post(order);
    const isInTime = await Promise.race([
      hold.first.then(() => true),
      sleep(stepMs, false, { ref: false }),
    ]);
    const approved = async (): Promise<true | undefined> =>
      this.#progressOf(order).reached.has("APPROVED") ? true : undefined;
    const isApproved = await until("an approval", stepMs, approved, this.#said, 5).catch(
      () => false,
    );
    const { reached } = this.#progressOf(order);
    return isInTime && isApproved && !before.some((later) => reached.has(later))
      ? killAll(pids)
      : missed;
  }

  #progressOf({ orderId }: AskedPayment): Progress {
    const progress = new Progress(orderId);
    for (const record of this.#ledger.records) progress.take(record);
    return progress;
  }

  /**
   * Lets a payment be on its way, or be in a block and not final, until the kill. @returns the way
   * to end it
   */
  #prepares({ step }: Round, { orderId }: AskedPayment): () => void {
    const progress = new Progress(orderId);
    return this.#ledger.follow((fresh) => {
      for (const record of fresh) progress.take(record);
      if (!progress.reached.has("SIGNED")) return;
      if (step.name === "BROADCAST") this.#chain.goesOn(false);
      if (step.name === "INCLUDED") this.#chain.disagrees(true);
    });
  }

  /** An operator's yes, given until the ledger has it. */
  async #approve({ transactionId }: AskedPayment): Promise<void> {
    const look = async (): Promise<true | undefined> => {
      const isThere = this.#ledger.records.some(
        (one) => one.kind === "APPROVED" && one.transactionId === transactionId,
      );
      if (isThere) return true;
      await this.#kit.cli("approve", transactionId, "--yes");
      return undefined;
    };
    await until(`the approval of ${transactionId}`, readyMs, look, this.#said);
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
