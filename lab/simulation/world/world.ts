/**
 * One simulated run from its seed to its end: puts the machines together, lets the fault injector
 * act on them, stops it, and waits until every withdrawal has come to an end. An invariant that
 * does not hold ends the run at once.
 */

import type { CoreSnapshot } from "../../../agent/signer/state/core.ts";
import { AgentError } from "../../../base/fault.ts";
import { journalFaults } from "../../kit/journal-audit.ts";
import { DurableLedger } from "../invariants/ledger.ts";
import type { Money } from "../invariants/money.ts";
import { must, Violation, violationOf } from "../invariants/violation.ts";
import { kernel, note } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import { FalseAgent } from "../pairs/false-agent.ts";
import { Actors } from "./actors.ts";
import { Machine } from "./agent.ts";
import { almostHourMs, hoursMax, watchedMs } from "./both-lie.ts";
import type { ChainFixture } from "./chain-fixture.ts";
import { CoinChainFixture } from "./coin-fixture.ts";
import { Customers } from "./customers.ts";
import { drawPlan } from "./draw.ts";
import { CountedChainFixture } from "./evm-fixture.ts";
import { FaultInjector } from "./fault-injector.ts";
import { type CommitVerdict, Gateway } from "./gateway.ts";
import { Network } from "./network.ts";
import { Observer } from "./observer.ts";
import {
  haveFeesRunOut,
  heldBackUntilMs,
  isDayUsedUp,
  isTimeStanding,
  pendingWorkOf,
  serving,
  unshownLock,
} from "./pending-work.ts";
import type { FaultKind, Plan, Rates } from "./plan.ts";
import { RecoveryScenario } from "./recovery-scenario.ts";
import { type RestoredRun, restoredRunOf } from "./restored-run.ts";
import type { Scene } from "./scene.ts";
import { SequenceChainFixture } from "./sequence-fixture.ts";
import { begun, currencies, hotWallet, network, policyOf, settle, stage } from "./setting.ts";
import { Takeover } from "./takeover.ts";
import { TronChainFixture } from "./tron-fixture.ts";

/** Simulated time within which everything comes to an end once nothing goes wrong any more. */
const calmMsMax = 240_000;
const calmCheckMs = 1_000;
/** A connection tells an end twice, four heartbeats apart, and the next one tells it again. */
const endsToldTwiceMs = 24_000;
/** Ledger time may be ten minutes ahead of the gateway's, and a little for what is on its way. */
const aheadMsMax = 600_000 + 5_000;
/**
 * An attempt ends no later than the longest life and a minute from the gateway's time, and ledger
 * time may be ten minutes ahead of that.
 */
const endsMsMax = 60_000;
/** How long runs go on in which nobody need settle, so that what is dangerous may happen. */
const restlessMs = 12_000;
/**
 * The same with people on the way back, and the time within which they and everything else are
 * through.
 */
const recoveryScenarioMs = 60_000;
const recoveryScenarioMsMax = 600_000;
/** Agents of other merchants who lie: one that is locked says nothing more. */
const falseAgents = 4;
/** A day's limits are free again. */
const dayAndMoreMs = 25 * 60 * 60_000;

export class World implements Scene {
  readonly plan: Plan;
  readonly chainFixture: ChainFixture;
  readonly net: Network;
  readonly gateway: Gateway;
  readonly machines: Machine[] = [];
  readonly ledgers = new Map<Machine, DurableLedger>();
  readonly payments: Money;
  readonly actors: Actors;
  readonly customers: Customers;
  readonly faultInjector: FaultInjector;
  /** The operator who follows docs/recovering.md; null in runs without one. */
  readonly recoveryScenario: RecoveryScenario | null;
  readonly takeover: Takeover;
  readonly observer: Observer;
  readonly #seed: number;
  readonly #states = new Map<string, CoreSnapshot>();
  isFaulty = true;
  violation: Violation | null = null;
  /** Days, for what may be spent in fees on each. */
  #daysWaited = 0;
  #calmSince = 0;
  /** Calm in which a ledger's time stood, and with it what waits for a later attempt. */
  #stoodMs = 0;
  /** Hours that went by for what an operator may end after a day. */
  #hoursWaited = 0;

