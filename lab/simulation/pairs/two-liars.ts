/**
 * One run in which gateway and courier lie together: the honest parts are the signer, its drive,
 * which fails as drives do, and one operator. No gateway and no courier of ours runs. Ends after
 * some acts of the two, or with an invariant that does not hold.
 */
import type { CoreSnapshot } from "../../../agent/signer/state/core.ts";
import type { Answer, CourierView, PushMessage } from "../../../agent/socket/verbs.ts";
import { AgentError } from "../../../base/fault.ts";
import type { Job } from "../../../protocol/messages.ts";
import { DurableLedger } from "../invariants/ledger.ts";
import type { RecoveredRecord } from "../invariants/limits.ts";
import { SignedMoney } from "../invariants/signed-money.ts";
import { must, Violation, violationOf } from "../invariants/violation.ts";
import { kernel, note } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import { Machine } from "../world/agent.ts";
import { drawPlan } from "../world/draw.ts";
import { DriveFaults } from "../world/drive-faults.ts";
import type { FaultKind, Plan } from "../world/plan.ts";
import { currencies, policyOf, settle, stage } from "../world/setting.ts";
import { readTransfer } from "../world/tron-raw.ts";
import { Liars } from "./liars.ts";
import { Operator } from "./operator.ts";

const actMs = 1_000;
const lookMs = 2_500;
const powerMs = 5_000;
const marginMs = 120_000;
/** Clocks may be apart by so much, and an attempt may end so long after the later one. */
const [skewMs, lifetimeMs] = [600_000, 661_000];

export class TwoLiars {
  readonly plan: Plan;
  readonly machine: Machine;
  readonly #ledger: DurableLedger;
  readonly #liars: Liars;
  readonly #operator: Operator;
  readonly #money: SignedMoney;
  readonly #drives = new DriveFaults(this);
  readonly #left = new Set<string>();
  readonly #states = new Map<string, CoreSnapshot>();
  #quarantined = new Set<string>(); // above a limit, by the newest opening
  #recoveries = 0;
  violation: Violation | null = null;

