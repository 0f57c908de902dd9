/**
 * The one honest operator: the agent's operator, who knows what the shop ordered and what the chain
 * counts. Says yes to exactly that, carries out every recovery that is offered, and to what stays
 * quarantined says neither yes nor no.
 */
import type { FirstSlotView } from "../../../agent/socket/first-slot.ts";
import type { RecoveryPlan } from "../../../agent/socket/recovery-plan.ts";
import type { Answer, OperatorView, ReplacementPlan } from "../../../agent/socket/verbs.ts";
import { kernel, note } from "../kernel/kernel.ts";
import type { Machine } from "../world/agent.ts";
import type { Plan } from "../world/plan.ts";
import { begun, chainName } from "../world/setting.ts";

const marginMs = 120_000;
const openTxParams = {
  ...{ refBlockBytes: "", refBlockHash: "", timestampMs: "", expirationMs: "" },
  ...{ feeLimitSun: "", energy: "", byteSun: "", activationSun: "" },
};

export class Operator {
  readonly #machine: Machine;
  readonly #plan: Plan;
  /** Withdrawals that have their yes. */
  readonly yes = new Set<string>();
  /** Withdrawals of which they let one attempt more be made. */
  readonly ordered = new Set<string>();

  constructor(machine: Machine, plan: Plan) {
    this.#machine = machine;
    this.#plan = plan;
  }

  /** One look at everything. */
  look(): void {
    if (this.#plan.family === "evm") this.#adopt();
    this.#ask("status", {}, (answer) => {
      const { status } = answer as unknown as { status?: { readonly recovery: string } };
      if (status?.recovery === "RECOVERY_OFFERED") this.#recover(false);
      if (status?.recovery === "RECOVERY_HOLD" && kernel.random.below("ends the holding", 3) === 0)
        this.#ask("finish", {});
    });
    this.#ask("list", { openOnly: true, limit: 40 }, (answer) => {
      const { withdrawals = [] } = answer as unknown as { withdrawals?: readonly OperatorView[] };
      for (const view of withdrawals) this.#decide(view);
    });
  }

  /** The account is the shop's own: they know its first slot, whatever is counted to them. */
  #adopt(): void {
    this.#ask("adopt", { chain: chainName, slot: "" }, (answer) => {
      const { first } = answer as unknown as { first?: FirstSlotView };
      const slot = `${this.#plan.firstNonce}`;
      if (first !== undefined && !first.isBegun && first.counted === slot)
        this.#ask("adopt", { chain: chainName, slot });
    });
  }

  #recover(both: boolean): void {
    this.#ask("recover", { digest: "", bothRestored: both }, (answer) => {
      const { plan } = answer as unknown as { plan?: RecoveryPlan };
      if (!answer.ok && answer.code === "RECOVERY_BOTH" && !both) this.#recover(true);
      if (plan === undefined) return;
      note("says yes to a recovery", plan.kept);
      this.#ask("recover", { digest: plan.digest, bothRestored: both });
    });
  }

  #decide(view: OperatorView): void {
    const { random } = kernel;
    const isTheirs = this.#plan.orders.some(
      ({ orderId, amount, currency, address }) =>
        view.orderId === orderId &&
        view.amount === amount &&
        view.currency === currency &&
        (address === "" || view.address === address),
    );
    if (view.state === "held" && isTheirs) this.#approve(view);
    else if (view.state === "held" && random.below("refuses", 4) === 0)
      this.#ask("refuse", { transactionId: view.transactionId, approver: "ann" });
    if (view.state !== "released" || !isTheirs || this.#plan.family === "evm") return;
    const newest = view.attempts.at(-1);
    const isPast =
      begun + kernel.scheduler.nowMs > (newest?.validUntilMs ?? Number.MAX_SAFE_INTEGER) + marginMs;
    if (isPast && random.below("lets another version be made", 4) === 0)
      this.#manualReplace(view.transactionId);
  }

  #approve({ transactionId, approvalDigest, address }: OperatorView): void {
    const approver = kernel.random.pick("who decides", ["ann", "bob"]);
    // One that was left open stays so: the shop named nobody.
    if (address === "") return;
    this.yes.add(transactionId);
    this.#ask("approve", { transactionId, digest: approvalDigest, address: "", approver });
  }

  #manualReplace(transactionId: string): void {
    const wish = { transactionId, act: "replace", txParams: openTxParams, approver: "ann" };
    this.#ask("manualReplacement", { ...wish, plan: null }, (answer) => {
      const { plan } = answer as unknown as { plan?: ReplacementPlan };
      if (plan === undefined) return;
      this.ordered.add(transactionId);
      this.#ask("manualReplacement", { ...wish, plan });
    });
  }

  #ask(verb: string, body: object, answered: (answer: Answer) => void = () => {}): void {
    const signer = this.#machine.signer;
    if (signer === null) return;
    kernel.scheduler.after(1, signer.owner, () => {
      signer.operatorVerbs({ id: 1, verb, ...body }, (answer) => {
        if (!signer.owner.isAlive) return;
        note(`operator ${verb}`, answer.ok ? "ok" : answer.code);
        answered(answer);
      });
    });
  }
}
