/**
 * People at the agent who replace, cancel, pause and resume: now and then without need while things
 * go wrong, and afterwards exactly as `status` says, once for each withdrawal it names. The rest is
 * to go on without them.
 */
import type { EndPlan } from "../../../agent/socket/stuck.ts";
import type {
  Answer,
  OperatorView,
  ReplacementPlan,
  SignerStatus,
} from "../../../agent/socket/verbs.ts";
import { kernel } from "../kernel/kernel.ts";
import type { Machine } from "./agent.ts";
import type { Scene } from "./scene.ts";
import { stage } from "./setting.ts";

const lookMs = {
  evm: 2_500,
  xrp: 2_500,
  bitcoinregtest: 2_500,
  litecoinregtest: 2_500,
  tron: 5_000,
} as const;
const approver = "ann";

const waiting: ReadonlySet<string> = new Set(["approved", "intent", "signed", "quarantined"]);

type TxParams = Readonly<Record<string, string>>;
type Ask = (
  machine: Machine,
  verb: string,
  body: object,
  answered?: (answer: Answer) => void,
) => void;

type Core = NonNullable<Machine["signer"]>["signer"]["core"];

const isQuiet = ({ paused, stops, book }: Core): boolean =>
  paused === null && stops.networks().length === 0 && book.openCount === 0;

export class Operators {
  readonly #world: Scene;
  readonly #ask: Ask;
  /**
   * Payments that somebody helped once nothing went wrong any more, with the ledger's epoch: once
   * is enough, until a recovery takes the bytes away.
   */
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
    const { random } = kernel;
    const { helps } = this.#world.plan;
    if (helps === 0 || !random.fault("an operator helps", helps)) return;
    const verb = random.pick("how", [
      "replace",
      "replace",
      "cancel",
      "pause",
      "resume",
      "resume",
    ] as const);
    if (verb === "pause" || verb === "resume") {
      this.#ask(machine, "pause", { paused: verb === "pause", approver: "ann" });
      return;
    }
    this.#ask(machine, "list", { openOnly: true, limit: 20 }, (answer) => {
      const { withdrawals = [] } = answer as unknown as { withdrawals?: readonly OperatorView[] };
      const out = withdrawals
        .filter(
          ({ attempts, state }) =>
            state !== "quarantined" && attempts.some(({ raw }) => raw !== undefined),
        )
        .filter((view) => verb === "cancel" || this.#isGone(view.attempts));
      if (out.length > 0)
        this.#manualReplacement(machine, verb, random.pick("which one", out).transactionId);
    });
  }

  /** An operator beside a lying gateway and nodes looks elsewhere whether an attempt is gone. */
  #isGone(attempts: readonly { readonly txHash: string }[]): boolean {
    const { chainFixture, plan } = this.#world;
    return (
      plan.liars !== "gateway and nodes" ||
      attempts.every(({ txHash }) => chainFixture.isGone(txHash))
    );
  }

  /** Whether the courier and its nodes alone could not be trusted to bring everything to an end. */
  get #isNeeded(): boolean {
    const { rates, helps, recoveryScenario, manualReplaceAbove } = this.#world.plan;
    return (
      manualReplaceAbove !== "" ||
      rates.hostileCourier + rates.nodeLies + helps > 0 ||
      recoveryScenario ||
      this.#world.faultInjector.mayLock
    );
  }

  /**
   * Nothing goes wrong any more: a pause is ended, and a withdrawal that `status` names gets the
   * verb that it names.
   */
  #follow(machine: Machine): void {
    const { core } = machine.signer?.signer ?? {};
    if (core === undefined || isQuiet(core)) return;
    this.#ask(machine, "status", {}, (answer) => {
      const { status } = answer as unknown as { status?: SignerStatus };
      if (status?.paused) this.#ask(machine, "pause", { paused: false, approver: "ann" });
      for (const { chain, currency } of status?.stopped ?? [])
        this.#ask(machine, "pause", {
          paused: false,
          approver: "ann",
          ...(currency === undefined ? { network: chain } : { currency }),
        });
      const { transactionId: missing, left = "?" } = status?.unreachable ?? {};
      if (missing !== undefined && left === "") this.#end(machine, missing);
      const stuck = status?.stuck ?? null;
      const helped = `${stuck?.transactionId} ${core.paired.ledgerEpoch}`;
      // The operator who carries a recovery out decides on withdrawals that it quarantined. A
      // withdrawal whose bytes never left waits for something else.
      if (stuck === null || waiting.has(stuck.state) || this.#followed.has(helped)) return;
      const why =
        status?.courier?.waiting.find(({ transactionId }) => transactionId === stuck.transactionId)
          ?.why ?? "";
      if (this.#isHopeless(why, core.book.find(stuck.transactionId)?.job.mode)) {
        this.#manualReplacement(machine, "cancel", stuck.transactionId);
        return;
      }
      if (!this.#isNeeded || !this.#isGone(core.book.find(stuck.transactionId)?.attempts ?? []))
        return;
      // On a chain without bids an operator allows one more attempt, each time again.
      const isOnce = this.#world.plan.family !== "tron";
      const done = (): unknown => isOnce && this.#followed.add(helped);
      this.#manualReplacement(machine, "replace", stuck.transactionId, done);
    });
  }

  /** As the command does it: shown first, then ended as it was shown. */
  #end(machine: Machine, transactionId: string): void {
    this.#ask(machine, "end", { transactionId, slot: "", approver }, (answer) => {
      const { plan } = answer as unknown as { plan?: EndPlan };
      if (plan !== undefined)
        this.#ask(machine, "end", { transactionId, slot: plan.slot, approver });
    });
  }

  /**
   * No other attempt helps where the receiver takes none, nor where a deposit address has
   * less than a more expensive fee: that sweep is ordered again, with another top-up.
   */
  #isHopeless(why: string, mode: string | undefined): boolean {
    if (this.#world.plan.family !== "tron") return false;
    return (
      why === "the chain would revert it" ||
      (why === "funds for another attempt" && mode === "sweep")
    );
  }

  /** A slot is used up; of bytes that nobody has here an operator must know the price. */
  cancel(machine: Machine, transactionId: string): void {
    const { openTxParams, namedTxParams } = this.#world.chainFixture;
    const isKnown = kernel.random.below("the price is left open", 2) === 0;
    this.#manualReplacement(
      machine,
      "cancel",
      transactionId,
      () => {},
      isKnown ? openTxParams : namedTxParams,
    );
  }

  /**
   * As the command does it: shown first, then ordered as it was shown. If the fees of an earlier
   * attempt are not known, the operator gives all figures, as the refusal says.
   */
  #manualReplacement(
    machine: Machine,
    act: "replace" | "cancel",
    transactionId: string,
    done: () => unknown = () => {},
    txParams: TxParams = this.#world.chainFixture.openTxParams,
  ): void {
    const asked = { transactionId, act, approver, txParams };
    this.#ask(machine, "manualReplacement", { ...asked, plan: null }, (answer) => {
      const { fullTxParams, openTxParams } = this.#world.chainFixture;
      const isUnknown = !answer.ok && answer.code === "REPLACEMENT_FEES" && act === "replace";
      if (isUnknown && txParams === openTxParams && fullTxParams !== openTxParams)
        this.#manualReplacement(machine, act, transactionId, done, fullTxParams);
      const { plan } = answer as unknown as { plan?: ReplacementPlan };
      if (plan === undefined) return;
      this.#world.payments.helped(transactionId);
      this.#ask(machine, "manualReplacement", { ...asked, plan }, ({ ok }) => ok && done());
    });
  }
}
