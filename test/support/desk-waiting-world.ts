/**
 * A whole world around the desk on a chain where versions end by waiting: halts, reorganisations
 * and forgotten bytes, a gateway that reports deaths late, and a line that loses, doubles and
 * delays. Everything follows from the seed. Rules are checked at every step: what is called dead
 * never comes into a block, and no withdrawal is paid twice.
 */
import {
  type BlockFacts,
  createDesk,
  type DeskEffect,
  type DeskEvent,
  type DeskState,
  step,
} from "../../agent/courier/desk/desk.ts";
import type { CourierView, WithdrawalState } from "../../agent/socket/verbs.ts";
import { families, waitingOf } from "../../chains/families.ts";
import type { Facts, Waiting } from "../../chains/family.ts";
import { Seeded } from "../../lab/rig/seeded.ts";
import { feeSun, slotMs, WaitingChain } from "./desk-waiting-chain.ts";
import { type WaitingPayment, WaitingSigner, type WaitingSurroundings } from "./desk-waiting-signer.ts";
import { priceAt, waitingNetwork } from "./desk-waiting-views.ts";

const faultsEndMs = 2_000_000;
const endMs = 8_000_000;
const chain = "local";
const { marginMs } = waitingOf(waitingNetwork) as Waiting;

export interface WaitingOutcome {
  readonly broken: readonly string[];
  readonly ended: Readonly<Record<string, WithdrawalState>>; // withdrawals without an end
  readonly counts: { readonly versions: number; readonly deaths: number; readonly expired: number };
}

export function runWaitingWorld(seed: number): WaitingOutcome {
  return new WaitingWorld(seed).run();
}

type Asked = readonly { readonly txHash: string; readonly untilMs: number }[];

class WaitingWorld implements WaitingSurroundings {
  readonly random: () => number;
  readonly broken: string[] = [];
  readonly signer = new WaitingSigner(this);
  readonly chain = new WaitingChain(this);
  queue: { readonly atMs: number; readonly order: number; readonly run: () => void }[] = [];
  nowMs = 0;
  order = 0;
  deaths = 0;
  desk: DeskState = createDesk();
  generation = 0;
  lastFacts: BlockFacts | null = null;

  constructor(seed: number) {
    const source = new Seeded(seed);
    this.random = () => source.below(2 ** 31) / 2 ** 31;
  }

  run(): WaitingOutcome {
    this.begin();
    const count = 3 + Math.floor(this.random() * 15);
    for (let sequence = 1; sequence <= count; sequence++) this.later(this.random() * 1_500_000, () => this.request(sequence));
    this.every(1000, () => this.feed({ kind: "tick" }));
    this.every(slotMs, () => this.chain.mine(this.nowMs));
    this.every(1500, () => this.poll());
    this.every(5000, () => this.signer.hearGateway());
    this.every(10_000, () => this.signer.expire());
    for (let i = 0; i < 5; i++) this.later(this.random() * faultsEndMs, () => this.begin());
    while (this.queue.length > 0 && this.nowMs < endMs && this.broken.length === 0) {
      if (this.signer.payments.size === count && this.signer.open.length === 0) break;
      this.queue.sort((a, b) => a.atMs - b.atMs || a.order - b.order);
      const next = this.queue.shift()!;
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.run();
    }
    for (const payment of this.signer.payments.values()) this.checkEnd(payment);
    const all = [...this.signer.payments.values()];
    const versions = all.reduce((most, one) => Math.max(most, one.versions.length), 0);
    const expired = all.filter(({ view }) => view.state === "expired").length;
    const ended = Object.fromEntries(this.signer.open.map(({ view }) => [`${view.sequence}`, view.state]));
    return { broken: this.broken, ended, counts: { versions, deaths: this.deaths, expired } };
  }

  checkEnd({ view, versions }: WaitingPayment): void {
    const payments = this.chain.payments(view.transactionId);
    this.rule(payments <= 1, `${view.sequence} is paid ${payments} times`);
    if (view.state === "paid") this.rule(payments === 1, `${view.sequence} is called paid, and is not`);
    if (view.state === "expired") this.rule(payments === 0, `${view.sequence} expired, and is paid`);
    const places = versions.filter(({ txHash }) => this.chain.placed([txHash]) !== null);
    this.rule(
      places.every(({ dead }) => dead === undefined),
      `${view.sequence} has a version in a block that was called dead`,
    );
  }

  get isFaulty(): boolean {
    return this.nowMs < faultsEndMs;
  }

  chance(share: number): boolean {
    return this.isFaulty && this.random() < share;
  }

