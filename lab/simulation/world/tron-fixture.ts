/**
 * The ground of a run on a chain where nothing but time excludes a payment: halts, sleeps in which
 * the chain goes on, branches that take what had expired, receipts that are missing.
 */

import { marginMs, WaitingMoney } from "../invariants/waiting.ts";
import { kernel, note } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import type { ChainFixture, Explorer, Hostilities, JudgedRun, Strikes } from "./chain-fixture.ts";
import type { Plan } from "./plan.ts";
import { providersOf } from "./provider.ts";
import { begun, chainId, contract, hotWallet, nodeUrls } from "./setting.ts";
import { energyOfNew, energySunUsual, TronChain } from "./tron-chain.ts";
import { noTronFaults, TronNode } from "./tron-node.ts";
import { addressHex, readTransfer } from "./tron-raw.ts";

const minuteMs = 60_000;
const haltsMs = [
  5_000,
  20_000,
  minuteMs,
  4 * minuteMs,
  6 * minuteMs,
  9 * minuteMs,
  3 * 60 * minuteMs,
] as const;
const jamsMs = [
  minuteMs,
  4 * minuteMs,
  5 * minuteMs,
  6 * minuteMs,
  9 * minuteMs,
  15 * minuteMs,
] as const;
/** The part of a halt that the machines are awake; they sleep for the rest. */
const awakeMs = 30_000;
const sleepsMs = [30_000, minuteMs, 3 * minuteMs, 5 * minuteMs, 8 * minuteMs] as const;
/**
 * Machines sleep most of the time that such a chain needs, so that runs of an hour are told fast.
 */
const awakeAtOnceMs = 8_000;
const calmSleepMs = 75_000;
const naps = [0, 0, 15_000, 45_000, 75_000, 75_000, 120_000, 180_000] as const;
const lifetimeMs = 300_000;
/** The most that a sweep of coins may leave. */
const restSun = 2_000_000n;
/** How far a made-up chain may be ahead. */
const aheadsMs = [
  0,
  60_000,
  4 * minuteMs,
  8 * minuteMs,
  9 * minuteMs,
  30 * minuteMs,
  24 * 60 * minuteMs,
] as const;
const openTxParams = Object.fromEntries(
  [
    "refBlockBytes",
    "refBlockHash",
    "timestampMs",
    "expirationMs",
    "feeLimitSun",
    "energy",
    "byteSun",
    "activationSun",
  ].map((name) => [name, ""]),
);

export class TronChainFixture implements ChainFixture {
  readonly evm = null;
  readonly counted = null;
  readonly openTxParams = openTxParams;
  readonly namedTxParams = openTxParams;
  readonly fullTxParams = openTxParams;
  readonly money: WaitingMoney;
  readonly #chain: TronChain;
  /** The chain that the nodes show: the true one, or one that is made up. */
  readonly #shown: TronChain;
  readonly #nodes: readonly TronNode[];
  #world: JudgedRun | null = null;
  /** By how much a made-up chain's clock is ahead of the true time. */
  #aheadMs = 0;

