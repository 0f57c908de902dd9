/**
 * The faults of a run, with place and time: asked at every effect of the code, and by a clock of
 * its own for events from outside. When it calms down everything is corrected that can be
 * corrected: processes run, lines hold, nodes are honest, clocks are right.
 */
import { kernel, note } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import type { Machine } from "./agent.ts";
import { Backups } from "./backups.ts";
import { DriveFaults } from "./drive-faults.ts";
import { wrongByMs } from "./gateway-clock.ts";
import { HostileCourier } from "./hostile.ts";
import type { Scene } from "./scene.ts";

const faultInjectorMs = 700;
const minuteMs = 60_000;
const jumpsMs = [
  0,
  30_000,
  -30_000,
  5 * minuteMs,
  -5 * minuteMs,
  20 * minuteMs,
  -180 * minuteMs,
  60_000 * minuteMs,
  -5_000_000 * minuteMs,
];
const leapsMs = [
  minuteMs,
  11 * minuteMs,
  59.5 * minuteMs,
  61 * minuteMs,
  25 * 60 * minuteMs,
  25 * 60 * minuteMs,
];
const roomBytes = [0, 300, 5_000, 60_000];

export class FaultInjector {
  readonly #world: Scene;
  readonly backups: Backups;
  readonly drives: DriveFaults;
  readonly #hostile: HostileCourier | null;
  #isLeft = false;
  /** How far ahead the gateway's clock ever was. */
  gatewayAheadMs = 0;

  constructor(world: Scene) {
    this.#world = world;
    this.backups = new Backups(world);
    this.drives = new DriveFaults(world);
    this.#hostile = world.plan.rates.hostileCourier > 0 ? new HostileCourier(world) : null;
  }

  /**
   * A disk kept later parts of a write without the earlier ones: such a ledger is for an operator,
   * and nothing runs on it.
   */
  leaveToActors(machine: Machine): void {
    note("left to an operator");
    this.#isLeft = true;
    machine.isOn = false;
  }

  /**
   * Whether every withdrawal must come to an end once it is calm: not when somebody was free to
   * stop it for good.
   */
  get mustSettle(): boolean {
    const { recoveryScenario } = this.#world;
    // In a recovery by a lying courier's count, an operator must see that the count is not the
    // chain's.
    const isOpen =
      this.backups.wasUsed &&
      (recoveryScenario === null || recoveryScenario.isBeyond || this.isDeceived);
    return !isOpen && !this.#isLeft && this.#world.plan.liars !== "gateway and nodes";
  }

  /** Whether a courier lies. */
  get isDeceived(): boolean {
    return this.#hostile !== null;
  }

  /** Whether an agent may have stopped itself for an operator to look. */
  get mayLock(): boolean {
    return !this.mustSettle || this.isDeceived || this.#world.plan.rates.foreignOutgoing > 0;
  }

  begin(): void {
    const { scheduler } = kernel;
    const { plan, chainFixture, net } = this.#world;
    chainFixture.begin(plan);
    net.onMoment = (owner, what) => this.#moment(owner, what);
    scheduler.every(faultInjectorMs, scheduler.world, () => {
      if (this.#world.isFaulty) this.#act();
    });
  }

  /** Raw bytes that left a signer. */
  keep(raw: string): void {
    this.#hostile?.keep(raw);
  }

  /** The courier's request as it reaches the signer. */
  touched(verb: string, body: object): object {
    return this.#world.isFaulty ? (this.#hostile?.touched(verb, body) ?? body) : body;
  }

  /** A process is about to do something that others see: it may die first. */
  #moment(owner: Owner, what: string): void {
    if (owner.name === "gateway") {
      if (this.drives.strikes("gatewayDies", `gateway dies at ${what}`))
        this.#world.gateway.ends(owner);
      return;
    }
    const machine = this.#world.machines.find((one) => one.courier === owner);
    if (machine !== undefined && this.drives.strikes("courierDies", `courier dies at ${what}`))
      machine.courierEnds(owner);
  }

  #act(): void {
    const { machines, gateway, chainFixture, plan, actors } = this.#world;
    const { random, scheduler } = kernel;
    for (const machine of machines) this.#strike(machine);
    if (this.drives.strikes("gatewayClockJumps", "gateway's clock jumps")) {
      gateway.skewMs = random.pick("gateway's jump", jumpsMs);
      this.gatewayAheadMs = Math.max(this.gatewayAheadMs, gateway.skewMs);
      note("gateway's clock", gateway.skewMs);
    }
    if (plan.isClockWrong) this.#turnClock();
    if (this.drives.strikes("lineCut", "all lines break")) this.#world.net.cutAll(true);
    chainFixture.strike((kind, label) => this.drives.strikes(kind, label), plan);
    if (this.drives.strikes("ordersRepeated", "an order comes again")) {
      const order = random.pick("which order", plan.orders);
      if (scheduler.nowMs >= order.atMs) actors.request(order, order.amount);
    }
    if (this.drives.strikes("ordersAltered", "an order comes altered"))
      actors.alter(random.pick("which order altered", plan.orders));
    if (this.drives.strikes("timeLeaps", "time leaps")) {
      scheduler.leap(random.pick("leap", leapsMs));
      note("time leaps");
    }
    this.backups.act((kind, label) => this.drives.strikes(kind, label));
    if (this.drives.strikes("hostileCourier", "hostile")) this.#hostile?.act();
  }

  /** The gateway's clock is wrong for some seconds. */
  #turnClock(): void {
    const { gateway } = this.#world;
    const { random, scheduler } = kernel;
    if (gateway.skewMs !== 0 || random.below("the gateway's clock is right", 6) > 0) return;
    gateway.skewMs = random.pick("wrong by", wrongByMs);
    this.gatewayAheadMs = Math.max(this.gatewayAheadMs, gateway.skewMs);
    note("gateway's clock", gateway.skewMs);
    scheduler.after(random.between("wrong for", 500, 12_000), scheduler.world, () => {
      gateway.skewMs = 0;
      note("gateway's clock", 0);
    });
  }

  #strike(machine: Machine): void {
    const { random } = kernel;
    if (this.drives.strikes("powerFails", "power fails")) machine.powerFails();
    if (this.drives.strikes("clockJumps", "clock jumps")) {
      machine.skewMs = random.pick("jump", jumpsMs);
      note("clock", machine.skewMs);
    }
    if (this.drives.strikes("diskFills", "disk fills"))
      machine.drive.faults.freeBytes = random.pick("room", roomBytes);
  }

  calmDown(): void {
    const { chainFixture, machines, gateway } = this.#world;
    chainFixture.calmDown();
    gateway.skewMs = 0;
    for (const machine of machines) {
      machine.skewMs = 0;
      machine.drive.faults.freeBytes = Number.MAX_SAFE_INTEGER;
    }
  }
}
