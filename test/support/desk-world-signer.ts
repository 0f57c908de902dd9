/**
 * The signer of a desk's world: it keeps its rules, and complains when the desk breaks one. A
 * version is released when the gateway has acknowledged it, which takes a while.
 */
import type { DeskEffect } from "../../agent/courier/desk/desk.ts";
import type { CourierView, VersionView, WithdrawalState } from "../../agent/socket/verbs.ts";
import { account, gwei, helloOf, viewOf } from "./desk-views.ts";
import { gasUsed, type Luck } from "./desk-world-chain.ts";

const feeCeilingWei = gasUsed * 400n * gwei;

type Ask = Extract<DeskEffect, { kind: "ask" }>;

interface Version extends VersionView {
  readonly bytes: string;
  isReleased: boolean;
}

export interface Payment {
  view: CourierView;
  readonly wouldRevert: boolean;
  versions: Version[];
}

/** The parts of the surrounding world that a signer needs. */
export interface Surroundings extends Luck {
  readonly nowMs: number;
  later(ms: number, run: () => void): void;
  rule(holds: boolean, text: string): void;
  isFinal(txHash: string): boolean;
  /** Tells the desk of it unasked. */
  push(view: CourierView): void;
}

export class WorldSigner {
  readonly payments = new Map<string, Payment>();
  nextSlot: number | null = null;
  readonly #world: Surroundings;
  #changedAt = 1;

  constructor(world: Surroundings) {
    this.#world = world;
  }

  get open(): readonly Payment[] {
    return [...this.payments.values()].filter(({ view }) => !["paid", "refused"].includes(view.state));
  }

  accountView() {
    return {
      chain: "local",
      network: "eip155:31337",
      address: account,
      nextSlot: this.nextSlot === null ? "" : `${this.nextSlot}`,
    };
  }

  hello() {
    return helloOf(
      this.open.map(({ view }) => view),
      { accounts: [this.accountView()] },
    );
  }

  /** A withdrawal is ordered and approved at once. */
  request(sequence: number, amountWei: bigint, wouldRevert: boolean): Payment {
    const view = viewOf(sequence, "approved", { amountUnits: `${amountWei}`, changedAt: ++this.#changedAt });
    const payment = { view, wouldRevert, versions: [] };
    this.payments.set(view.transactionId, payment);
    return payment;
  }

  /** Does what is asked; gives the code of a refusal, or nothing. */
  act(payment: Payment, { verb, body }: Ask): string {
    const { view } = payment;
    if (verb === "decline") {
      this.#world.rule(payment.wouldRevert && view.slot === "", `${view.sequence} declined although it can be paid`);
      if (view.state !== "approved") return "WITHDRAWAL_CLOSED";
      this.#set(payment, { state: "refused", code: "CHAIN_WOULD_REVERT" });
      return "";
    }
    if (verb === "observed") return this.#observe(payment, body as never);
    const { facts } = body as unknown as {
      readonly facts: Readonly<Record<"gasLimit" | "maxFeePerGas" | "maxPriorityFeePerGas", string>>;
    };
    const above = "above" in body ? (body.above as number) : 0;
    if (payment.versions.length > above) return "";
    if (["paid", "included"].includes(view.state)) return "WITHDRAWAL_INCLUDED";
    if (verb === "replace" && !payment.versions[above - 1]?.isReleased) return "WITHDRAWAL_NOT_RELEASED";
    const feeMax = BigInt(facts.gasLimit) * BigInt(facts.maxFeePerGas);
    if (feeMax > feeCeilingWei) return "POLICY_FEE_ABOVE_WITHDRAWAL";
    const number = above + 1;
    const txHash = `0x${view.sequence}-${number}-${facts.maxFeePerGas}`;
    const version: Version = {
      version: number,
      txHash,
      facts,
      feeMax: `${feeMax}`,
      signedAt: this.#world.nowMs,
      bytes: `bytes of ${txHash}`,
      isReleased: false,
    };
    payment.versions = [...payment.versions, version];
    if (view.slot === "") this.#set(payment, { state: "signed", slot: `${this.nextSlot!++}`, account });
    else this.#set(payment, {});
    this.#acknowledge(payment, number, 50 + this.#world.random() * 500);
    return "";
  }

  #set(payment: Payment, change: Partial<CourierView>): void {
    const versions = payment.versions.map(({ bytes, isReleased, ...view }) => (isReleased ? { ...view, raw: bytes } : view));
    payment.view = { ...payment.view, ...change, versions, changedAt: ++this.#changedAt };
  }

  /** The gateway's acknowledgement, some of them only after a new link. */
  #acknowledge(payment: Payment, number: number, delayMs: number): void {
    this.#world.later(this.#world.chance(0.1) ? 20_000 : delayMs, () => {
      const version = payment.versions[number - 1]!;
      if (version.isReleased) return;
      version.isReleased = true;
      this.#set(payment, payment.view.state === "signed" ? { state: "released" } : {});
      this.#world.push(payment.view);
    });
  }

  #observe(payment: Payment, body: { stage: string; outcome: string; txHash: string }): string {
    const { view } = payment;
    this.#world.rule(
      payment.versions.some((one) => one.txHash === body.txHash && one.isReleased),
      "an observation of bytes never released",
    );
    if (["paid", "refused"].includes(view.state)) return body.stage === "final" ? "" : "WITHDRAWAL_CLOSED";
    if (body.stage === "final") {
      this.#world.rule(body.outcome === "paid" && this.#world.isFinal(body.txHash), "final before it is final");
      this.#set(payment, { state: "paid" });
    } else this.#set(payment, { state: body.stage as WithdrawalState });
    return "";
  }
}
