/**
 * People at the agent who replace, cancel, pause and resume: now and then without need while things
 * go wrong, and afterwards exactly as `status` says, once for each withdrawal it names. The rest is
 * to go on without them.
 */
import type { Answer, OperatorView, SignerStatus, UnstickPlan } from "../../../agent/socket/verbs.ts";
import { kernel } from "../kernel/kernel.ts";
import type { Machine } from "./agent.ts";
import type { Scene } from "./scene.ts";
import { stage } from "./setting.ts";

const lookMs = { evm: 2_500, tron: 5_000 } as const;
const approver = "ann";

const waiting: ReadonlySet<string> = new Set(["approved", "intent", "signed", "quarantined"]);

type Facts = Readonly<Record<string, string>>;
type Ask = (machine: Machine, verb: string, body: object, answered?: (answer: Answer) => void) => void;

export class OnCall {
  readonly #world: Scene;
  readonly #ask: Ask;
  /** Whom somebody helped once nothing went wrong any more: once is enough. */
  readonly #followed = new Set<string>();

  constructor(world: Scene, ask: Ask) {
    this.#world = world;
    this.#ask = ask;
  }

  begin(): void {
    const { scheduler } = kernel;
    scheduler.every(lookMs[stage.family], scheduler.world, () => {
      for (const machine of this.#world.machines) {
        if (machine.signer === null) continue;
        if (this.#world.isFaulty) this.#meddle(machine);
        else this.#follow(machine);
      }
    });
  }

  #meddle(machine: Machine): void {
    const { chance } = kernel;
    const { helps } = this.#world.plan;
    if (helps === 0 || !chance.fault("a person helps", helps)) return;
    const verb = chance.pick("how", ["replace", "replace", "cancel", "pause", "resume", "resume"] as const);
    if (verb === "pause" || verb === "resume") {
      this.#ask(machine, "pause", { paused: verb === "pause", approver: "ann" });
      return;
    }
    this.#ask(machine, "list", { openOnly: true, limit: 20 }, (answer) => {
      const { withdrawals = [] } = answer as unknown as { withdrawals?: readonly OperatorView[] };
      const out = withdrawals
        .filter(({ versions, state }) => state !== "quarantined" && versions.some(({ raw }) => raw !== undefined))
        .filter((view) => verb === "cancel" || this.#isGone(view.versions));
      if (out.length > 0) this.#unstick(machine, verb, chance.pick("which one", out).transactionId);
    });
  }

  /** A person beside a lying gateway and nodes looks elsewhere whether a version is gone. */
  #isGone(versions: readonly { readonly txHash: string }[]): boolean {
    const { ground, plan } = this.#world;
    return plan.liars !== "gateway and nodes" || versions.every(({ txHash }) => ground.isGone(txHash));
  }

  /** Whether the courier and its nodes alone could not be trusted to bring everything to an end. */
  get #isNeeded(): boolean {
    const { rates, helps, rescue, resignAbove } = this.#world.plan;
    return resignAbove !== "" || rates.hostileCourier + rates.nodeLies + helps > 0 || rescue || this.#world.weather.mayLock;
  }

  /**
   * Nothing goes wrong any more: a pause is ended, and a withdrawal that `status` names gets the
   * verb that it names.
   */
  #follow(machine: Machine): void {
    const { core } = machine.signer?.signer ?? {};
    if (core === undefined || (core.paused === null && core.book.openCount === 0)) return;
    this.#ask(machine, "status", {}, (answer) => {
      const { status } = answer as unknown as { status?: SignerStatus };
      if (status?.paused) this.#ask(machine, "pause", { paused: false, approver: "ann" });
      const stuck = status?.stuck ?? null;
      // The person who carries a recovery out decides on withdrawals that it quarantined. A
      // withdrawal whose bytes never left waits for something else.
      if (stuck === null || waiting.has(stuck.state) || this.#followed.has(stuck.transactionId)) return;
      const why = status?.courier?.waiting.find(({ transactionId }) => transactionId === stuck.transactionId)?.why ?? "";
      if (this.#isHopeless(why, core.book.find(stuck.transactionId)?.job.mode)) {
        this.#unstick(machine, "cancel", stuck.transactionId);
        return;
      }
      if (!this.#isNeeded || !this.#isGone(core.book.find(stuck.transactionId)?.versions ?? [])) return;
      // On a chain without bids a person allows one more version, each time again.
      const isOnce = this.#world.plan.family === "evm";
      this.#unstick(machine, "replace", stuck.transactionId, () => isOnce && this.#followed.add(stuck.transactionId));
    });
  }

  /**
   * No other version helps where the receiver takes none, nor where an address for deposits has
   * less than a dearer fee: that sweep is ordered anew, with another top-up.
   */
  #isHopeless(why: string, mode: string | undefined): boolean {
    if (this.#world.plan.family === "evm") return false;
    return why === "the chain would revert it" || (why === "funds for another version" && mode === "sweep");
  }

  /** A slot is used up; of bytes that nobody has here a person must know the price. */
  cancel(machine: Machine, transactionId: string): void {
    const { openFacts, namedFacts } = this.#world.ground;
    const isKnown = kernel.chance.below("the price is left open", 2) === 0;
    this.#unstick(machine, "cancel", transactionId, () => {}, isKnown ? openFacts : namedFacts);
  }

  /** As the command does it: shown first, then ordered as it was shown. */
  #unstick(
    machine: Machine,
    act: "replace" | "cancel",
    transactionId: string,
    done: () => unknown = () => {},
    facts: Facts = this.#world.ground.openFacts,
  ): void {
    const asked = { transactionId, act, approver, facts };
    this.#ask(machine, "unstick", { ...asked, plan: null }, (answer) => {
      const { plan } = answer as unknown as { plan?: UnstickPlan };
      if (plan === undefined) return;
      this.#world.payments.helped(transactionId);
      this.#ask(machine, "unstick", { ...asked, plan }, ({ ok }) => ok && done());
    });
  }
}