  constructor(seed: number) {
    this.#seed = seed;
    this.plan = drawPlan(kernel.random, seed);
    const { plan } = this;
    settle(plan.family);
    const onCircle = (owner: Owner): void =>
      this.thrown(owner, new Error("it asks the nodes in a circle"));
    this.chainFixture = fixtureOf(plan, onCircle);
    this.net = new Network(plan.rates, plan.linkSlowMs);
    kernel.dialler = this.net;
    this.gateway = new Gateway({
      ...{
        plan,
        net: this.net,
        verdict: () => this.#commitVerdict(),
        committed: (tables) => this.observer.committed(tables),
      },
      thrown: (owner, error) => this.thrown(owner, error),
      lies: {
        plan,
        isTime: () => this.isFaulty,
        madeUp: () => this.chainFixture.hostilities.madeUp?.() ?? [],
      },
    });
    this.payments = this.chainFixture.money;
    this.actors = new Actors(this);
    this.customers = new Customers(this);
    this.faultInjector = new FaultInjector(this);
    this.recoveryScenario = this.plan.recoveryScenario ? new RecoveryScenario(this) : null;
    this.takeover = new Takeover(this);
    this.observer = new Observer(this);
  }

  /** Payments made twice by bytes that no node showed when the order came again. */
  get apart(): number {
    return this.payments.apart ?? 0;
  }

  /** The figures of a run of the world `both-restored`; null outside of it. */
  get restored(): RestoredRun | null {
    return restoredRunOf(this.#seed, this.faultInjector.backups, this.actors);
  }

  /** The rate of a fault now: nothing while things are calm. */
  rate(kind: FaultKind): number {
    return this.isFaulty ? this.plan.rates[kind] : 0;
  }

  addMachine(name: string, id: string, keySeed: number): Machine {
    const machine = new Machine(name, id, keySeed, {
      plan: this.plan,
      seen: (from, message) => this.observer.seen(from, message),
      touched: (verb, body) => this.faultInjector.touched(verb, body),
      thrown: (owner, error) => this.thrown(owner, error),
    });
    const ledger = new DurableLedger({
      ...{
        name,
        policy: termsOf(this.plan),
        decimals: decimalsOf(currencies),
        coinDecimal: stage.coin.decimal,
      },
      atMax: () => this.#atMax,
      endMax: () => this.#atMax + endsMsMax,
      isGatewayHonest: true,
      stateOf: (record) => {
        // Old checkpoints are removed, and ledgers are copied: what one said is remembered.
        const state = this.#states.get(record.sha256) ?? machine.stateIn(record);
        this.#states.set(record.sha256, state);
        return state;
      },
      isGenuine: (job) => this.observer.isGenuine(job),
      isTrue: (end, txHashes) => this.#mayBeFalse || this.payments.isEnd(end, txHashes),
      mayBeAhead: () =>
        this.#mayBeFalse || this.payments.foreign.size > 0 || this.faultInjector.backups.wasUsed,
      mayBePaid: (transactionId) => this.payments.mayBePaid?.(transactionId) === true,
      isVoid: (txHash, raw) => this.chainFixture.isVoid(txHash, raw),
      isHonest: this.plan.rates.hostileCourier === 0,
      isPlaced: (txHash) => this.#mayBeFalse || this.chainFixture.wasPlaced(txHash),
      isForeign: (nonce) => this.payments.foreignNonces.includes(Number(nonce)),
    });
    machine.drive.onDurable = (file, bytes) => {
      if (!file.endsWith(".jsonl")) return;
      this.holds(() =>
        bytes === null ? ledger.reread(machine.drive.durableFiles()) : ledger.take(bytes),
      );
    };
    machine.drive.onLost = () => this.holds(() => ledger.reread(machine.drive.durableFiles()));
    this.machines.push(machine);
    this.ledgers.set(machine, ledger);
    return machine;
  }

  /** Whether the courier may tell of the chain what is not so: by itself, or as its nodes say. */
  get #mayBeFalse(): boolean {
    return this.plan.rates.hostileCourier > 0 || this.plan.liars === "gateway and nodes";
  }

