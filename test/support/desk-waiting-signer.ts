/**
 * The signer of a desk's world where versions end by waiting, and the gateway's word on them. It
 * keeps the rules, and complains when the desk breaks one.
 */
import type { DeskEffect } from "../../agent/courier/desk/desk.ts";
import type { CourierView, VersionView, WithdrawalState } from "../../agent/socket/verbs.ts";
import { families, waitingOf } from "../../chains/families.ts";
import type { Facts, Waiting } from "../../chains/family.ts";
import { helloOf, viewOf } from "./desk-views.ts";
import { payingAccount, waitingNetwork } from "./desk-waiting-views.ts";
import type { Luck } from "./desk-world-chain.ts";

type Ask = Extract<DeskEffect, { kind: "ask" }>;

interface Version extends VersionView {
  readonly bytes: string;
  readonly until: number;
  isReleased: boolean;
}

export interface WaitingPayment {
  view: CourierView;
  readonly wouldRevertUntilMs: number; // world time
  readonly endsAtMs: number; // world time, of the job
  versions: Version[];
}

export interface WaitingSurroundings extends Luck {
  readonly nowMs: number;
  later(ms: number, run: () => void): void;
  rule(holds: boolean, text: string): void;
  isFinal(txHash: string): boolean;
  /** Whether no block can ever take these any more, by the whole truth. */
  isDead(versions: readonly { readonly txHash: string; readonly untilMs: number }[]): boolean;
  push(view: CourierView): void;
}

const { fees } = families.tron;
const waiting = waitingOf(waitingNetwork) as Waiting;
const ends: readonly WithdrawalState[] = ["paid", "refused", "expired"];

export class WaitingSigner {
  readonly payments = new Map<string, WaitingPayment>();
  readonly #world: WaitingSurroundings;
  #changedAt = 1;
  #nextSlot = 0;
  #lastStamp = 0n;

  constructor(world: WaitingSurroundings) {
    this.#world = world;
  }

  get open(): readonly WaitingPayment[] {
    return [...this.payments.values()].filter(({ view }) => !ends.includes(view.state));
  }

  hello() {
    const view = { chain: "local", network: waitingNetwork, address: payingAccount, nextSlot: `${this.#nextSlot}` };
    return helloOf(
      this.open.map((one) => one.view),
      { accounts: [view] },
    );
  }

