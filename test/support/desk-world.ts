/**
 * A whole world around the desk: a signer that keeps its rules, a chain with fees, reorganisations and a forgetful mempool, and a
 * line between them that loses, doubles and delays. Everything follows from the seed. Rules are checked at every step.
 */
import {
  type BlockFacts,
  createDesk,
  type DeskEffect,
  type DeskEvent,
  type DeskState,
  step,
} from "../../agent/courier/desk/desk.ts";
import type { VersionView, WithdrawalState, WithdrawalView } from "../../agent/socket/verbs.ts";
import { account, gwei, helloOf, viewOf } from "./desk-views.ts";
import { Seeded } from "./seeded.ts";

const coin = 10n ** 18n;
const gasUsed = 21_000n;
const finalDepth = 3;
const faultsEndMs = 400_000;
const endMs = 3_000_000;
const feeCeilingWei = gasUsed * 400n * gwei;

interface Mined {
  readonly id: string;
  readonly txHash: string;
  readonly nonce: number;
  readonly costWei: bigint;
}

interface Block {
  readonly number: number;
  readonly hash: string;
  readonly incomeWei: bigint;
  readonly mined: readonly Mined[];
}

interface Version extends VersionView {
  readonly bytes: string;
  isReleased: boolean;
}

interface Payment {
  view: WithdrawalView;
  readonly wouldRevert: boolean;
  versions: Version[];
}

export interface Outcome {
  readonly broken: readonly string[];
  readonly ended: Readonly<Record<string, WithdrawalState>>; // what did not end
}

export function runWorld(seed: number): Outcome {
  return new World(seed).run();
}

class World {
  readonly random: () => number;
  readonly broken: string[] = [];
  readonly payments = new Map<string, Payment>();
  readonly blocks: Block[] = [{ number: 0, hash: "genesis", incomeWei: 0n, mined: [] }];
  readonly mempool = new Map<string, { readonly id: string; readonly version: Version; readonly nonce: number }>();
  queue: { readonly atMs: number; readonly order: number; readonly run: () => void }[] = [];
  nowMs = 0;
  order = 0;
  desk: DeskState = createDesk();
  generation = 0;
  nextNonce: number | null = null;
  baseFee = 10n * gwei;
  lastFacts: BlockFacts | null = null;
  changedAt = 1;
  forks = 0;
  #final = 0;

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
    this.every(2000 + Math.floor(this.random() * 10_000), () => this.mine());
    this.every(700, () => this.poll());
    for (let i = 0; i < 4; i++) this.later(this.random() * faultsEndMs, () => this.restart());
    while (this.queue.length > 0 && this.nowMs < endMs && this.broken.length === 0) {
      if (this.payments.size === count && this.openPayments().length === 0) break;
      this.queue.sort((a, b) => a.atMs - b.atMs || a.order - b.order);
      const next = this.queue.shift()!;
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.run();
    }
    const ended = Object.fromEntries(this.openPayments().map(({ view }) => [`${view.sequence}`, view.state]));
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

  openPayments(): Payment[] {
    return [...this.payments.values()].filter(({ view }) => !["paid", "refused"].includes(view.state));
  }

  begin(): void {
    this.generation += 1;
    this.desk = createDesk();
    this.lastFacts = null;
    this.feed({ kind: "hello", hello: this.hello(), isFresh: true, askedAtMs: this.nowMs });
  }

  restart(): void {
    this.begin();
  }

  accountView() {
    return {
      chain: "local",
      network: "eip155:31337",
      address: account,
      nextNonce: this.nextNonce === null ? "" : `${this.nextNonce}`,
    };
  }

  feed(event: DeskEvent): void {
    for (const effect of step(this.desk, event, this.nowMs)) this.carry(effect);
  }

  /** An answer on its way to this desk: late, sometimes twice, sometimes never; never to a later desk. */
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

  request(sequence: number): void {
    const amount = coin * BigInt(1 + Math.floor(this.random() * 5));
    const view = viewOf(sequence, "approved", { amountUnits: `${amount}`, changedAt: ++this.changedAt });
    this.payments.set(view.transactionId, { view, wouldRevert: this.random() < 0.1, versions: [] });
    this.answer(() => ({ kind: "views", withdrawals: [this.payments.get(view.transactionId)!.view] }));
  }

