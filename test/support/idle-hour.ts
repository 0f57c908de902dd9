/**
 * A gateway's watcher and an agent's watch over one chain, by a clock of the test: what both ask
 * while nobody pays. The programs are the product's own; blocks, looks and polls come in the order
 * of their times, and none waits by a real clock.
 */

import { createChainAccess } from "../../agent/courier/nodes/chain.ts";
import { type ChainPolling, startChainPolling } from "../../agent/courier/watch/watch.ts";
import { deriveAccounts, pairedAccountsOf } from "../../agent/keystore/nodes.ts";
import { openSender, openWatcher } from "../../chains/connect.ts";
import { familyOf } from "../../chains/families.ts";
import { paceOf } from "../../chains/final-times.ts";
import type { SenderNodes } from "../../chains/nodes.ts";
import type { GatewayChain, GatewayCurrency } from "../../gateway/config/config.ts";
import { rightClock } from "../../gateway/own-clock.ts";
import { createSignals } from "../../gateway/store/signals.ts";
import { createSweeps } from "../../gateway/sweeps/sweeps.ts";
import { ChainWatch } from "../../gateway/watcher/watcher.ts";
import { unpricedChoices } from "../../lab/kit/choices.ts";
import {
  type GatewayDatabase,
  gatewayDatabase,
  giveAddress,
  pairAgent,
  silentLog,
} from "../../lab/kit/gateway-database.ts";
import { fixedSeed } from "../../lab/store-fixture/setting.ts";
import {
  begunMs,
  currenciesOn,
  type HourChain,
  openHourChain,
  presetNamed,
} from "./hour-chains.ts";

const dayMs = 86_400_000;

/** One paired agent whose wallet holds coins, and one address that was issued and paid. */
export class IdlePrograms {
  nowMs = begunMs;
  readonly chain: HourChain;
  readonly hot: string;
  readonly faults: string[] = [];
  readonly #blockMs: number;
  readonly #db: GatewayDatabase;
  readonly #watch: ChainWatch;
  readonly #sender: SenderNodes;
  readonly #agent: ChainPolling;
  #poll: { readonly atMs: number; readonly run: () => void } | null = null;
  #polled: () => void = () => {};
  #blockAtMs = begunMs;
  #lookAtMs = begunMs;
  #states = 0;

