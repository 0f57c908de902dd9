/**
 * The signer around its core: every request is decided at once, in memory, and answered when its records are on disk, many to one
 * sync. Owns the order "recorded, signed, recorded, answered" and the statements for the gateway. Reaches disk and keys only
 * through ledger and vault; clock, chance and sockets are passed in.
 */
import { attachSignature } from "../../chains/evm/transaction.ts";
import { sealEnvelope } from "../../protocol/envelope.ts";
import { AgentError, type Refusal, refuse } from "../../protocol/fault.ts";
import type { Statement } from "../../protocol/messages.ts";
import type { CourierAnswers, CourierRequests, Push, WithdrawalView } from "../socket/verbs.ts";
import { type Admitted, acknowledge, admit } from "./admission/admission.ts";
import type { Core } from "./core.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { RecordBody } from "./ledger/records.ts";
import { ledgerTime } from "./ledger-time.ts";
import type { Log } from "./log.ts";
import { closedGate, type Run, type Turn } from "./run.ts";
import type { Vault } from "./vault/vault.ts";
import { adopt, decline, observe, weighCount } from "./withdrawal/claims.ts";
import { expire } from "./withdrawal/decisions.ts";
import type { Batch } from "./withdrawal/outbox.ts";
import { type Prepared, prepareReplace, prepareSign, type SignWork } from "./withdrawal/tokens.ts";
import { viewOf } from "./withdrawal/view.ts";
import { isFinal, type Withdrawal } from "./withdrawal/withdrawal.ts";

/** Statements of one `report` answer; the courier asks again from where they end. */
const reportFramesMax = 8;

/**
 * An answer, given when everything it says is on disk.
 * @public
 */
export type Reply<A> = (answer: ({ readonly ok: true } & A) | Refusal | AgentError) => void;

/** @public */
export interface SignerOptions {
  readonly core: Core; // with the whole ledger folded
  readonly ledger: Ledger;
  readonly vault: Vault;
  /** Of this process, new: the ledger is stamped by the same. */
  readonly run: Run;
  readonly clock: () => number; // local
  readonly monotonic: () => number; // milliseconds
  readonly chains: Readonly<Record<string, { readonly chainId: number }>>; // by name in the settings
  readonly push: (message: Push) => void; // to every courier connected
  readonly log: Log;
  /** Calls back once, a little later: what nobody waits for shares a sync with what comes until then. */
  readonly later: (act: () => void) => void;
  /** The disk failed: nothing is answered any more, the process must end. */
  readonly onPoisoned: (fault: AgentError) => void;
}

type Answer<V extends keyof CourierAnswers> = Reply<CourierAnswers[V]>;

/**
 * What the courier's socket asks. The operator's requests are `operator.ts`, over the same turn and settling.
 * @public
 */
export class Signer {
  readonly core: Core;
  readonly run: Run;
  readonly ledger: Ledger;
  readonly #options: SignerOptions;
  readonly #account: string;
  /** Signatures under way, by withdrawal and version, with everyone who waits for them. */
  readonly #signing = new Map<string, Answer<"sign">[]>();
  #statedSeq = 0;
  #isLockTold = false;
  /** Told with the next sync, whoever asks for it. */
  #late: (() => void)[] = [];
  #isSpeechLate = false;

  constructor(options: SignerOptions) {
    this.#options = options;
    this.core = options.core;
    this.ledger = options.ledger;
    this.run = options.run;
    this.#account = options.vault.accounts[0]?.address ?? "";
    this.#isLockTold = options.core.locked !== null;
  }

  /** The view of one request, at ledger time. */
  turn(): Turn {
    const { core, run } = this;
    const localMs = this.#options.clock();
    const monotonicMs = this.#options.monotonic();
    return {
      core,
      run,
      // A greeting in the midst of a turn sets time going again.
      get nowMs() {
        return Math.max(core.heads.at, ledgerTime(run, localMs, monotonicMs));
      },
      localMs,
      monotonicMs,
      account: this.#account,
      hasRoom: () => this.ledger.hasRoom(),
      commit: (bodies) => this.#commit(bodies),
    };
  }

