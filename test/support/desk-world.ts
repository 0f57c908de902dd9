/**
 * A whole world around the desk: a signer that keeps its rules, a forgetful chain with
 * reorganisations, and a line between them that loses, doubles and delays. Everything follows from
 * the seed. Rules are checked at every step.
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
import { Seeded } from "../../lab/rig/seeded.ts";
import { gwei } from "./desk-views.ts";
import { coin, gasUsed, WorldChain } from "./desk-world-chain.ts";
import { type Payment, type Surroundings, WorldSigner } from "./desk-world-signer.ts";

const faultsEndMs = 400_000;
const endMs = 3_000_000;

export interface Outcome {
  readonly broken: readonly string[];
  readonly ended: Readonly<Record<string, WithdrawalState>>; // withdrawals without an end
}

export function runWorld(seed: number): Outcome {
  return new World(seed).run();
}

class World implements Surroundings {
  readonly random: () => number;
  readonly broken: string[] = [];
  readonly signer = new WorldSigner(this);
  readonly chain = new WorldChain(this);
  queue: { readonly atMs: number; readonly order: number; readonly run: () => void }[] = [];
  nowMs = 0;
  order = 0;
  desk: DeskState = createDesk();
  generation = 0;
  lastFacts: BlockFacts | null = null;

  constructor(seed: number) {
    const source = new Seeded(seed);
    this.random = () => source.below(2 ** 31) / 2 ** 31;
  }

  run(): Outcome {
    this.begin();
    const count = 5 + Math.floor(this.random() * 25);
    for (let sequence = 1; sequence <= count; sequence++) {
      this.later(this.random() * 200_000, () => this.request(sequence));
    }
    this.every(1000, () => this.feed({ kind: "tick" }));
    this.every(2000 + Math.floor(this.random() * 10_000), () => this.chain.mine());
    this.every(700, () => this.poll());
    for (let i = 0; i < 4; i++) this.later(this.random() * faultsEndMs, () => this.begin());
    while (this.queue.length > 0 && this.nowMs < endMs && this.broken.length === 0) {
      if (this.signer.payments.size === count && this.signer.open.length === 0) break;
      this.queue.sort((a, b) => a.atMs - b.atMs || a.order - b.order);
      const next = this.queue.shift()!;
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.run();
    }
    const ended = Object.fromEntries(this.signer.open.map(({ view }) => [`${view.sequence}`, view.state]));
    return { broken: this.broken, ended };
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

  /**
   * An answer on its way to this desk: late, sometimes twice, sometimes never; never to a later
   * desk.
   */
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
    return this.chain.isFinal(txHash);
  }

  request(sequence: number): void {
    const amountWei = coin * BigInt(1 + Math.floor(this.random() * 5));
    const payment = this.signer.request(sequence, amountWei, this.random() < 0.1);
    this.answer(() => ({ kind: "views", withdrawals: [payment.view] }));
  }

  carry(effect: DeskEffect): void {
    const chain = "local";
    switch (effect.kind) {
      case "ask":
        this.ask(effect);
        break;
      case "adopt":
        this.signer.nextSlot ??= Number(effect.body.slot);
        this.answer(() => ({ kind: "adopted", chain, answer: { ok: true, account: this.signer.accountView() } }));
        break;
      case "refresh": {
        const askedAtMs = this.nowMs;
        this.answer(() => ({ kind: "hello", hello: this.signer.hello(), isFresh: false, askedAtMs }));
        break;
      }
      case "gas":
        this.answer(() => this.gas(effect.withdrawal.transactionId));
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
      case "counters":
        this.answer(() => ({ kind: "counters", chain, answer: this.counters() }));
        break;
      case "alarm":
        this.rule(false, `an alarm without a cause: ${effect.code}`);
        break;
      case "dead":
        this.rule(false, "the dead are asked for where a slot excludes");
        break;
      case "account":
        this.rule(Number(effect.body.slot) <= (this.signer.nextSlot ?? 0), "the account's counter is ahead of the signer's");
    }
  }

  ask(effect: Extract<DeskEffect, { kind: "ask" }>): void {
    const { verb, body } = effect;
    const { transactionId } = body;
    const payment = this.signer.payments.get(transactionId)!;
    if (verb === "sign") this.checkFunds(payment, effect.body);
    if (this.chance(0.03)) {
      this.answer(() => ({
        kind: "answered",
        verb,
        transactionId,
        answer: { ok: false, code: "SOCKET_TIMEOUT", effect: "unknown" },
      }));
      if (this.random() < 0.5) return;
      this.signer.act(payment, effect);
      return;
    }
    const code = this.signer.act(payment, effect);
    const { view } = payment;
    const answer = code === "" ? { ok: true as const, withdrawal: view } : { ok: false as const, code, effect: "none" as const };
    this.answer(() => ({ kind: "answered", verb, transactionId, answer }));
  }

  /**
   * The main rule: final funds cover all bound payments that are not final, and this payment with
   * its fee.
   */
  checkFunds(payment: Payment, { facts }: { readonly facts: Readonly<Record<string, string>> }): void {
    if (payment.view.state !== "approved") return;
    const facts0 = this.lastFacts;
    this.rule(facts0 !== null, "a signature asked without facts");
    if (facts0 === null) return;
    let bound = BigInt(payment.view.amountUnits) + BigInt(facts.gasLimit ?? "0") * BigInt(facts.maxFeePerGas ?? "0");
    for (const other of this.signer.payments.values()) {
      if (other === payment || other.view.slot === "") continue;
      const minedAt = this.chain.placed(other.view.transactionId)?.block;
      if (minedAt !== undefined && minedAt <= facts0.finalNumber) continue;
      let dearest = 0n;
      for (const { facts: offered } of other.versions) if (priceOf(offered) > dearest) dearest = priceOf(offered);
      bound += BigInt(other.view.amountUnits) + gasUsed * dearest;
    }
    this.rule(bound <= (facts0.balances.get("") ?? 0n), `signature asked for ${payment.view.sequence} without funds`);
    this.rule(this.signer.nextSlot !== null, "a signature asked before the first nonce");
  }

  gas(transactionId: string): DeskEvent {
    const { wouldRevert } = this.signer.payments.get(transactionId)!;
    if (this.chance(0.05)) {
      return { kind: "gas", transactionId, answer: { ok: false, code: "NODE_TIMEOUT", effect: "none", wouldRevert: false } };
    }
    if (wouldRevert)
      return { kind: "gas", transactionId, answer: { ok: false, code: "NODE_WOULD_REVERT", effect: "none", wouldRevert } };
    return { kind: "gas", transactionId, answer: { ok: true, gasLimit: gasUsed } };
  }

  send({ withdrawal, version }: Extract<DeskEffect, { kind: "send" }>): void {
    const { transactionId } = withdrawal;
    const payment = this.signer.payments.get(transactionId)!;
    const known = payment.versions[version - 1];
    const raw = withdrawal.versions.find((one) => one.version === version)?.raw;
    this.rule(known?.isReleased === true, "bytes sent before their release");
    this.rule(raw === known?.bytes, "other bytes sent than were released");
    if (known === undefined) return;
    const isUnsent = this.chance(0.1);
    const nonce = Number(withdrawal.slot);
    const isMined = this.chain.hasUsed(nonce);
    if (!isUnsent && !isMined && !this.chance(0.1)) {
      const { txHash } = known;
      const amountWei = BigInt(payment.view.amountUnits);
      this.chain.take({ id: transactionId, txHash, nonce, maxFeePerGas: priceOf(known.facts), amountWei });
    }
    const outcome = isUnsent ? "unsent" : isMined ? "slot-consumed" : "sent";
    this.answer(() => ({ kind: "sent", transactionId, version, outcome, detail: "" }));
  }

  look({ transactionId }: CourierView) {
    if (this.chance(0.05)) return [];
    const isDoubtful = this.chance(0.02);
    return [{ transactionId, place: isDoubtful || this.chance(0.03) ? null : this.chain.placed(transactionId), isDoubtful }];
  }

  confirm({ transactionId }: CourierView) {
    const place = this.chain.placed(transactionId);
    const isFinal = place !== null && place.block <= this.chain.finalNumber;
    return { transactionId, verdict: isFinal ? { outcome: "paid" as const, txHash: place.txHash, block: place.block } : null };
  }

  counters(): Extract<DeskEvent, { kind: "counters" }>["answer"] {
    if (this.chance(0.1)) return { ok: false, code: "NODE_DISAGREE", effect: "none" };
    const latest = this.chain.count(this.chain.number);
    return {
      ok: true,
      latest,
      pending: latest,
      final: this.chain.count(this.chain.finalNumber),
      witnesses: 2,
      isSame: true,
    };
  }

  poll(): void {
    if (this.chance(0.05)) {
      this.feed({ kind: "away", chain: "local", code: "NODE_TIMEOUT" });
      return;
    }
    const { finalNumber } = this.chain;
    const balance = this.chain.balanceAt(finalNumber);
    this.rule(balance >= 0n, "the account is overdrawn");
    const facts: BlockFacts = {
      number: this.chain.number,
      finalNumber,
      price: { baseFeePerGas: this.chain.baseFee, maxPriorityFeePerGas: gwei, maxPriorityFeePerGasHigh: gwei },
      balances: new Map([["", balance]]),
      unfit: new Map(),
      accountHasCode: false,
    };
    this.lastFacts = facts;
    if (this.random() < 0.5) this.feed({ kind: "head", chain: "local", number: facts.number });
    this.feed({ kind: "block", chain: "local", facts });
  }
}

function priceOf(facts: Readonly<Record<string, string>> | null): bigint {
  return BigInt(facts?.maxFeePerGas ?? "0");
}