  later(ms: number, run: () => void): void {
    this.queue.push({ atMs: this.nowMs + Math.floor(ms), order: this.order++, run });
  }

  every(ms: number, run: () => void): void {
    this.later(ms, () => {
      run();
      this.every(ms, run);
    });
  }

  rule(holds: boolean, text: string): void {
    if (!holds) this.broken.push(`${this.nowMs} ms: ${text}`);
  }

  begin(): void {
    this.generation += 1;
    this.desk = createDesk();
    this.lastFacts = null;
    this.feed({ kind: "hello", hello: this.signer.hello(), isFresh: true, askedAtMs: this.nowMs });
  }

  feed(event: DeskEvent): void {
    for (const effect of step(this.desk, event, this.nowMs)) this.carry(effect);
  }

  answer(event: () => DeskEvent | null): void {
    const { generation } = this;
    if (this.chance(0.03)) return;
    const copies = this.chance(0.05) ? 2 : 1;
    for (let i = 0; i < copies; i++) {
      const delay = this.chance(0.05) ? this.random() * 40_000 : this.random() * 300;
      const made = event();
      this.later(delay, () => {
        if (this.generation === generation && made !== null) this.feed(made);
      });
    }
  }

  push(view: CourierView): void {
    const { generation } = this;
    this.later(1, () => {
      if (this.generation === generation) this.feed({ kind: "views", withdrawals: [view] });
    });
  }

  isFinal(txHash: string): boolean {
    const place = this.chain.placed([txHash]);
    return place !== null && place.block <= this.chain.finalNumber;
  }

  isDead(versions: Asked): boolean {
    const untilMs = Math.max(...versions.map((one) => one.untilMs));
    return this.chain.finalMs > untilMs + marginMs && this.chain.placed(versions.map(({ txHash }) => txHash)) === null;
  }

  request(sequence: number): void {
    const amountSun = 1_000_000n * BigInt(1 + Math.floor(this.random() * 5));
    const wouldRevertUntilMs = this.random() < 0.1 ? this.nowMs + this.random() * 60_000 : 0;
    const endsAtMs = this.nowMs + (this.random() < 0.3 ? 200_000 : 3_000_000);
    const payment = this.signer.request(sequence, amountSun, { wouldRevertUntilMs, endsAtMs });
    this.answer(() => ({ kind: "views", withdrawals: [payment.view] }));
  }

  carry(effect: DeskEffect): void {
    switch (effect.kind) {
      case "ask":
        this.ask(effect);
        break;
      case "refresh": {
        const askedAtMs = this.nowMs;
        this.answer(() => ({ kind: "hello", hello: this.signer.hello(), isFresh: false, askedAtMs }));
        break;
      }
      case "gas":
        this.answer(() => this.work(effect.withdrawal.transactionId));
        break;
      case "send":
        this.send(effect);
        break;
      case "look":
        this.answer(() => ({ kind: "looked", chain, found: effect.wanted.flatMap((one) => this.look(one.withdrawal)) }));
        break;
      case "confirm":
        this.answer(() => ({ kind: "confirmed", chain, found: effect.wanted.map((one) => this.confirm(one.withdrawal)) }));
        break;
      case "guard":
        this.answer(() => ({ kind: "guarded", chain, holds: this.chain.hashOf(effect.block) === effect.blockHash }));
        break;
      case "dead":
        this.answerDead(effect);
        break;
      case "alarm":
        // An answer from before a reorganisation may come after everybody's word.
        this.rule(this.chain.hasTaken(effect.detail), `an alarm without a cause: ${effect.code}`);
        break;
      default:
        this.rule(false, `${effect.kind} has no place here`);
    }
  }

  answerDead({ wanted }: Extract<DeskEffect, { kind: "dead" }>): void {
    this.answer(() => ({
      kind: "dead",
      chain,
      found: wanted.map(({ withdrawal: { transactionId }, versions }) => {
        const txHashes = versions.map(({ txHash }) => txHash);
        if (this.chance(0.1)) return { transactionId, txHashes, answer: { ok: false, code: "NODE_TIMEOUT", effect: "none" } };
        const isDead = this.isDead(versions) && !this.chance(0.1);
        if (isDead) this.deaths += 1;
        const { finalNumber: block, finalMs: chainMs } = this.chain;
        return { transactionId, txHashes, answer: { ok: true, isDead, chainMs, block, witnesses: 2 } };
      }),
    }));
  }