  constructor(plan: Plan, onCircle: (owner: Owner) => void) {
    const isFalse = plan.liars === "gateway and nodes";
    const options = {
      ...{
        genesis: String(chainId).slice(2),
        account: addressHex(hotWallet),
        contract: addressHex(contract),
      },
      ...{
        solidLag: plan.confirmations,
        slotMs: plan.blockMs,
        startedAt: begun,
        isAnyReference: isFalse,
      },
    };
    this.#chain = new TronChain(options);
    this.#shown = isFalse ? new TronChain(options) : this.#chain;
    const refusing = plan.refusing === "" ? "" : addressHex(plan.refusing);
    const providers = providersOf(plan);
    this.#nodes = nodeUrls(plan).map((url, at) => {
      const node = new TronNode(
        this.#shown,
        (receiver) => receiver === refusing,
        onCircle,
        providers[at],
      );
      kernel.nodes.set(url, node);
      return node;
    });
    this.money = new WaitingMoney(this.#chain, plan);
  }

  conceal(): ReadonlyMap<string, () => void> {
    const own = [...this.#chain.pool.values()];
    this.#chain.pool.clear();
    return new Map(own.map((transfer) => [transfer.hash, () => void this.#chain.offer(transfer)]));
  }

  get explorer(): Explorer {
    const blocks = this.#chain.blocks.slice(this.#chain.solidNumber + 1);
    const seen = blocks.flatMap(({ done }) => done.map(({ transfer }) => transfer.hash));
    const young = [...seen, ...this.#chain.pool.keys()].filter(
      (hash) => !this.#chain.outside.has(hash),
    );
    return {
      young,
      dear: [],
      hasPaid: (address, units) => this.money.hasPaid(addressHex(address), units),
    };
  }

  get outside(): ReadonlySet<string> {
    return this.#chain.outside;
  }

  get headMs(): number {
    return this.#chain.top.timestampMs;
  }

  get incoming(): number {
    return this.#chain.incoming;
  }

  readonly hostilities: Hostilities = {
    noHash: "ab".repeat(32),
    txParams: () => {
      const { random } = kernel;
      const fair = this.#fair(
        random.pick("hostile stamp", [0, 0, 0, -lifetimeMs, 1, 3_600_000, 20 * 3_600_000]),
      );
      const lives = {
        expirationMs: `${Number(fair.timestampMs) + random.pick("hostile life", [lifetimeMs, lifetimeMs, 600_000, 1, 86_400_000])}`,
      };
      const limits = {
        feeLimitSun: random.pick("hostile limit", [
          "0",
          "1000000",
          "16285625",
          "59000000",
          "15000000000",
          "07",
        ]),
      };
      return { ...fair, ...lives, ...(random.below("names a limit", 2) === 0 ? limits : {}) };
    },
    hurried: () => ({
      ...this.#fair(0),
      feeLimitSun: kernel.random.pick("hurried limit", ["16285625", "2000000"]),
    }),
    fair: (contract) => ({
      ...this.#fair(0),
      ...(contract === "" ? { feeLimitSun: "0", energy: "0" } : {}),
    }),
  };

  /** As an honest courier would, for a token. */
  #fair(laterMs: number): Readonly<Record<string, string>> {
    const { number, id, timestampMs } = this.#chain.solid;
    const timestamp = timestampMs + laterMs;
    return {
      ...{
        refBlockBytes: `${number % 65_536}`,
        refBlockHash: `${BigInt(`0x${id.slice(16, 32)}`)}`,
      },
      ...{
        timestampMs: `${timestamp}`,
        expirationMs: `${timestamp + lifetimeMs}`,
        feeLimitSun: `${(energyOfNew * energySunUsual * 5n) / 4n}`,
      },
      ...{ energy: `${energyOfNew}`, byteSun: "1000", activationSun: "0" },
    };
  }

  start(world: JudgedRun): void {
    const { scheduler } = kernel;
    this.#world = world;
    this.#chain.onBlock = (block) => {
      if (block !== null) world.holds(() => this.money.added(block));
    };
    scheduler.every(world.plan.blockMs, scheduler.world, () => this.#tick(scheduler.nowMs));
    scheduler.every(awakeAtOnceMs, scheduler.world, () => {
      this.#sleep(world.isFaulty ? kernel.random.pick("nap", naps) : calmSleepMs);
    });
  }

  #tick(nowMs: number): void {
    this.#chain.tick(nowMs);
    if (this.#shown === this.#chain) return;
    // Sent bytes reach the true chain when they like, and mostly soon.
    for (const transfer of this.money.heldBytes())
      if (kernel.random.below("they publish it", 3) === 0) this.#chain.offer(transfer);
    this.#shown.mine(begun + Math.floor(nowMs) + this.#aheadMs);
  }

  /** They go on making the chain up: which clock it has, and what its blocks take. */
  #invent(): void {
    const { random } = kernel;
    this.#aheadMs = Math.max(this.#aheadMs, random.pick("their chain is ahead by", aheadsMs));
    this.#shown.skipRate = random.pick(
      "what their blocks leave out",
      [10_000, 10_000, 10_000, 3_000],
    );
    if (random.below("their pool forgets", 3) === 0) this.#shown.pool.clear();
    if (random.below("another branch of theirs", 6) === 0)
      this.#shown.reorganise(this.#shown.options.solidLag);
  }

  begin({ rates }: Plan): void {
    const { random } = kernel;
    this.#chain.revertRate = rates.reverts;
    this.#chain.skipRate = rates.blocksSkip;
    this.#chain.oldRate = rates.branchesOld;
    const liar = random.below("which node lies", this.#nodes.length);
    for (const [index, node] of this.#nodes.entries()) {
      node.faults = {
        ...noTronFaults,
        error: rates.nodeErrors,
        silence: rates.nodeSilence,
        hides: rates.nodeHides,
      };
      if (this.#nodes.length > 1 && index === liar && rates.nodeLies > 0) {
        node.faults.lie = rates.nodeLies;
        node.faults.isHasty = random.below("calls all of it solidified", 3) === 0;
      }
      if (rates.nodeSlow > 0) node.faults.slowMs = Math.ceil(rates.nodeSlow / 10);
    }
  }

  strike(strikes: Strikes): void {
    const { random } = kernel;
    const chain = this.#chain;
    if (this.#shown !== chain && random.below("they invent something", 20) === 0) this.#invent();
    if (strikes("poolForgets", "the pool forgets")) chain.forget();
    if (strikes("reorganisation", "reorganisation"))
      chain.reorganise(random.between("depth", 1, chain.options.solidLag));
    if (strikes("feeSpikes", "energy's price rises"))
      chain.energySun = energySunUsual * BigInt(random.pick("spike", [1, 2, 4]));
    if (strikes("foreignOutgoing", "a foreign transaction")) this.outgoingElsewhere();
    if (strikes("nodeLags", "a node lags")) {
      random.pick("which node", this.#nodes).faults.lagBlocks = random.pick(
        "lags by",
        [0, 1, 2, 3, 10, 60],
      );
    }
    if (strikes("receiptsMissing", "receipts are missing")) {
      const { faults } = random.pick("whose receipts", this.#nodes);
      faults.receiptsLag = random.pick("receipts come late by", [
        0,
        1,
        3,
        chain.options.solidLag + 3,
      ]);
      faults.hasNoIndex = random.below("an index is gone", 4) === 0;
    }
    if (strikes("chainJams", "blocks take nothing"))
      chain.jammedUntilMs = kernel.scheduler.nowMs + random.pick("jam", jamsMs);
    if (strikes("sleeps", "machines sleep")) this.#sleep(random.pick("sleep", sleepsMs));
    if (strikes("chainHalts", "the chain halts")) this.#halt(random.pick("halt", haltsMs));
  }

  /** No blocks for a while; most of a long one nobody lives through. */
  #halt(ms: number): void {
    const { scheduler } = kernel;
    note("halt", ms);
    this.#chain.haltedUntilMs = scheduler.nowMs + ms;
    if (ms > 2 * awakeMs) {
      scheduler.after(awakeMs, scheduler.world, () => {
        if (this.#chain.haltedUntilMs > scheduler.nowMs)
          this.#world?.leap(ms - 2 * awakeMs, "most of a halt passes");
      });
    }
  }

  /** The machines stand still, and blocks come. */
  #sleep(ms: number): void {
    const { scheduler } = kernel;
    if (ms === 0) return;
    const { slotMs } = this.#chain.options;
    for (let at = slotMs; at <= ms; at += slotMs) this.#tick(scheduler.nowMs + at);
    this.#world?.leap(ms, "machines sleep");
  }

  calmDown(): void {
    for (const node of this.#nodes) {
      // Between two sleeps a machine asks once for each block, and a pass needs all its answers.
      node.faults = { ...noTronFaults, isCaughtUp: true };
      node.passOn();
    }
    this.#chain.revertRate = 0;
    this.#chain.skipRate = 0;
    this.#chain.energySun = energySunUsual;
    this.#chain.haltedUntilMs = 0;
    this.#chain.jammedUntilMs = 0;
  }

  market(before: bigint | null): bigint {
    const was = this.#chain.energySun;
    this.#chain.energySun = before ?? was * 2n;
    return was;
  }

  outgoingElsewhere(): void {
    const hash = kernel.random.bytes("foreign hash", 32).toString("hex");
    this.#chain.outgoingOutside(hash);
  }

  payIn(address: string, token: string, units: bigint): void {
    const hash = kernel.random.bytes("hash of a deposit", 32).toString("hex");
    this.#chain.payIn(hash, addressHex(address), token === "" ? "" : addressHex(token), units);
  }

  isLeft(address: string, token: string): boolean {
    const { sun, units } = this.#chain.purseOf(addressHex(address));
    return token === "" ? sun >= restSun : units > 0n;
  }

  wasPlaced(txHash: string): boolean {
    return this.#chain.placeOf.has(txHash);
  }

  isVoid(txHash: string, raw: string): boolean {
    const transfer = raw === "" ? this.money.transferOf(txHash) : readTransfer(raw);
    if (transfer === undefined || transfer === null) return false;
    // On a made-up chain only the attempt's own end is nobody's invention.
    if (this.#shown !== this.#chain)
      return begun + kernel.scheduler.nowMs > transfer.expirationMs + marginMs;
    return this.money.isGone(transfer);
  }

  isGone(txHash: string): boolean {
    const transfer = this.money.transferOf(txHash);
    return transfer !== undefined && this.money.isGone(transfer);
  }

  publish(raw: string): string {
    const transfer = readTransfer(raw);
    if (transfer === null) return "";
    const answer = this.#chain.offer(transfer);
    note("publishes", answer);
    return answer;
  }

  /**
   * On a branch from the newest solidified block on, which is judged by the oldest time there is.
   */
  finish(isOver: () => boolean): void {
    const { solidLag, slotMs } = this.#chain.options;
    for (const transfer of this.money.heldBytes()) this.#chain.offer(transfer);
    this.#chain.oldRate = 10_000;
    this.#chain.reorganise(solidLag);
    for (const transfer of this.money.heldBytes()) this.#chain.offer(transfer);
    for (let count = 0; count <= solidLag + 1 && !isOver(); count += 1)
      this.#chain.mine(this.#chain.top.timestampMs + slotMs);
  }

  hasStillToCome(): boolean {
    return false;
  }

  /** No slot here ends another. */
  unended(): string {
    return "";
  }
}