  /** Calls `tell` when everything recorded so far is on disk; what `tell` says was to be computed before. */
  settle(tell: () => void): void {
    const late = this.#late;
    this.#late = [];
    this.ledger.flush((fault) => {
      if (fault !== null) {
        this.#options.onPoisoned(fault);
        return;
      }
      for (const act of late) act();
      tell();
      this.#speak();
    });
  }

  /** As `settle`, for what holds nobody up: it does not ask for a sync of its own at once. */
  #settleLater(tell: () => void): void {
    this.#late.push(tell);
    if (this.#late.length > 1) return;
    this.#options.later(() => {
      if (this.#late.length > 0) this.settle(() => {});
    });
  }

  /** Once a second: what ran out ends, and a long segment gets its successor. */
  tick(): void {
    this.changed(expire(this.turn()));
    if (this.ledger.wantsRotation) {
      this.core.fold(this.ledger.rotate(JSON.stringify(this.core.snapshot())));
      this.settle(() => {});
    }
  }

  /** Tells the courier of withdrawals that somebody else moved. */
  changed(withdrawals: readonly Withdrawal[]): void {
    if (withdrawals.length === 0) return;
    const views = withdrawals.map((withdrawal) => this.view(withdrawal));
    this.settle(() => {
      for (const withdrawal of views) this.#options.push({ push: "changed", withdrawal });
    });
  }

  view(withdrawal: Withdrawal): WithdrawalView {
    return viewOf(withdrawal, this.core.policy);
  }

  accounts(): CourierAnswers["hello"]["accounts"] {
    return Object.entries(this.#options.chains).map(([chain, { chainId }]) => {
      const network = `eip155:${chainId}`;
      const next = this.core.accounts.find(network, this.#account)?.next;
      return { chain, network, address: this.#account, nextNonce: next === undefined ? "" : next.toString() };
    });
  }

  hello(reply: Answer<"hello">): void {
    const { core, run } = this;
    const { agent, epoch, wallet } = core.paired;
    const open: WithdrawalView[] = [];
    for (const withdrawal of core.book.open()) if (!isFinal(withdrawal.state)) open.push(this.view(withdrawal));
    const answer = {
      ...{ ok: true as const, agent, epoch, wallet, head: core.heads.head, acked: core.heads.acked.seq },
      ...{ nonce: run.nonce, greeted: run.greeted, locked: core.locked?.code ?? "", accounts: this.accounts(), open },
    };
    this.settle(() => reply(answer));
  }

  admit(frame: Uint8Array, reply: Answer<"admit">): void {
    const releasedBefore = this.core.heads.acked.seq;
    const views = this.#touched(admit(this.turn(), frame));
    if (views.ok && !views.withdrawals.some(showsBytes)) {
      // What was decided shows in no act before its INTENT, which stands behind it in the same file; so the courier may prepare the
      // next step while the disk works. The gateway hears of it from durable records only.
      reply(views);
      this.settle(() => {});
      return;
    }
    this.settle(() => {
      reply(views);
      // Only a welcome moves the acknowledged head here: what it released is told like any other change.
      if (!views.ok || this.core.heads.acked.seq === releasedBefore) return;
      for (const withdrawal of views.withdrawals) this.#options.push({ push: "changed", withdrawal });
    });
  }

  release(frame: Uint8Array, reply: Answer<"release">): void {
    const views = this.#touched(acknowledge(this.turn(), frame));
    const tell = (): void => reply(views);
    if (views.ok && views.withdrawals.length === 0) this.#settleLater(tell);
    else this.settle(tell);
  }

  sign({ transactionId, facts }: CourierRequests["sign"], reply: Answer<"sign">): void {
    const turn = this.turn();
    const prepared = prepareSign(turn, transactionId, facts);
    const withdrawal = this.core.book.find(transactionId);
    if (!prepared.ok && prepared.code === "JOB_EXPIRED" && withdrawal !== undefined) this.changed([withdrawal]);
    this.#carryOut(prepared, transactionId, reply);
  }

  replace({ transactionId, above, facts }: CourierRequests["replace"], reply: Answer<"replace">): void {
    this.#carryOut(prepareReplace(this.turn(), transactionId, above, facts), transactionId, reply);
  }

  decline({ transactionId, code }: CourierRequests["decline"], reply: Answer<"decline">): void {
    this.answer(decline(this.turn(), transactionId, code), reply);
  }

  observed(claim: CourierRequests["observed"], reply: Answer<"observed">): void {
    const done = observe(this.turn(), claim);
    const answer = done.ok ? { ok: true as const, withdrawal: this.view(done.withdrawal) } : done;
    // What was seen on chain is a claim that moves no money: it may wait for company.
    this.#settleLater(() => reply(answer));
  }

  adopt({ chain, nonce }: CourierRequests["adopt"], reply: Answer<"adopt">): void {
    const known = this.#options.chains[chain];
    const done = known === undefined ? refuse("ACCOUNT_NOT_ADOPTED", chain) : adopt(this.turn(), known, BigInt(nonce));
    const account = this.accounts().find((view) => view.chain === chain);
    this.settle(() => reply(done.ok && account !== undefined ? { ok: true, account } : (done as Refusal)));
  }

  account({ chain, nonce, witnesses }: CourierRequests["account"], reply: Answer<"account">): void {
    const known = this.#options.chains[chain];
    const claim = { name: chain, chainId: known?.chainId ?? 0 };
    const weighed =
      known === undefined ? refuse("ACCOUNT_NOT_ADOPTED", chain) : weighCount(this.turn(), claim, BigInt(nonce), witnesses);
    this.settle(() => reply(weighed));
  }

  report({ after }: CourierRequests["report"], reply: Answer<"report">): void {
    this.settle(() => {
      const from = Math.max(after, this.core.heads.acked.seq);
      const batches = this.#batches(from).slice(0, reportFramesMax);
      this.#statedSeq = Math.max(this.#statedSeq, batches.at(-1)?.head.seq ?? Math.min(from, this.ledger.durableHead.seq));
      reply({ ok: true, frames: batches.map((batch) => this.#statement(batch)) });
    });
  }

  tell({ courier }: CourierRequests["tell"], reply: Answer<"tell">): void {
    this.run.courier = courier;
    reply({ ok: true });
  }

  /** Answers about one withdrawal, as it is now, when that is on disk. */
  answer(
    done: { readonly ok: true; readonly withdrawal: Withdrawal } | Refusal,
    reply: Reply<{ withdrawal: WithdrawalView }>,
  ): void {
    const answer = done.ok ? { ok: true as const, withdrawal: this.view(done.withdrawal) } : done;
    this.settle(() => reply(answer));
  }

  #commit(bodies: readonly RecordBody[]): ReturnType<Turn["commit"]> {
    const records = this.ledger.append(bodies);
    for (const record of records) {
      this.core.fold(record);
      if (record.kind === "ALARM") this.#options.log("warn", record.detail, { code: record.code });
      if (record.kind === "LOCKED") this.#options.log("error", `locked: ${record.detail}`, { code: record.code });
    }
    return records;
  }

  #touched(admitted: Admitted): { readonly ok: true; readonly withdrawals: readonly WithdrawalView[] } | Refusal {
    if (!admitted.ok) return admitted;
    const withdrawals: WithdrawalView[] = [];
    for (const transactionId of admitted.touched) {
      const withdrawal = this.core.book.find(transactionId);
      if (withdrawal !== undefined) withdrawals.push(this.view(withdrawal));
    }
    return { ok: true, withdrawals };
  }

  /** INTENT on disk, then the key, then SIGNED on disk, then the answer. Those who ask for the same signature share it. */
  #carryOut(prepared: Prepared, transactionId: string, reply: Answer<"sign">): void {
    if (!prepared.ok) {
      this.settle(() => reply(prepared));
      return;
    }
    const { work } = prepared;
    if (work === null) {
      const withdrawal = this.core.book.find(transactionId);
      this.answer(withdrawal === undefined ? refuse("WITHDRAWAL_UNKNOWN") : { ok: true, withdrawal }, reply);
      return;
    }
    const key = `${transactionId} ${work.version}`;
    const others = this.#signing.get(key);
    if (others !== undefined) {
      others.push(reply);
      return;
    }
    this.#signing.set(key, [reply]);
    this.settle(() => this.#signRecorded(work, key));
  }

  #signRecorded(work: SignWork, key: string): void {
    const waiting = this.#signing.get(key) ?? [];
    this.#signing.delete(key);
    const withdrawal = this.core.book.find(work.transactionId);
    // Between record and signature others may have been heard: a lock, or the end of an earlier version.
    const closed = closedGate(this);
    if (closed !== null || withdrawal === undefined || isFinal(withdrawal.state)) {
      for (const reply of waiting) reply(closed ?? refuse("WITHDRAWAL_CLOSED"));
      return;
    }
    try {
      const { raw, txHash } = this.#signature(work);
      const { transactionId, version, clearance } = work;
      const rawHex = `0x${Buffer.from(raw).toString("hex")}`;
      this.#commit([{ kind: "SIGNED", transactionId, version, digest: clearance.digest, txHash, raw: rawHex }]);
    } catch (cause) {
      if (!(cause instanceof AgentError)) throw cause;
      for (const reply of waiting) reply(cause);
      return;
    }
    const answer = { ok: true as const, withdrawal: this.view(withdrawal) };
    this.settle(() => {
      for (const reply of waiting) reply(answer);
    });
  }

  /** The sender is recovered from the signature, so a faulty machine or another key never gets as far as SIGNED. */
  #signature(work: SignWork): { readonly raw: Uint8Array; readonly txHash: string } {
    const signature = this.#options.vault.sign(work.clearance, this.ledger.receipt(work.intentSeq));
    return attachSignature(work.unsigned, signature, work.account);
  }

  /** What became durable with the last sync and concerns others: a new lock, and statements for the gateway. */
  #speak(isDue = false): void {
    const { locked } = this.core;
    if (locked !== null && !this.#isLockTold) {
      this.#isLockTold = true;
      this.settle(() => this.#options.push({ push: "locked", code: locked.code }));
    }
    if (this.ledger.durableHead.seq <= this.#statedSeq) return;
    const batches = this.#batches(Math.max(this.#statedSeq, this.core.heads.acked.seq));
    // An approval is followed by its signature as a rule: one statement for both spares everybody half of the messages.
    if (
      !isDue &&
      batches.every(({ entries }) => entries.every((entry) => entry.kind === "decision" && entry.decision === "approved"))
    ) {
      if (this.#isSpeechLate) return;
      this.#isSpeechLate = true;
      this.#options.later(() => {
        this.#isSpeechLate = false;
        this.#speak(true);
      });
      return;
    }
    for (const batch of batches) this.#options.push({ push: "statement", frame: this.#statement(batch) });
    this.#statedSeq = batches.at(-1)?.head.seq ?? this.#statedSeq;
  }

  #batches(after: number): readonly Batch[] {
    return this.core.outbox.batches(after, this.ledger.durableHead, (seq) => this.core.heads.hashAt(seq));
  }

  #statement({ after, head, entries }: Batch): string {
    const { agent, epoch } = this.core.paired;
    const statement: Statement = { agent, epoch, after, head, at: this.core.heads.at, entries };
    return Buffer.from(sealEnvelope("statement", statement, this.#options.vault.signerKey)).toString("base64");
  }
}

/** A repeated job may be of a withdrawal whose release is on its way to the disk: its bytes wait for that. */
function showsBytes({ versions }: WithdrawalView): boolean {
  return versions.some(({ raw }) => raw !== undefined);
}