  constructor(name: string, chain: HourChain) {
    const { lines, blockMs } = presetNamed(name);
    const family = familyOf(networkOf(lines.family, lines.chainId));
    this.chain = chain;
    this.#blockMs = blockMs;
    this.#db = gatewayDatabase();
    const network = networkOf(lines.family, lines.chainId);
    const { store } = this.#db;
    const accounts = pairedAccountsOf(
      deriveAccounts(fixedSeed("an idle hour"), [family.addressSpace.name]),
    ).map((one) => ({
      ...one,
      firstAddress: one.purpose === "deposits" ? family.depositAddress(one.id, 0) : one.id,
    }));
    const hot = accounts.find(({ purpose }) => purpose === "hot")?.id ?? "";
    const { id: agent } = pairAgent(store, "a", hot);
    const currencies = currenciesOn(name).map(
      ([id, { lines: of }]) =>
        ({
          ...of,
          id,
          network,
          contract: of.contract ?? "",
          depositOnly: false,
          maxFee: "1",
          address: "",
        }) as unknown as GatewayCurrency,
    );
    store.database.run(
      "UPDATE agents SET accounts = ?, networks = ?, currencies = ?, nextDepositIndex = 1",
      ...[JSON.stringify(accounts), JSON.stringify([network]), JSON.stringify(currencies)],
    );
    this.hot = hot;
    const deposits = accounts.find(({ purpose }) => purpose === "deposits");
    if (deposits !== undefined)
      giveAddress(
        store,
        { id: "d1", address: deposits.firstAddress, place: 0, agent },
        {
          ...{
            createdAt: begunMs - dayMs,
            changedAt: begunMs - dayMs,
            expiresAt: begunMs - dayMs / 2,
            network,
          },
          ...{
            currency: currencies[0]?.id ?? "",
            status: 1,
            stage: "completed",
            units: "100000",
          },
        },
      );
    chain.fund(hot, begunMs);
    const configured = { ...lines, network, nodes: chain.urls } as unknown as GatewayChain;
    const clock = (): number => this.nowMs;
    const common = { chain: configured, log: () => {}, clock };
    this.#sender = openSender({
      ...common,
      tokens: currencies.filter(({ contract }) => contract !== ""),
    });
    const byId = Object.fromEntries(currencies.map((one) => [one.id, one]));
    const config = {
      chains: {},
      currencies: byId,
      lifetimes: { withdrawalHours: 24 },
      sweepsAtOnce: 50,
    } as never;
    const shared = {
      store,
      signals: createSignals(),
      log: silentLog,
      clock,
      run: "one run",
      config,
    };
    this.#watch = new ChainWatch(
      "one",
      configured,
      {
        ...shared,
        choices: unpricedChoices(config, clock),
        ...{ monotonic: clock, ownClock: () => rightClock, onPass: createSweeps(shared).onPass },
        openReader: () => openWatcher(common),
      },
      byId as never,
    );
    const access = createChainAccess(this.#sender, clock, paceOf({ ...lines }));
    this.#agent = startChainPolling({
      ...{ access, account: hot, pollMsMin: 250, pollMsMax: 2_000, clock, isIdle: () => true },
      ...{
        onHead: () => {},
        onChainState: () => {
          this.#states += 1;
        },
      },
      onAway: (code, words) => this.faults.push(`${code} ${words}`),
      onBug: (error) => this.faults.push(String(error)),
      wait: (run, ms) => {
        this.#poll = { atMs: this.nowMs + ms, run };
        this.#polled();
        return () => {};
      },
    });
  }

  /** The agent's states of the chain. */
  get states(): number {
    return this.#states;
  }

  /** Lets `spanMs` pass. @returns the questions to each server meanwhile */
  async pass(spanMs: number): Promise<readonly number[]> {
    const before = this.chain.asked().map(({ length }) => length);
    const endMs = this.nowMs + spanMs;
    await this.#settled();
    for (;;) {
      const pollAtMs = this.#poll?.atMs ?? endMs;
      this.nowMs = Math.max(this.nowMs, Math.min(this.#blockAtMs, this.#lookAtMs, pollAtMs));
      if (this.nowMs >= endMs) break;
      if (this.nowMs >= this.#blockAtMs) {
        this.chain.mine(this.nowMs);
        this.#blockAtMs += this.#blockMs;
      } else if (this.nowMs >= this.#lookAtMs) {
        while (!(await this.#watch.passOnce()));
        this.#lookAtMs = this.nowMs + this.#watch.pauseMs;
      } else {
        const { run } = this.#poll as { run: () => void };
        this.#poll = null;
        run();
        await this.#settled();
      }
    }
    const status = this.#watch.status();
    if (!status.ok) this.faults.push(status.detail);
    return this.chain.asked().map(({ length }, at) => length - (before[at] ?? 0));
  }

  #settled(): Promise<void> {
    if (this.#poll !== null) return Promise.resolve();
    return new Promise((resolve) => {
      this.#polled = resolve;
    });
  }

  async close(): Promise<void> {
    await this.#watch.close();
    this.#agent.close();
    this.#sender.close();
    await this.chain.close();
    this.#db.remove();
  }
}

function networkOf(family: string, chainId: number | string): string {
  const namespace = { evm: "eip155", tron: "tron", xrp: "xrpl" }[family] ?? "bip122";
  return `${namespace}:${chainId}`;
}

export async function openIdlePrograms(name: string): Promise<IdlePrograms> {
  return new IdlePrograms(name, await openHourChain(name));
}
