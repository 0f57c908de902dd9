/**
 * One simulated run from its seed to its end: puts the machines together, lets the weather act on
 * them, stops it, and waits until every withdrawal has come to an end. A sentence that does not
 * hold ends the run at once.
 */
import type { CoreSnapshot } from "../../../agent/signer/state/core.ts";
import { AgentError } from "../../../base/fault.ts";
import { kernel, note } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import { FalseAgent } from "../pairs/false-agent.ts";
import { DurableLedger } from "../sentences/ledger.ts";
import type { Money } from "../sentences/money.ts";
import { must, Violation, violationOf } from "../sentences/violation.ts";
import { Machine } from "./agent.ts";
import { drawPlan } from "./draw.ts";
import { EvmGround } from "./evm-ground.ts";
import { type CommitVerdict, Gateway } from "./gateway.ts";
import type { Ground } from "./ground.ts";
import { Network } from "./network.ts";
import { Payers } from "./payers.ts";
import { People } from "./people.ts";
import type { FaultKind, Plan, Rates } from "./plan.ts";
import { Rescue } from "./rescue.ts";
import type { Scene } from "./scene.ts";
import { begun, currencies, hot, network, policyOf, settle, stage } from "./setting.ts";
import { Takeover } from "./takeover.ts";
import { TronGround } from "./tron-ground.ts";
import { haveFeesRunOut, heldBackUntilMs, isTimeStanding, serving, unrestOf, unshownLock } from "./unrest.ts";
import { Weather } from "./weather.ts";
import { Witness } from "./witness.ts";

/** Simulated time within which everything comes to an end once nothing goes wrong any more. */
const calmMsMax = 240_000;
const calmCheckMs = 1_000;
/** Ledger time may be ten minutes ahead of the gateway's, and a little for what is on its way. */
const aheadMsMax = 600_000 + 5_000;
/**
 * A version ends no later than the longest life and a minute from the gateway's time, and ledger
 * time may be ten minutes ahead of that.
 */
const endsMsMax = 60_000;
/** How long runs go on in which nobody need settle, so that what is dangerous may happen. */
const restlessMs = 12_000;
/**
 * The same with people on the way back, and the time within which they and everything else are
 * through.
 */
const rescueMs = 60_000;
const rescueMsMax = 600_000;
/** Agents of other merchants who lie: one that is locked says nothing more. */
const falseAgents = 4;
/** A day's limits are free again. */
const dayAndMoreMs = 25 * 60 * 60_000;

export class World implements Scene {
  readonly plan: Plan;
  readonly ground: Ground;
  readonly net: Network;
  readonly gateway: Gateway;
  readonly machines: Machine[] = [];
  readonly ledgers = new Map<Machine, DurableLedger>();
  readonly payments: Money;
  readonly people: People;
  readonly payers: Payers;
  readonly weather: Weather;
  /** The person who follows docs/recovering.md; null in runs without one. */
  readonly rescue: Rescue | null;
  readonly takeover: Takeover;
  readonly witness: Witness;
  readonly #states = new Map<string, CoreSnapshot>();
  isFaulty = true;
  violation: Violation | null = null;
  /** Days, for what may be spent in fees on each. */
  #daysWaited = 0;
  #calmSince = 0;
  /** Calm in which a ledger's time stood, and with it what waits for a later version. */
  #stoodMs = 0;

