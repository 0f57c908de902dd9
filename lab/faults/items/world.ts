/**
 * Two merchants on one chain in memory, and the watcher's own passes over it. A plant puts a fault
 * into the answers about merchant A's items; what everybody else sees is the trace. The same story
 * runs with and without the plant. No network, no timers.
 */

import { createHash } from "node:crypto";
import { deriveAccounts, pairedAccountsOf } from "../../../agent/keystore/nodes.ts";
import { familyOf } from "../../../chains/families.ts";
import type { WatcherNodes } from "../../../chains/nodes.ts";
import { hasTags } from "../../../chains/payees.ts";
import { findChainPreset } from "../../../chains/presets.ts";
import { isAnswer } from "../../../gateway/answer/answer.ts";
import type { GatewayChain, GatewayCurrency } from "../../../gateway/config/config.ts";
import { takeAddress } from "../../../gateway/deposits/fresh-address.ts";
import type { Fault } from "../../../gateway/faults/fault.ts";
import { rightClock } from "../../../gateway/own-clock.ts";
import { makeAddressMarks } from "../../../gateway/store/address-marks.ts";
import { issueAddress } from "../../../gateway/store/address-states.ts";
import { depositAccountIdOn } from "../../../gateway/store/agent-accounts.ts";
import { readAgent } from "../../../gateway/store/agents.ts";
import { keepNativeCoins } from "../../../gateway/store/posting.ts";
import type { AgentRow } from "../../../gateway/store/rows.ts";
import { createSignals } from "../../../gateway/store/signals.ts";
import { insertSignature } from "../../../gateway/store/signatures.ts";
import type { Database } from "../../../gateway/store/store.ts";
import { createSweeps, type Sweeps } from "../../../gateway/sweeps/sweeps.ts";
import { ChainWatch } from "../../../gateway/watcher/watcher.ts";
import { unpricedChoices } from "../../kit/choices.ts";
import {
  askWithdrawal,
  type GatewayDatabase,
  gatewayDatabase,
  haveAddress,
  insertTransaction,
  pairAgent,
  readTransaction,
  silentLog,
} from "../../kit/gateway-database.ts";
import { FixtureChain } from "../../store-fixture/chain.ts";
import { fixedSeed } from "../../store-fixture/setting.ts";
import type { ChainPlant } from "./chain-plants.ts";
import type { Plant, PlantedItems } from "./plant-makers.ts";
import type { FamilyKey } from "./plants.ts";
import { ShopView } from "./shop-view.ts";

export const tokenContract = {
  evm: "0xdAC17F958D2ee523a2206206994597C13D831ec7",
  tron: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
} as const;

export const networkOf: Readonly<Record<FamilyKey, string>> = {
  evm: "eip155:1",
  tron: "tron:0x2b6653dc",
  bitcoin: "bip122:000000000019d6689c085ae165831e93",
  litecoin: "bip122:12a765e31ffd4059bada1e25190f6e98",
  xrp: "xrpl:0",
};

const hourMs = 3_600_000;

/** The lines of the preset of a network, so that its usual times count. */
function chainOn(family: FamilyKey, network: string): GatewayChain {
  const preset = {
    evm: "ethereum",
    tron: "tron",
    bitcoin: "bitcoin",
    litecoin: "litecoin",
    xrp: "xrp",
  }[family];
  return { ...findChainPreset(preset)?.lines, network } as unknown as GatewayChain;
}

/** A payment request of a merchant, or a payout. */
export interface MerchantTransfer {
  readonly merchant: "A" | "B";
  readonly id: string;
  readonly currency: string;
  readonly address: string; // "" for a payout
  readonly txHash: string; // the payout's attempt, or the payment of the request
}

interface Shop {
  readonly name: "A" | "B";
  readonly merchant: string;
  readonly agent: string;
  readonly hot: string;
}

export class ItemWorld {
  readonly family: FamilyKey;
  readonly network: string;
  readonly chain: FixtureChain;
  watch: ChainWatch;
  readonly currencies: readonly GatewayCurrency[];
  readonly requests: MerchantTransfer[] = [];
  readonly payouts: MerchantTransfer[] = [];
  readonly planted: PlantedItems = {
    contracts: new Set(),
    accounts: new Set(),
    transactions: new Set(),
  };
  isPlanted = false;
  nowMs = 1_790_000_000_000;
  readonly #db: GatewayDatabase = gatewayDatabase();
  readonly #shops: readonly Shop[];
  readonly #sweeps: Sweeps;
  readonly #open: () => ChainWatch;
  /** The view of shops and payers. */
  readonly shop: ShopView;
  // By merchant, so that what is made for one names nothing of the other's.
  readonly #made = { A: 0, B: 0 };