  constructor(seed: number) {
    this.plan = drawPlan(kernel.random, seed);
    settle(this.plan.family);
    const policy = policyOf(this.plan);
    this.machine = new Machine("a", "aa".repeat(8), 1, {
      plan: this.plan,
      seen: (_, message) => this.#seen(message),
      touched: (_, body) => body,
      thrown: (owner, error) => this.thrown(owner, error),
    });
    this.#liars = new Liars(this.machine, this.plan, (message) => this.#seen(message));
    this.#operator = new Operator(this.machine, this.plan);
    this.#money = new SignedMoney(policy, {
      jobsOf: (id) => this.#jobsOf(id),
      hasYes: (id) => this.#operator.yes.has(id),
      isEnded: (id) => this.#liars.ended.has(id),
      isOrdered: (id) => this.#operator.ordered.has(id),
      nowMs: () => this.machine.clock(),
    });
    const decimals = Object.fromEntries(
      Object.entries(currencies).map(([id, { decimal }]) => [id, decimal]),
    );
    this.#ledger = new DurableLedger({
      ...{ name: "a", policy, decimals, coinDecimal: stage.coin.decimal },
      // The machine's own clock is right, whatever time the two tell.
      atMax: () => this.machine.clock(),
      isGatewayHonest: false,
      endMax: () => this.machine.clock() + skewMs + lifetimeMs,
      stateOf: (record) => this.#stateOf(record),
      isGenuine: (job) => this.#liars.gateway.made.has(job),
      isTrue: () => true,
      mayBeAhead: () => true,
      isVoid: (_, raw) =>
        raw === "" || (readTransfer(raw)?.expirationMs ?? 0) + marginMs < this.machine.clock(),
      ...{ isHonest: false, isPlaced: () => true, isForeign: () => false, mayBePaid: () => false },
    });
    const { drive } = this.machine;
    drive.onDurable = (file, bytes) => {
      if (!file.endsWith(".jsonl")) return;
      this.#holds(() =>
        bytes === null ? this.#ledger.reread(drive.durableFiles()) : this.#ledger.take(bytes),
      );
    };
    drive.onLost = () => this.#holds(() => this.#ledger.reread(drive.durableFiles()));
  }

  /** Old checkpoints are removed: what one said is remembered. */
  #stateOf(record: RecoveredRecord): CoreSnapshot {
    const state = this.#states.get(record.sha256) ?? this.machine.stateIn(record);
    this.#states.set(record.sha256, state);
    return state;
  }

  rate(kind: FaultKind): number {
    return this.plan.rates[kind];
  }

  machineOf(owner: Owner): Machine | undefined {
    return this.machine.signer?.owner === owner || this.machine.starting === owner
      ? this.machine
      : undefined;
  }

  start(): void {
    const { scheduler, random } = kernel;
    kernel.onSign = (digest) => this.#signs(digest);
    this.#drives.begin();
    this.machine.pair(1);
    this.machine.startSigner();
    let left = random.between("acts of the two", 20, 90);
    scheduler.every(actMs, scheduler.world, () => {
      if (left === 0) scheduler.stop();
      left -= 1;
      this.#liars.act();
    });
    scheduler.every(lookMs, scheduler.world, () => this.#operator.look());
    scheduler.every(powerMs, scheduler.world, () => {
      if (this.#drives.strikes("powerFails", "power fails")) this.machine.powerFails();
    });
  }

  thrown(owner: Owner, error: unknown): void {
    if (!owner.isAlive || this.violation !== null) return;
    const isDisk =
      error instanceof AgentError &&
      (error.code === "LEDGER_POISONED" || error.code === "LEDGER_DAMAGED");
    if (isDisk && error.code === "LEDGER_POISONED") this.machine.signerEnds(owner);
    else if (isDisk && this.machine.drive.hasHole) kernel.scheduler.stop();
    else this.#violated(violationOf(owner.name, error));
  }

  #violated(violation: Violation): void {
    if (this.violation !== null) return;
    this.violation = violation;
    note("violated", violation.invariant, () => violation.message);
    kernel.scheduler.stop();
  }

  #holds(check: () => void): void {
    try {
      check();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.#violated(error);
    }
  }

  #jobsOf(id: string): readonly Job[] {
    return [...this.#liars.gateway.made]
      .map((text) => JSON.parse(text) as Job)
      .filter(({ transactionId }) => transactionId === id);
  }

  #signs(digest: string): void {
    if (!kernel.scheduler.current.isAlive) return;
    note("signs", digest.slice(0, 16));
    const isOffered = this.machine.signer?.signer.run.orders.isWhole === true;
    this.#holds(() =>
      must(!isOffered, "nothing is signed between a recovery's order and its yes", () => "a"),
    );
    this.#holds(() => this.#ledger.signs(digest));
  }

  #seen(message: Answer | PushMessage): void {
    if (this.#drives.answerDies(this.machine)) return;
    const found = message as {
      withdrawal?: CourierView;
      withdrawals?: CourierView[];
      open?: CourierView[];
    };
    for (const { attempts, transactionId } of [
      found.withdrawal ?? [],
      found.withdrawals ?? [],
      found.open ?? [],
    ].flat())
      for (const { raw } of attempts) if (raw !== undefined) this.#leaves(raw, transactionId);
  }

  #leaves(raw: string, transactionId: string): void {
    if (this.#left.has(raw)) return;
    this.#left.add(raw);
    const signed = this.#ledger.records.find(
      (record) => record.kind === "SIGNED" && record.raw === raw,
    );
    note("leaves", transactionId);
    this.#holds(() => {
      this.#ledger.leaves(raw);
      this.#staysQuarantined(transactionId);
      this.#money.left(raw, transactionId, signed?.at ?? 0);
    });
  }

  /**
   * A withdrawal above a limit leaves a recovered ledger by an operator's yes: there is none here.
   */
  #staysQuarantined(transactionId: string): void {
    const opened = this.#ledger.records.filter((record) => record.kind === "RECOVERED");
    if (opened.length !== this.#recoveries) {
      this.#recoveries = opened.length;
      const state =
        opened.at(-1) === undefined ? null : this.#stateOf(opened.at(-1) as RecoveredRecord);
      const above = state?.book.open.filter(({ code }) => code.startsWith("POLICY_ABOVE")) ?? [];
      this.#quarantined = new Set(above.map((one) => one.transactionId));
    }
    const isFree = !this.#quarantined.has(transactionId);
    must(
      isFree,
      "what a recovered ledger quarantined leaves by an operator's yes",
      () => transactionId,
    );
  }
}