  set(payment: Payment, change: Partial<WithdrawalView>): WithdrawalView {
    const versions = payment.versions.map(({ bytes, isReleased, ...view }) => (isReleased ? { ...view, raw: bytes } : view));
    payment.view = { ...payment.view, ...change, versions, changedAt: ++this.changedAt };
    return payment.view;
  }

  carry(effect: DeskEffect): void {
    const chain = "local";
    switch (effect.kind) {
      case "ask":
        this.ask(effect);
        break;
      case "adopt":
        this.nextNonce ??= Number(effect.body.nonce);
        this.answer(() => ({ kind: "adopted", chain, answer: { ok: true, account: this.accountView() } }));
        break;
      case "refresh": {
        const askedAtMs = this.nowMs;
        this.answer(() => ({ kind: "hello", hello: this.hello(), isFresh: false, askedAtMs }));
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
        this.answer(() => ({ kind: "guarded", chain, holds: this.blocks[effect.block]?.hash === effect.blockHash }));
        break;
      case "counters":
        this.answer(() => ({ kind: "counters", chain, answer: this.counters() }));
        break;
      case "alarm":
        this.rule(false, `an alarm without a cause: ${effect.code}`);
        break;
      case "account":
        this.rule(Number(effect.body.nonce) <= (this.nextNonce ?? 0), "the account's counter is ahead of the signer's");
    }
  }

  hello() {
    return helloOf(
      this.openPayments().map(({ view }) => view),
      { accounts: [this.accountView()] },
    );
  }

  ask(effect: Extract<DeskEffect, { kind: "ask" }>): void {
    const { verb, body } = effect;
    const { transactionId } = body;
    const payment = this.payments.get(transactionId)!;
    if (verb === "sign") this.checkFunds(payment, effect.body);
    if (this.chance(0.03)) {
      this.answer(() => ({
        kind: "answered",
        verb,
        transactionId,
        answer: { ok: false, code: "SOCKET_TIMEOUT", effect: "unknown" },
      }));
      if (this.random() < 0.5) return;
      this.act(payment, effect);
      return;
    }
    const code = this.act(payment, effect);
    const { view } = payment;
    const answer = code === "" ? { ok: true as const, withdrawal: view } : { ok: false as const, code, effect: "none" as const };
    this.answer(() => ({ kind: "answered", verb, transactionId, answer }));
  }

  /** The rule at the heart: what is bound and not final, with this one and its fee, is covered by final funds. */
  checkFunds(
    payment: Payment,
    { facts }: { readonly facts: { readonly gasLimit: string; readonly maxFeePerGas: string } },
  ): void {
    if (payment.view.state !== "approved") return;
    const facts0 = this.lastFacts;
    this.rule(facts0 !== null, "a signature asked without facts");
    if (facts0 === null) return;
    let bound = BigInt(payment.view.amountUnits) + BigInt(facts.gasLimit) * BigInt(facts.maxFeePerGas);
    for (const other of this.payments.values()) {
      if (other === payment || other.view.nonce === "") continue;
      const minedAt = this.blocks.find((block) => block.mined.some((one) => one.id === other.view.transactionId))?.number;
      if (minedAt !== undefined && minedAt <= facts0.finalNumber) continue;
      const dearest = other.versions.reduce(
        (most, { maxFeePerGas }) => (BigInt(maxFeePerGas) > most ? BigInt(maxFeePerGas) : most),
        0n,
      );
      bound += BigInt(other.view.amountUnits) + gasUsed * dearest;
    }
    this.rule(bound <= (facts0.balances.get("") ?? 0n), `signature asked for ${payment.view.sequence} without funds`);
    this.rule(this.nextNonce !== null, "a signature asked before the first nonce");
  }

  act(payment: Payment, { verb, body }: Extract<DeskEffect, { kind: "ask" }>): string {
    const { view } = payment;
    if (verb === "decline") {
      this.rule(payment.wouldRevert && view.nonce === "", `${view.sequence} declined although it can be paid`);
      if (view.state !== "approved") return "WITHDRAWAL_CLOSED";
      this.set(payment, { state: "refused", code: "CHAIN_WOULD_REVERT" });
      return "";
    }
    if (verb === "observed") return this.observe(payment, body as never);
    const { facts } = body as {
      readonly facts: { readonly gasLimit: string; readonly maxFeePerGas: string; readonly maxPriorityFeePerGas: string };
    };
    const above = "above" in body ? (body.above as number) : 0;
    if (payment.versions.length > above) return "";
    if (["paid", "included"].includes(view.state)) return "WITHDRAWAL_INCLUDED";
    if (verb === "replace" && !payment.versions[above - 1]?.isReleased) return "WITHDRAWAL_NOT_RELEASED";
    if (BigInt(facts.gasLimit) * BigInt(facts.maxFeePerGas) > feeCeilingWei) return "POLICY_FEE_ABOVE_WITHDRAWAL";
    const number = above + 1;
    const txHash = `0x${view.sequence}-${number}-${facts.maxFeePerGas}`;
    const version: Version = {
      version: number,
      txHash,
      ...facts,
      signedAt: this.nowMs,
      bytes: `bytes of ${txHash}`,
      isReleased: false,
    };
    payment.versions = [...payment.versions, version];
    if (view.nonce === "") this.set(payment, { state: "signed", nonce: `${this.nextNonce!++}`, account });
    else this.set(payment, {});
    this.acknowledge(payment, number, 50 + this.random() * 500);
    return "";
  }

  /** The gateway's acknowledgement, some of them only after a new link. */
  acknowledge(payment: Payment, number: number, delayMs: number): void {
    this.later(this.chance(0.1) ? 20_000 : delayMs, () => {
      const version = payment.versions[number - 1]!;
      if (version.isReleased) return;
      version.isReleased = true;
      this.set(payment, payment.view.state === "signed" ? { state: "released" } : {});
      const { generation } = this;
      const { view } = payment;
      this.later(1, () => {
        if (this.generation === generation) this.feed({ kind: "views", withdrawals: [view] });
      });
    });
  }

  observe(payment: Payment, body: { stage: string; outcome: string; txHash: string }): string {
    const { view } = payment;
    this.rule(
      payment.versions.some((one) => one.txHash === body.txHash && one.isReleased),
      "an observation of bytes never released",
    );
    if (["paid", "refused"].includes(view.state)) return body.stage === "final" ? "" : "WITHDRAWAL_CLOSED";
    if (body.stage === "final") {
      const at = this.blocks.find((block) => block.mined.some((one) => one.txHash === body.txHash));
      this.rule(body.outcome === "paid" && at !== undefined && at.number <= this.finalNumber, "final before it is final");
      this.set(payment, { state: "paid" });
    } else this.set(payment, { state: body.stage as WithdrawalState });
    return "";
  }

  gas(transactionId: string): DeskEvent {
    const { wouldRevert } = this.payments.get(transactionId)!;
    if (this.chance(0.05)) {
      return { kind: "gas", transactionId, answer: { ok: false, code: "NODE_TIMEOUT", effect: "none", wouldRevert: false } };
    }
    if (wouldRevert)
      return { kind: "gas", transactionId, answer: { ok: false, code: "NODE_WOULD_REVERT", effect: "none", wouldRevert } };
    return { kind: "gas", transactionId, answer: { ok: true, gasLimit: gasUsed } };
  }

  send({ withdrawal, version }: Extract<DeskEffect, { kind: "send" }>): void {
    const { transactionId } = withdrawal;
    const payment = this.payments.get(transactionId)!;
    const known = payment.versions[version - 1];
    const raw = withdrawal.versions.find((one) => one.version === version)?.raw;
    this.rule(known?.isReleased === true, "bytes sent before their release");
    this.rule(raw === known?.bytes, "other bytes sent than were released");
    if (known === undefined) return;
    const isUnsent = this.chance(0.1);
    const isMined = this.chain().has(Number(withdrawal.nonce));
    if (!isUnsent && !isMined && !this.chance(0.1)) {
      this.mempool.set(known.txHash, { id: transactionId, version: known, nonce: Number(withdrawal.nonce) });
    }
    const outcome = isUnsent ? "unsent" : isMined ? "nonce-consumed" : "sent";
    this.answer(() => ({ kind: "sent", transactionId, version, outcome, detail: "" }));
  }

  /** Nonces in the chain as it stands. */
  chain(): Map<number, Mined> {
    return new Map(this.blocks.flatMap((block) => block.mined.map((one) => [one.nonce, one] as const)));
  }

  /** What was final stays final while a reorganisation leaves the chain shorter for a moment. */
  get finalNumber(): number {
    this.#final = Math.max(this.#final, this.blocks.length - 1 - finalDepth);
    return this.#final;
  }

  placed(transactionId: string) {
    for (const block of this.blocks) {
      const mined = block.mined.find((one) => one.id === transactionId);
      if (mined !== undefined) return { txHash: mined.txHash, block: block.number, blockHash: block.hash };
    }
    return null;
  }

  look({ transactionId }: WithdrawalView) {
    if (this.chance(0.05)) return [];
    return [{ transactionId, place: this.chance(0.03) ? null : this.placed(transactionId) }];
  }

  confirm({ transactionId }: WithdrawalView) {
    const place = this.placed(transactionId);
    const isFinal = place !== null && place.block <= this.finalNumber;
    return { transactionId, verdict: isFinal ? { outcome: "paid" as const, txHash: place.txHash, block: place.block } : null };
  }

  counters(): Extract<DeskEvent, { kind: "counters" }>["answer"] {
    if (this.chance(0.1)) return { ok: false, code: "NODE_DISAGREE", effect: "none" };
    const count = (upTo: number): bigint => {
      return BigInt(this.blocks.slice(0, upTo + 1).reduce((sum, block) => sum + block.mined.length, 0));
    };
    return {
      ok: true,
      latest: count(this.blocks.length - 1),
      pending: count(this.blocks.length - 1),
      final: count(this.finalNumber),
      witnesses: 2,
    };
  }

  mine(): void {
    this.baseFee = (this.baseFee * BigInt(80 + Math.floor(this.random() * 41))) / 100n;
    if (this.baseFee < gwei) this.baseFee = gwei;
    if (this.chance(0.02)) this.baseFee *= 8n;
    if (this.baseFee > 100n * gwei && !this.isFaulty) this.baseFee = 20n * gwei;
    if (this.chance(0.05)) this.reorganise();
    if (this.chance(0.05)) this.mempool.clear();
    const mined: Mined[] = [];
    let nonce = this.chain().size;
    for (;;) {
      const next = [...this.mempool.values()].filter((one) => one.nonce === nonce);
      const best = next.sort((a, b) => (BigInt(a.version.maxFeePerGas) < BigInt(b.version.maxFeePerGas) ? 1 : -1))[0];
      if (best === undefined || BigInt(best.version.maxFeePerGas) < this.baseFee || this.random() < 0.1) break;
      const value = BigInt(this.payments.get(best.id)!.view.amountUnits);
      mined.push({ id: best.id, txHash: best.version.txHash, nonce, costWei: value + gasUsed * this.baseFee });
      for (const one of next) this.mempool.delete(one.version.txHash);
      nonce += 1;
    }
    const number = this.blocks.length;
    const incomeWei = this.random() < 0.3 ? coin * BigInt(Math.floor(this.random() * 10)) : 0n;
    this.blocks.push({ number, hash: `${number}-${this.forks}-${this.random()}`, incomeWei, mined });
  }

  /** Up to the blocks that are not final vanish; what they held is back in the mempool, most of it. */
  reorganise(): void {
    const depth = Math.min(1 + Math.floor(this.random() * finalDepth), this.blocks.length - 1 - this.finalNumber);
    for (const block of this.blocks.splice(this.blocks.length - depth, depth)) {
      for (const one of block.mined) {
        const version = this.payments.get(one.id)!.versions.find((each) => each.txHash === one.txHash)!;
        if (this.random() < 0.7) this.mempool.set(one.txHash, { id: one.id, version, nonce: one.nonce });
      }
    }
    this.forks += 1;
  }

  poll(): void {
    if (this.chance(0.05)) {
      this.feed({ kind: "away", chain: "local", code: "NODE_TIMEOUT" });
      return;
    }
    const { finalNumber } = this;
    let balance = 0n;
    for (const block of this.blocks.slice(0, finalNumber + 1)) {
      balance += block.incomeWei;
      for (const one of block.mined) balance -= one.costWei;
    }
    this.rule(balance >= 0n, "the account is overdrawn");
    const facts: BlockFacts = {
      number: this.blocks.length - 1,
      finalNumber,
      baseFeePerGas: this.baseFee,
      maxPriorityFeePerGas: gwei,
      balances: new Map([["", balance]]),
      accountHasCode: false,
    };
    this.lastFacts = facts;
    if (this.random() < 0.5) this.feed({ kind: "head", chain: "local", number: facts.number });
    this.feed({ kind: "block", chain: "local", facts });
  }
}