  constructor(family: FamilyKey, plant: Plant | ChainPlant | null) {
    this.family = family;
    this.network = networkOf[family];
    const { decimal } = familyOf(this.network).fees;
    const contract = family === "evm" || family === "tron" ? tokenContract[family] : null;
    const base = {
      network: this.network,
      depositOnly: false,
      minPaymentAmount: "0.001",
      surplusTolerance: "0",
      sweep: { isAutomatic: true, least: "0.0001", feeMultiple: 1 },
    };
    this.currencies = [
      { ...base, id: "coin", contract: "", decimal } as unknown as GatewayCurrency,
      ...(contract === null
        ? []
        : [{ ...base, id: "token", contract, decimal: 6 } as unknown as GatewayCurrency]),
    ];
    const decimals = new Map(this.currencies.map((one) => [one.contract, one.decimal]));
    this.chain = new FixtureChain(this.network, { lag: 1, decimals, at: this.nowMs });
    this.#shops = (["A", "B"] as const).map((name) => this.#pair(name));
    const store = this.#db.store;
    store.write((database) => keepNativeCoins(database, new Map([[this.network, "coin"]])));
    const byId = Object.fromEntries(this.currencies.map((one) => [one.id, one]));
    const config = {
      chains: {},
      currencies: byId,
      lifetimes: { withdrawalHours: 24 },
      sweepsAtOnce: 50,
    } as never;
    const common = {
      store,
      signals: createSignals(),
      config,
      log: silentLog,
      clock: () => this.nowMs,
      run: "one run",
    };
    this.#sweeps = createSweeps(common);
    const honest = this.chain.reader();
    const time = { isOn: () => this.isPlanted, now: () => this.nowMs };
    const reader = plant === null ? honest : plant.wrap(honest, { ...this.planted, ...time });
    const openReader = (): WatcherNodes => reader;
    const onPass = this.#sweeps.onPass;
    const clocks = { monotonic: () => this.nowMs, ownClock: () => rightClock };
    const choices = unpricedChoices(config, common.clock);
    const options = { ...common, ...clocks, choices, openReader, onPass };
    this.#open = () => new ChainWatch("one", chainOn(family, this.network), options, byId as never);
    this.watch = this.#open();
    this.shop = new ShopView({
      ...{
        store,
        log: silentLog,
        clock: () => this.nowMs,
        confirmations: (id) => this.watch.confirmations(id),
      },
      config: {
        ...{
          chains: { one: chainOn(family, this.network) },
          currencies: byId as never,
          publicUrl: "https://pay.example",
        },
        limits: { listMax: 0 } as never,
      },
      readAt: () => this.watch.readAt,
      unreadSince: (place) => this.watch.unreadSince(place),
      outOfService: (currency) => this.watch.outOfService().get(currency) ?? "",
      isLate: () => this.watch.isLate,
    });
  }

  /** Another process goes on with the same database. */
  async restart(): Promise<void> {
    await this.watch.close();
    this.watch = this.#open();
  }

  get database(): Database {
    return this.#db.store.database;
  }