  constructor(seed: number) {
    this.plan = drawPlan(kernel.chance, seed);
    const { plan } = this;
    settle(plan.family);
    const onCircle = (owner: Owner): void => this.thrown(owner, new Error("it asks the nodes in a circle"));
    this.ground = plan.family === "tron" ? new TronGround(plan, onCircle) : new EvmGround(plan, onCircle);
    this.net = new Network(plan.rates, plan.linkSlowMs);
    kernel.dialler = this.net;
    this.gateway = new Gateway({
      ...{ plan, net: this.net, verdict: () => this.#commitVerdict(), committed: (tables) => this.witness.committed(tables) },
      thrown: (owner, error) => this.thrown(owner, error),
    });
    this.payments = this.ground.money;
    this.people = new People(this);
    this.payers = new Payers(this);
    this.weather = new Weather(this);
    this.rescue = this.plan.rescue ? new Rescue(this) : null;
    this.takeover = new Takeover(this);
    this.witness = new Witness(this);
  }

  /** The rate of a fault now: nothing while things are calm. */
  rate(kind: FaultKind): number {
    return this.isFaulty ? this.plan.rates[kind] : 0;
  }

  addMachine(name: string, id: string, keySeed: number): Machine {
    const machine = new Machine(name, id, keySeed, {
      plan: this.plan,
      seen: (from, message) => this.witness.seen(from, message),
      touched: (verb, body) => this.weather.touched(verb, body),
      thrown: (owner, error) => this.thrown(owner, error),
    });
    const ledger = new DurableLedger({
      ...{ name, policy: termsOf(this.plan), decimals: decimalsOf(currencies), coinDecimal: stage.coin.decimal },
      atMax: () => this.#atMax,
      endMax: () => this.#atMax + endsMsMax,
      isGatewayHonest: true,
      stateOf: (record) => {
        // Old checkpoints are removed, and ledgers are copied: what one said is remembered.
        const state = this.#states.get(record.sha256) ?? machine.stateIn(record);
        this.#states.set(record.sha256, state);
        return state;
      },
      isGenuine: (job) => this.witness.isGenuine(job),
      isTrue: (end, txHashes) => this.#mayBeFalse || this.payments.isEnd(end, txHashes),
      mayBeAhead: () => this.#mayBeFalse || this.payments.foreign.size > 0 || this.weather.backups.wasUsed,
      isDead: (txHash, raw) => this.ground.isDead(txHash, raw),
      isHonest: this.plan.rates.hostileCourier === 0,
      isPlaced: (txHash) => this.#mayBeFalse || this.ground.wasPlaced(txHash),
      isForeign: (nonce) => this.payments.foreignNonces.includes(Number(nonce)),
    });
    machine.drive.onDurable = (file, bytes) => {
      if (!file.endsWith(".jsonl")) return;
      this.holds(() => (bytes === null ? ledger.reread(machine.drive.durableFiles()) : ledger.take(bytes)));
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
    return begun + kernel.scheduler.nowMs + this.weather.gatewayAheadMs + aheadMsMax;
  }

  ledgerOf(machine: Machine): DurableLedger {
    return this.ledgers.get(machine) as DurableLedger;
  }

  start(): void {
    const { scheduler } = kernel;
    kernel.onSign = (digest) => this.witness.signs(digest);
    this.weather.drives.begin();
    const machine = this.addMachine("a", "aa".repeat(8), 1);
    machine.pair(1);
    this.gateway.admit(machine, 1);
    if (this.plan.liars === "a merchant") for (let at = 0; at < falseAgents; at += 1) new FalseAgent(this, at).begin();
    this.gateway.start();
    machine.startSigner();
    machine.startCourier();
    this.people.begin();
    this.payers.begin();
    this.weather.begin();
    this.ground.start(this);
    scheduler.after(this.plan.faultsMs, scheduler.world, () => this.#calmDown());
    // Most runs are not told any further once everything has happened.
    const goesOn = kernel.chance.below("goes on after the end", 5) === 0;
    if (!goesOn) scheduler.every(calmCheckMs, scheduler.world, () => this.#calmEarly());
  }

  /** Ends the run with the sentence that does not hold. */
  violated(violation: Violation): void {
    if (this.violation !== null) return;
    this.violation = violation;
    note("violated", violation.sentence, () => violation.message);
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
    if (machine?.drive.hasHole === true && error instanceof AgentError && error.code === "LEDGER_DAMAGED") {
      this.weather.leaveToPeople(machine);
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

  /** A person takes records away that were durable. */
  forgets(machine: Machine, act: () => void): void {
    const ledger = this.ledgerOf(machine);
    ledger.mayMiss = true;
    act();
    ledger.mayMiss = false;
  }

  /** Asks sentences; one that does not hold ends the run. */
  holds(check: () => void): void {
    try {
      check();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.violated(error);
    }
  }

  machineOf(owner: Owner): Machine | undefined {
    return this.machines.find((machine) => machine.signer?.owner === owner || machine.starting === owner);
  }

  #commitVerdict(): CommitVerdict {
    const { chance } = kernel;
    const { current } = kernel.scheduler;
    if (current.name !== "gateway" && current.name !== "operator") return "fine";
    const dies = this.rate("gatewayDies");
    if (dies > 0 && chance.fault(`${current.name} dies at a commit`, dies))
      return chance.below("before or after", 2) === 0 ? "dies before" : "dies after";
    const fails = this.rate("commitFails");
    if (fails > 0 && chance.fault("a commit fails", fails))
      return chance.below("failed or done", 2) === 0 ? "fails before" : "fails after";
    return "fine";
  }

  #calmEarly(): void {
    if ((this.rescue !== null && this.rescue.waits !== "") || this.weather.backups.isAwaited) return;
    const last = Math.max(...this.plan.orders.map((order) => order.atMs));
    if (this.isFaulty && kernel.scheduler.nowMs > last && this.people.open() === "" && this.payers.open() === "")
      this.#calmDown();
  }

  #calmDown(): void {
    if (!this.isFaulty) return;
    note("calm");
    this.isFaulty = false;
    this.#calmSince = kernel.scheduler.nowMs;
    this.net.rates = {} as Rates;
    this.weather.calmDown();
    if (this.weather.backups.wasUsed) this.rescue?.begin();
    const { scheduler } = kernel;
    scheduler.every(calmCheckMs, scheduler.world, () => this.#settle());
  }

  #settle(): void {
    const calmMs = kernel.scheduler.nowMs - this.#calmSince;
    // The shop goes on: that is what must not be signed any more.
    if ([...this.ledgers.values()].some((ledger) => ledger.isToldOfForeign)) this.people.orderOnceMore();
    const waits = this.rescue?.waits || unrestOf(this);
    const [restMs, mostMs] = this.rescue === null ? [restlessMs, calmMsMax] : [rescueMs, rescueMsMax];
    const unshown = unshownLock(this);
    if (unshown === "" && (waits === "" || (!this.weather.mustSettle && calmMs > restMs))) {
      this.#end();
      return;
    }
    if (isTimeStanding(this)) this.#stoodMs += calmCheckMs;
    if (calmMs < mostMs + this.#stoodMs) return;
    if (unshown !== "") this.violated(new Violation("an agent that has stopped itself shows at its gateway", unshown));
    if (!this.weather.mustSettle) return;
    // In a market that rose each order may cost more than half of a day's fees.
    if (this.#daysWaited < this.plan.orders.length && haveFeesRunOut(this)) {
      this.#daysWaited += 1;
      this.leap(dayAndMoreMs, "a day passes, and with it what was spent in fees");
      this.#calmSince = kernel.scheduler.nowMs;
      return;
    }
    const leftMs = heldBackUntilMs(this) - kernel.scheduler.nowMs;
    if (leftMs > 0) this.leap(leftMs, "a limit's time passes");
    else if (leftMs <= -mostMs) this.violated(new Violation("every withdrawal comes to an end when faults stop", waits));
  }

  /** Every actor that kept bytes publishes all of them now; then the run is over. */
  #end(): void {
    const { rates } = this.plan;
    if (!this.weather.mayLock) {
      for (const { name, signer } of serving(this)) {
        const locked = signer?.signer.core.locked;
        if (locked) this.violated(new Violation("no agent stops without a reason", `${name}: ${locked.code} ${locked.detail}`));
      }
    }
    const carried = rates.frameLost + rates.framesSwapped + rates.frameOld + rates.hostileCourier;
    // Another merchant's agent may say so of itself.
    const isWhole = !this.weather.backups.wasUsed && carried === 0 && this.plan.liars !== "a merchant";
    const [alarm] = this.gateway.all<{ detail: string }>("SELECT detail FROM audit WHERE act = 'alarm HUB_DATABASE_BEHIND'");
    if (isWhole && alarm !== undefined) this.violated(new Violation("no gateway takes itself for a backup", alarm.detail));
    this.ground.finish(() => this.violation !== null);
    this.holds(() => this.payments.told(this.witness.told()));
    if (this.weather.mustSettle) this.holds(() => this.payments.sweeps.ends(this.payers.paid));
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
    const account = accounts?.find(network, hot);
    const isOver = book?.openCount === 0 && locked === null && this.people.open() === "" && !this.rescue?.isBeyond;
    if (account === undefined || !isOver || this.payments.foreign.size > 0) return;
    const unended = this.ground.unended(account.next);
    must(unended === "", "every slot below the next one ends on chain", () => `${name}: ${unended}`);
  }

  /**
   * An order asked for again years later gets its old answer. An order that an opened ledger left
   * out is new to it.
   */
  #remembers(machine: Machine): void {
    const { book } = machine.signer?.signer.core ?? {};
    const { records } = this.ledgerOf(machine);
    if (book === undefined || records.some(({ kind }) => kind === "OPENED")) return;
    for (const record of records) {
      if (record.kind !== "REQUESTED") continue;
      must(book.stateOf(record.transactionId) !== undefined, "what was asked for once is known for ever", () => machine.name);
    }
  }
}

/**
 * The limits as a merchant understands them: where both words that a version is dead are the
 * gateway's, another one is a person's, whatever the configuration says.
 */
function termsOf(plan: Plan): ReturnType<typeof policyOf> {
  return plan.liars === "gateway and nodes" ? { ...policyOf(plan), resignAbove: "0" } : policyOf(plan);
}

function decimalsOf(all: typeof currencies): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(all).map(([id, { decimal }]) => [id, decimal]));
}