  request(sequence: number, amountSun: bigint, times: { wouldRevertUntilMs: number; endsAtMs: number }): WaitingPayment {
    const change = { network: waitingNetwork, payer: payingAccount, amountUnits: `${amountSun}`, decimal: 6 };
    const view = viewOf(sequence, "approved", { ...change, changedAt: ++this.#changedAt });
    const payment = { view, versions: [], ...times };
    this.payments.set(view.transactionId, payment);
    return payment;
  }

  act(payment: WaitingPayment, { verb, body }: Ask): string {
    const { view } = payment;
    if (verb === "decline") {
      if (view.state !== "approved") return "WITHDRAWAL_CLOSED";
      this.#set(payment, { state: "refused", code: "CHAIN_WOULD_REVERT" });
      return "";
    }
    if (verb === "observed") return this.#observe(payment, body as never);
    const above = "above" in body ? (body.above as number) : 0;
    if (view.state === "refused") return "WITHDRAWAL_CLOSED";
    if (payment.versions.length > above) return "";
    if (["paid", "included", "expired"].includes(view.state)) return "WITHDRAWAL_INCLUDED";
    if (verb === "replace") {
      const isDead = payment.versions.every(({ dead }) => dead === "both");
      this.#world.rule(isDead, `${view.sequence} signed again while a version lives`);
      if (!isDead) return "WITHDRAWAL_ALIVE";
    }
    const { facts } = body as unknown as { readonly facts: Facts };
    const stamped = waiting.stamped(fees.read(facts), this.#lastStamp);
    this.#lastStamp = waiting.stamp(stamped);
    const number = above + 1;
    const txHash = `${view.sequence}-${number}-${stamped.timestampMs}`;
    const made = { version: number, txHash, facts: stamped, feeMax: `${fees.most(stamped)}`, signedAt: this.#world.nowMs };
    const version = { ...made, until: waiting.untilMs(stamped), bytes: `bytes of ${txHash}`, isReleased: false };
    payment.versions = [...payment.versions, version];
    if (view.slot === "") this.#set(payment, { state: "signed", slot: `${this.#nextSlot++}`, account: payingAccount });
    else this.#set(payment, {});
    this.#acknowledge(payment, number);
    return "";
  }

  /** The gateway looks at the chain as well, late, and reports the deaths there. */
  hearGateway(): void {
    for (const payment of this.open) {
      const said = payment.versions.filter(({ isReleased, dead }) => isReleased && dead !== "gateway" && dead !== "both");
      const dead = said.filter(({ txHash, until }) => this.#world.isDead([{ txHash, untilMs: until }]));
      if (dead.length === 0 || this.#world.random() < 0.5) continue;
      for (const one of dead) this.#callDead(payment, one.txHash, "gateway");
      this.#world.push(payment.view);
    }
  }

  /** A job that ran out ends unpaid once nothing of it lives. */
  expire(): void {
    for (const payment of this.open) {
      const { versions, endsAtMs, view } = payment;
      const isMoving = view.state === "released" || view.state === "broadcast";
      const isOut = versions.length === 0 ? view.state === "approved" : isMoving && versions.every(({ dead }) => dead === "both");
      if (!isOut || this.#world.nowMs < endsAtMs) continue;
      this.#set(payment, { state: "expired", code: "JOB_EXPIRED", isOver: true });
      this.#world.push(payment.view);
    }
  }

  #callDead(payment: WaitingPayment, txHash: string, by: "gateway" | "courier"): void {
    payment.versions = payment.versions.map((one) =>
      one.txHash === txHash ? { ...one, dead: one.dead === undefined || one.dead === by ? by : "both" } : one,
    );
    this.#set(payment, {});
  }

  #set(payment: WaitingPayment, change: Partial<CourierView>): void {
    const versions = payment.versions.map(({ bytes, isReleased, ...view }) => (isReleased ? { ...view, raw: bytes } : view));
    payment.view = { ...payment.view, ...change, versions, changedAt: ++this.#changedAt };
  }

  /** The gateway's acknowledgement; some come after the version has ended. */
  #acknowledge(payment: WaitingPayment, number: number): void {
    const delayMs = this.#world.chance(0.05) ? 400_000 : this.#world.chance(0.1) ? 20_000 : 50 + this.#world.random() * 500;
    this.#world.later(delayMs, () => {
      const version = payment.versions[number - 1]!;
      if (version.isReleased) return;
      version.isReleased = true;
      this.#set(payment, payment.view.state === "signed" ? { state: "released" } : {});
      this.#world.push(payment.view);
    });
  }

  #observe(payment: WaitingPayment, body: { stage: string; txHash: string; block: number; witnesses?: number }): string {
    const { view } = payment;
    const version = payment.versions.find((one) => one.txHash === body.txHash && one.isReleased);
    this.#world.rule(version !== undefined, "an observation of bytes never released");
    if (version === undefined) return "SOCKET_FORMAT";
    if (ends.includes(view.state)) return body.stage === "final" ? "" : "WITHDRAWAL_CLOSED";
    if (body.stage === "dead") {
      const isDead = this.#world.isDead([{ txHash: body.txHash, untilMs: version.until }]);
      this.#world.rule(isDead, `${body.txHash} called dead, and it is not`);
      this.#world.rule((body.witnesses ?? 0) >= 2 && body.block > 0, "a death without witnesses");
      this.#callDead(payment, body.txHash, "courier");
    } else if (body.stage === "final") {
      this.#world.rule(this.#world.isFinal(body.txHash), "final before it is final");
      this.#set(payment, { state: "paid" });
    } else this.#set(payment, { state: body.stage as WithdrawalState });
    return "";
  }
}