  #pair(name: "A" | "B"): Shop {
    const digit = name === "A" ? "a" : "b";
    const { id: agent } = pairAgent(this.#db.store, digit);
    const family = familyOf(this.network);
    const accounts = pairedAccountsOf(
      deriveAccounts(fixedSeed(`items ${name}`), [family.addressSpace.name]),
    ).map((one) => ({
      ...one,
      firstAddress: one.purpose === "deposits" ? family.depositAddress(one.id, 0) : one.id,
    }));
    const paid = this.currencies.map((one) => ({ ...one, maxFee: "0.01", address: "" }));
    this.#db.store.database.run(
      "UPDATE agents SET accounts = ?, networks = ?, currencies = ? WHERE id = ?",
      ...[JSON.stringify(accounts), JSON.stringify([this.network]), JSON.stringify(paid), agent],
    );
    const hot = accounts.find(({ purpose }) => purpose === "hot")?.id ?? "";
    return { name, merchant: name === "A" ? "m1" : "m-b", agent, hot };
  }

  hotOf(name: "A" | "B"): string {
    return this.#shops.find((one) => one.name === name)?.hot ?? "";
  }

  /** The deposit address of a merchant at an index. */
  nextOf(name: "A" | "B", index: number): string {
    const { agent } = this.#shops.find((one) => one.name === name) as Shop;
    const row = readAgent(this.#db.store.database, agent) as AgentRow;
    return familyOf(this.network).depositAddress(depositAccountIdOn(row, this.network), index);
  }

  merchantOf(name: "A" | "B"): string {
    return this.#shops.find((one) => one.name === name)?.merchant ?? "";
  }

  async pass(count = 1): Promise<void> {
    for (let at = 0; at < count; at += 1) {
      this.nowMs += 1_000;
      while (!(await this.watch.passOnce()));
    }
  }

  /** Blocks until what stands in the newest ones is final, read after each. */
  async settle(): Promise<void> {
    for (let block = 0; block < 3; block += 1) {
      this.nowMs += 12_000;
      this.chain.mine(this.nowMs);
      await this.pass();
    }
    this.shop.tell();
  }

  fund(): void {
    const units = 10n ** 21n;
    const grants = this.#shops.flatMap(({ hot: account }) =>
      this.currencies.map(({ contract }) => ({ account, contract, units })),
    );
    this.chain.mine(this.nowMs, [], grants);
  }

  /** Takes an address as an order does, with looks; "" if none leaves. */
  async order(name: "A" | "B", currency: string, expiresMs = hourMs): Promise<string> {
    const shop = this.#shops.find((one) => one.name === name) as Shop;
    const { store } = this.#db;
    const wanted = this.currencies.find(({ id }) => id === currency) as GatewayCurrency;
    const marks = makeAddressMarks(new Map(), {
      append: () => {},
      syncNow: () => {},
      sync: () => {},
      close: () => {},
    });
    for (let tries = 0; tries < 3; tries += 1) {
      const beside = {
        marks,
        readAt: () => this.watch.readAt,
        waitsRead: () => this.watch.waitsRead,
        nowMs: this.nowMs,
        lookedIn: [currency, "coin"],
      };
      const taken = store.write((database) => {
        const place = takeAddress(database, shop.merchant, wanted, beside);
        if (isAnswer(place) || "look" in place) return place;
        const row = {
          status: 0,
          stage: "waiting",
          createdAt: this.nowMs,
          changedAt: this.nowMs,
          expiresAt: this.nowMs + expiresMs,
        } as const;
        const id = this.#id(name);
        const payTo = hasTags(this.network)
          ? familyOf(this.network).accounts.payeeOf(place.address).address
          : place.address;
        insertTransaction(store, {
          ...{ ...row, id, orderId: id, merchant: shop.merchant, currency, network: this.network },
          ...{
            address: place.address,
            payTo,
            units: this.#unitsOf(wanted).toString(),
          },
        });
        issueAddress(database, place.address, { since: 0, nowMs: this.nowMs });
        haveAddress(store, {
          address: place.address,
          agent: place.agent,
          addressIndex: place.addressIndex,
          request: id,
        });
        this.requests.push({
          merchant: name,
          id,
          currency,
          address: place.address,
          txHash: this.chain.hashOf(`pays ${id}`),
        });
        return place.address;
      });
      if (typeof taken === "string") return taken;
      await this.pass();
    }
    return "";
  }

  #unitsOf({ decimal }: GatewayCurrency): bigint {
    return 10n ** BigInt(decimal);
  }

  /** Every request of these merchants, by default of both, is paid in full, in one block. */
  payAll(...names: readonly ("A" | "B")[]): void {
    const own = this.requests.filter(
      ({ merchant }) => names.length === 0 || names.includes(merchant),
    );
    const payments = own.map(({ address, currency, txHash: hash }) => {
      const { contract, decimal } = this.currencies.find(
        ({ id }) => id === currency,
      ) as GatewayCurrency;
      const { address: to, tag } = familyOf(this.network).accounts.payeeOf(address);
      return { hash, from: "a payer", to, tag, contract, units: 10n ** BigInt(decimal) };
    });
    this.chain.mine(this.nowMs, payments);
  }

  /**
   * A payout of a merchant with a signed attempt that a block takes; with an end, no block takes
   * it.
   */
  payOut(name: "A" | "B", slot: number, validUntilMs = 0): void {
    const { agent, hot } = this.#shops.find((one) => one.name === name) as Shop;
    this.#made[name] += 1;
    const to = this.hotOf(name === "A" ? "B" : "A");
    const number = (name === "A" ? 0x1000 : 0x2000) + this.#made[name];
    const id = askWithdrawal(this.#db.store, agent, number, {
      ...{
        network: this.network,
        currency: "coin",
        stage: "broadcast",
        receiver: to,
        payer: hot,
      },
      ...{ units: "1000", expiresAt: this.nowMs + 24 * hourMs },
    });
    const txHash = this.chain.hashOf(`payout ${id}`);
    insertSignature(this.#db.store.database, {
      ...{
        transactionId: id,
        attempt: 1,
        agent,
        network: this.network,
        account: hot,
        slot: `${slot}`,
        txHash,
      },
      ...{ feeMax: "1", seq: this.#made[name], validUntilMs, pin: "", cancel: 0 },
    });
    this.payouts.push({ merchant: name, id, currency: "coin", address: "", txHash });
    if (validUntilMs === 0)
      this.chain.mine(this.nowMs, [
        { hash: txHash, from: hot, slot: `${slot}`, to, units: 1_000n, fee: 1n },
      ]);
  }

  #id(name: "A" | "B"): string {
    this.#made[name] += 1;
    return createHash("sha256")
      .update(`item ${name} ${this.#made[name]}`)
      .digest("hex")
      .slice(0, 32);
  }

  /**
   * The ends, sweeps, records, pages and callbacks of the items that are not left out, the chain's
   * state and its answer to `/ready?chain`.
   */
  trace(isLeftOut: (item: MerchantTransfer) => boolean): readonly string[] {
    const { database } = this.#db.store;
    const rowOf = ({ id }: MerchantTransfer) => {
      const { status, stage, receivedUnits, code } = readTransaction(this.#db.store, id);
      return { status, stage, receivedUnits, code };
    };
    const sweepsOf = ({ address }: MerchantTransfer) =>
      database.all<object>(
        "SELECT currency, units, stage FROM transfers WHERE operation = 'sweep' AND payer = ? ORDER BY number",
        address,
      );
    const unread = ({ currency, address }: MerchantTransfer): boolean =>
      this.watch.unreadSince({ currency, address }) !== null;
    const shown = ({ id }: MerchantTransfer): unknown => this.shop.shownOrAside(id);
    return [
      ...this.requests
        .filter((one) => !isLeftOut(one))
        .map((one) =>
          JSON.stringify([
            one.merchant,
            one.currency,
            one.address,
            rowOf(one),
            sweepsOf(one),
            unread(one),
            shown(one),
          ]),
        ),
      ...this.payouts
        .filter((one) => !isLeftOut(one))
        .map((one) => JSON.stringify([one.merchant, one.txHash, rowOf(one), shown(one)])),
      JSON.stringify([
        ...this.#db.store.database.all(
          "SELECT account, currency, units FROM balances WHERE account = ?",
          this.hotOf("B"),
        ),
      ]),
      `chain ${this.watch.status().ok ? "ready" : "not ready"} ${this.watch.status().detail}`,
    ];
  }

  /** The chain's row, with the codes of what makes it late and of nodes that are out. */
  row(): string {
    const { ok, detail, delays, nodes } = this.watch.status();
    const outs = nodes.filter((node) => !node.ok).map((node) => node.detail);
    return [
      ok ? "ok" : "not read",
      detail,
      ...delays.map(({ code, words }) => `${code}: ${words}`),
      ...outs,
    ].join("; ");
  }

  /** Requests and payouts that are at their end. */
  ended(): { readonly requests: number; readonly payouts: number } {
    const count = (items: readonly MerchantTransfer[]): number =>
      items.filter(({ id }) => readTransaction(this.#db.store, id).status === 1).length;
    return { requests: count(this.requests), payouts: count(this.payouts) };
  }

  get faults(): readonly Fault[] {
    return this.watch.faults.list();
  }

  get store(): GatewayDatabase["store"] {
    return this.#db.store;
  }

  async close(): Promise<void> {
    await this.watch.close();
    this.#db.remove();
  }
}