  get #atMax(): number {
    return begun + kernel.scheduler.nowMs + this.faultInjector.gatewayAheadMs + aheadMsMax;
  }

  ledgerOf(machine: Machine): DurableLedger {
    return this.ledgers.get(machine) as DurableLedger;
  }

  start(): void {
    const { scheduler } = kernel;
    kernel.onSign = (digest) => this.observer.signs(digest);
    this.faultInjector.drives.begin();
    const machine = this.addMachine("a", "aa".repeat(8), 1);
    machine.pair(1);
    this.gateway.admit(machine, 1);
    if (this.plan.liars === "a merchant")
      for (let at = 0; at < falseAgents; at += 1) new FalseAgent(this, at).begin();
    this.gateway.start();
    machine.startSigner();
    machine.startCourier();
    this.actors.begin();
    this.customers.begin();
    this.faultInjector.begin();
    this.chainFixture.start(this);
    scheduler.after(this.plan.faultsMs, scheduler.world, () => this.#calmDown());
    // Most runs are not told any further once everything has happened.
    const goesOn = kernel.random.below("goes on after the end", 5) === 0;
    if (!goesOn) scheduler.every(calmCheckMs, scheduler.world, () => this.#calmEarly());
  }

  /** Ends the run with the invariant that does not hold. */
  violated(violation: Violation): void {
    if (this.violation !== null) return;
    this.violation = violation;
    note("violated", violation.invariant, () => violation.message);
    kernel.scheduler.stop();
  }

  /** Something threw that nobody expected. */
  thrown(owner: Owner, error: unknown): void {
    if (!owner.isAlive || this.violation !== null) return;
    const machine = this.machineOf(owner);
    if (machine !== undefined && error instanceof AgentError && error.code === "LEDGER_POISONED") {
      machine.signerEnds(owner);
      return;
    }
    if (
      machine?.drive.hasHole === true &&
      error instanceof AgentError &&
      error.code === "LEDGER_DAMAGED"
    ) {
      this.faultInjector.leaveToActors(machine);
      return;
    }
    this.violated(violationOf(owner.name, error));
  }

  /** Time goes on without anybody; it counts for nobody's patience. */
  leap(ms: number, why: string): void {
    note(why);
    kernel.scheduler.leap(ms);
    this.#calmSince += ms;
  }

  /** An operator takes records away that were durable. */
  forgets(machine: Machine, act: () => void): void {
    const ledger = this.ledgerOf(machine);
    ledger.mayMiss = true;
    act();
    ledger.mayMiss = false;
  }

  /** Asks invariants; one that does not hold ends the run. */
  holds(check: () => void): void {
    try {
      check();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.violated(error);
    }
  }

  machineOf(owner: Owner): Machine | undefined {
    return this.machines.find(
      (machine) => machine.signer?.owner === owner || machine.starting === owner,
    );
  }

  #commitVerdict(): CommitVerdict {
    const { random } = kernel;
    const { current } = kernel.scheduler;
    if (current.name !== "gateway" && current.name !== "operator") return "fine";
    const dies = this.rate("gatewayDies");
    if (dies > 0 && random.fault(`${current.name} dies at a commit`, dies))
      return random.below("before or after", 2) === 0 ? "dies before" : "dies after";
    const fails = this.rate("commitFails");
    if (fails > 0 && random.fault("a commit fails", fails))
      return random.below("failed or done", 2) === 0 ? "fails before" : "fails after";
    return "fine";
  }

  #calmEarly(): void {
    if (
      (this.recoveryScenario !== null && this.recoveryScenario.waits !== "") ||
      this.faultInjector.backups.isAwaited
    )
      return;
    const last = Math.max(...this.plan.orders.map((order) => order.atMs));
    if (
      this.isFaulty &&
      kernel.scheduler.nowMs > last &&
      this.actors.open() === "" &&
      this.customers.open() === ""
    )
      this.#calmDown();
  }

  #calmDown(): void {
    if (!this.isFaulty) return;
    note("calm");
    // An end that was lost twice on one connection comes again with the next one alone.
    if (this.rate("frameLost") > 0 && this.plan.faultsMs > endsToldTwiceMs) this.net.cutAll(true);
    this.isFaulty = false;
    this.#calmSince = kernel.scheduler.nowMs;
    this.net.rates = {} as Rates;
    this.faultInjector.calmDown();
    if (this.faultInjector.backups.wasUsed) this.recoveryScenario?.begin();
    const { scheduler } = kernel;
    scheduler.every(calmCheckMs, scheduler.world, () => this.#settle());
  }

  #settle(): void {
    const calmMs = kernel.scheduler.nowMs - this.#calmSince;
    this.observer.settled();
    if (kernel.scheduler.nowMs < this.plan.leastMs) return;
    // The shop goes on: that is what must not be signed any more.
    if ([...this.ledgers.values()].some((ledger) => ledger.isToldOfForeign))
      this.actors.orderOnceMore();
    const waits = this.recoveryScenario?.waits || pendingWorkOf(this);
    const [restMs, mostMs] =
      this.recoveryScenario === null
        ? [restlessMs, calmMsMax]
        : [recoveryScenarioMs, recoveryScenarioMsMax];
    const unshown = unshownLock(this);
    if (unshown === "" && (waits === "" || (!this.faultInjector.mustSettle && calmMs > restMs))) {
      this.#end();
      return;
    }
    if (
      this.plan.unnamed === "both" &&
      waits !== "" &&
      calmMs > watchedMs &&
      this.#hoursWaited < hoursMax
    ) {
      this.#hoursWaited += 1;
      this.leap(almostHourMs, "an hour passes in which nobody shows the coin");
      this.#calmSince = kernel.scheduler.nowMs;
      return;
    }
    if (isTimeStanding(this)) this.#stoodMs += calmCheckMs;
    if (calmMs < mostMs + this.#stoodMs) return;
    if (unshown !== "")
      this.violated(
        new Violation("an agent that has stopped itself shows at its gateway", unshown),
      );
    if (!this.faultInjector.mustSettle) return;
    // In a market that rose each order may cost more than half of a day's fees, and an attempt that
    // died counts in the day for as long as its end is not sure.
    if (this.#daysWaited < this.plan.orders.length && (haveFeesRunOut(this) || isDayUsedUp(this))) {
      this.#daysWaited += 1;
      this.leap(dayAndMoreMs, "a day passes, and with it the sums of the day before");
      this.#calmSince = kernel.scheduler.nowMs;
      return;
    }
    const leftMs = heldBackUntilMs(this) - kernel.scheduler.nowMs;
    if (leftMs > 0) {
      this.leap(leftMs, "a limit's time passes");
      this.#calmSince = kernel.scheduler.nowMs;
    } else if (leftMs <= -mostMs)
      this.violated(new Violation("every withdrawal comes to an end when faults stop", waits));
  }

  /** Every actor that kept bytes publishes all of them now; then the run is over. */
  #end(): void {
    const { rates } = this.plan;
    if (!this.faultInjector.mayLock) {
      for (const { name, signer } of serving(this)) {
        const locked = signer?.signer.core.locked;
        if (locked)
          this.violated(
            new Violation(
              "no agent stops without a reason",
              `${name}: ${locked.code} ${locked.detail}`,
            ),
          );
      }
    }
    const [fault] = journalFaults(this.gateway);
    if (fault !== undefined)
      this.violated(new Violation("the journal has what the facts say", fault));
    const carried = rates.frameLost + rates.framesSwapped + rates.frameOld + rates.hostileCourier;
    // Another merchant's agent may say so of itself.
    const isWhole =
      !this.faultInjector.backups.wasUsed && carried === 0 && this.plan.liars !== "a merchant";
    const [alarm] = this.gateway.all<{ detail: string }>(
      "SELECT detail FROM audit WHERE act = 'alarm HUB_DATABASE_BEHIND'",
    );
    if (isWhole && alarm !== undefined)
      this.violated(new Violation("no gateway takes itself for a backup", alarm.detail));
    this.chainFixture.finish(() => this.violation !== null);
    this.holds(() => this.payments.told(this.observer.told()));
    if (this.faultInjector.mustSettle)
      this.holds(() => this.payments.sweeps.ends(this.customers.paid));
    for (const machine of serving(this)) {
      this.holds(() => this.#remembers(machine));
      this.holds(() => this.#closes(machine));
    }
    kernel.scheduler.stop();
  }

  /**
   * Each slot below the next one ends on chain, where nothing is open any more and nobody else has
   * the account.
   */
  #closes({ name, signer }: Machine): void {
    const { book, locked, accounts } = signer?.signer.core ?? {};
    const account = accounts?.find(network, hotWallet);
    const isOver =
      book?.openCount === 0 &&
      locked === null &&
      this.actors.open() === "" &&
      !this.recoveryScenario?.isBeyond;
    if (account === undefined || !isOver || this.payments.foreign.size > 0) return;
    const unended = this.chainFixture.unended(account.next);
    must(
      unended === "",
      "every slot below the next one ends on chain",
      () => `${name}: ${unended}`,
    );
  }

  /**
   * An order asked for again years later gets its old answer. An order that a recovered ledger left
   * out is new to it.
   */
  #remembers(machine: Machine): void {
    const { book } = machine.signer?.signer.core ?? {};
    const { records } = this.ledgerOf(machine);
    if (book === undefined || records.some(({ kind }) => kind === "RECOVERED")) return;
    for (const record of records) {
      if (record.kind !== "REQUESTED") continue;
      must(
        book.stateOf(record.transactionId) !== undefined,
        "what was asked for once is known permanently",
        () => machine.name,
      );
    }
  }
}

function fixtureOf(plan: Plan, onCircle: (owner: Owner) => void): ChainFixture {
  if (plan.family === "tron") return new TronChainFixture(plan, onCircle);
  if (stage.isOfCoins) return new CoinChainFixture(plan, onCircle);
  return plan.family === "xrp"
    ? new SequenceChainFixture(plan, onCircle)
    : new CountedChainFixture(plan, onCircle);
}

/**
 * The limits as a merchant understands them: where both words that an attempt is void are the
 * gateway's, another one is an operator's, whatever the configuration says.
 */
function termsOf(plan: Plan): ReturnType<typeof policyOf> {
  return plan.liars === "gateway and nodes"
    ? { ...policyOf(plan), manualReplaceAbove: "0" }
    : policyOf(plan);
}

function decimalsOf(all: typeof currencies): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(all).map(([id, { decimal }]) => [id, decimal]));
}