  ask(effect: Extract<DeskEffect, { kind: "ask" }>): void {
    const { verb, body } = effect;
    const { transactionId } = body;
    const payment = this.signer.payments.get(transactionId)!;
    if (verb === "sign" || verb === "replace") this.checkFunds(payment, effect.body.facts);
    if (this.chance(0.03)) {
      const answer = { ok: false, code: "SOCKET_TIMEOUT", effect: "unknown" } as const;
      this.answer(() => ({ kind: "answered", verb, transactionId, answer }));
      if (this.random() < 0.5) return;
      this.signer.act(payment, effect);
      return;
    }
    const code = this.signer.act(payment, effect);
    const { view } = payment;
    const answer = code === "" ? { ok: true as const, withdrawal: view } : { ok: false as const, code, effect: "none" as const };
    this.answer(() => ({ kind: "answered", verb, transactionId, answer }));
  }

  /** Final funds cover all bound payments that are not final, and this payment with its fee. */
  checkFunds(payment: WaitingPayment, facts: Facts): void {
    const facts0 = this.lastFacts;
    this.rule(facts0 !== null, "a signature asked without facts");
    if (facts0 === null) return;
    let bound = BigInt(payment.view.amountUnits) + families.tron.fees.most(facts);
    for (const other of this.signer.open) {
      if (other === payment || other.versions.length === 0) continue;
      const place = this.chain.placed(other.versions.map(({ txHash }) => txHash));
      if (place !== null && place.block <= facts0.finalNumber) continue;
      bound += BigInt(other.view.amountUnits) + feeSun;
    }
    this.rule(bound <= (facts0.balances.get("") ?? 0n), `signature asked for ${payment.view.sequence} without funds`);
  }

  work(transactionId: string): DeskEvent {
    const { wouldRevertUntilMs } = this.signer.payments.get(transactionId)!;
    if (this.chance(0.05)) {
      return { kind: "gas", transactionId, answer: { ok: false, code: "NODE_TIMEOUT", effect: "none", wouldRevert: false } };
    }
    if (this.nowMs < wouldRevertUntilMs) {
      return { kind: "gas", transactionId, answer: { ok: false, code: "NODE_WOULD_REVERT", effect: "none", wouldRevert: true } };
    }
    return { kind: "gas", transactionId, answer: { ok: true, gasLimit: 0n } };
  }

  send({ withdrawal, version }: Extract<DeskEffect, { kind: "send" }>): void {
    const { transactionId: id } = withdrawal;
    const payment = this.signer.payments.get(id)!;
    const known = payment.versions[version - 1];
    const raw = withdrawal.versions.find((one) => one.version === version)?.raw;
    this.rule(known?.isReleased === true, "bytes sent before their release");
    this.rule(raw === known?.bytes, "other bytes sent than were released");
    if (known === undefined) return;
    this.rule(known.version === payment.versions.length, "an older version sent again");
    const isUnsent = this.chance(0.1);
    const isExpired = this.chain.isPast(known.until);
    if (!isUnsent && !isExpired && !this.chance(0.2)) {
      const amountSun = BigInt(payment.view.amountUnits);
      this.chain.offer({ id, txHash: known.txHash, untilMs: known.until, amountSun });
    }
    const outcome = isUnsent ? "unsent" : isExpired ? "expired" : "sent";
    this.answer(() => ({ kind: "sent", transactionId: id, version, outcome, detail: "" }));
  }

  look({ transactionId }: CourierView) {
    if (this.chance(0.05)) return [];
    const isDoubtful = this.chance(0.02);
    const place = isDoubtful || this.chance(0.03) ? null : this.placeOf(transactionId);
    return [{ transactionId, place, isDoubtful }];
  }

  placeOf(transactionId: string) {
    return this.chain.placed(this.signer.payments.get(transactionId)!.versions.map(({ txHash }) => txHash));
  }

  confirm({ transactionId }: CourierView) {
    const place = this.placeOf(transactionId);
    const isFinal = place !== null && place.block <= this.chain.finalNumber;
    return { transactionId, verdict: isFinal ? { outcome: "paid" as const, txHash: place.txHash, block: place.block } : null };
  }

  poll(): void {
    if (this.chance(0.05)) {
      this.feed({ kind: "away", chain, code: "NODE_TIMEOUT" });
      return;
    }
    const { finalNumber, finalMs: chainMs, number } = this.chain;
    const balance = this.chain.balanceAt(finalNumber);
    this.rule(balance >= 0n, "the account is overdrawn");
    const price = priceAt(chainMs);
    const facts: BlockFacts = {
      ...{ number, finalNumber, chainMs, price, balances: new Map([["", balance]]), unfit: new Map(), accountHasCode: false },
    };
    this.lastFacts = facts;
    if (this.random() < 0.5) this.feed({ kind: "head", chain, number });
    this.feed({ kind: "block", chain, facts });
  }
}
