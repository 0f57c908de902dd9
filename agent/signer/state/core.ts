/**
 * The signer's whole knowledge, folded from its ledger: one function changes it, live and at start-up. What a run knows beyond the
 * ledger (who greeted, what the courier told) is `run.ts`. Touches nothing: no clock, disk, socket or chance.
 */
import type { KeyObject } from "node:crypto";
import { publicKeyFromHex } from "../../../protocol/envelope.ts";
import { invariant } from "../../../protocol/fault.ts";
import type { Job } from "../../../protocol/messages.ts";
import { parseJob } from "../../../protocol/payloads.ts";
import type { LedgerRecord, RecordBody } from "../../ledger/records.ts";
import { Policy, type PolicySnapshot } from "../policy/policy.ts";
import type { Rules } from "../policy/rules.ts";
import { type AccountEntries, Accounts } from "./accounts.ts";
import { Book, type BookSnapshot } from "./book.ts";
import { canonicalAddress } from "./content.ts";
import { Outbox, recoveryEntryOf } from "./entries.ts";
import { Heads, type HeadsSnapshot } from "./heads.ts";
import { type ChainSnapshot, JobChain } from "./jobs.ts";
import type { Withdrawal } from "./withdrawal.ts";

type PairedBody = Extract<RecordBody, { kind: "PAIRED" }>;

type WithdrawalRecord = Exclude<
  Extract<LedgerRecord, { transactionId: string }>,
  { kind: "REQUESTED" | "REPEATED" | "IMPORTED" | "SETTLED" }
>;

interface Staged {
  readonly begun: Extract<LedgerRecord, { kind: "RECOVERING" }>;
  readonly parts: Extract<LedgerRecord, { kind: "IMPORTED" | "SETTLED" | "RESTATED" }>[];
}

/**
 * Who this ledger belongs to, with the gateway's key ready for use.
 * @public
 */
export type Paired = PairedBody & { readonly publicKey: KeyObject };

/**
 * Why signing stopped.
 * @public
 */
export interface Lock {
  readonly code: string;
  readonly detail: string;
}

/**
 * The config.json by which the newest decisions were made.
 * @public
 */
export interface Ruled {
  readonly digest: string;
  readonly at: number; // ledger time
}

/**
 * Everything folded, as one JSON object; the ledger's rotation stores it beside the new segment.
 * @public
 */
export interface CoreSnapshot {
  readonly version: 1;
  readonly paired: PairedBody;
  readonly locked: Lock | null;
  readonly heads: HeadsSnapshot;
  readonly chain: ChainSnapshot;
  readonly accounts: AccountEntries;
  readonly policy: PolicySnapshot;
  readonly book: BookSnapshot;
  readonly outbox: ReturnType<Outbox["snapshot"]>;
  readonly recovery?: Recovery | null;
  readonly heldBefore?: number;
  readonly ruled?: Ruled | null;
}

/**
 * A recovery that a person has not ended: everything new is held.
 * @public
 */
export interface Recovery {
  readonly seq: number; // of its RECOVERED record
}

/**
 * The folded state.
 * @public
 */
export class Core {
  readonly policy: Policy;
  readonly book: Book;
  readonly accounts: Accounts;
  readonly chain: JobChain;
  readonly outbox: Outbox;
  readonly heads: Heads;
  /** Jobs read by admission whose record is about to be folded, by hash: so that no text is parsed twice. */
  readonly #read = new Map<string, Job>();
  /** What a recovery under way would change; RECOVERED makes it hold. A crash before leaves it without effect. */
  #staged: Staged | null = null;
  #paired: Paired | null;
  #locked: Lock | null;
  #recovery: Recovery | null;
  /** What the gateway issued before this moment was asked for while a recovery was under way, whenever it comes. */
  #heldBefore: number;
  #ruled: Ruled | null;

  constructor(rules: Rules, snapshot?: CoreSnapshot) {
    this.policy = new Policy(rules, snapshot?.policy);
    this.book = new Book(snapshot?.book);
    this.accounts = new Accounts(snapshot?.accounts);
    this.chain = new JobChain(snapshot?.chain);
    this.outbox = new Outbox(snapshot?.outbox);
    this.heads = new Heads(snapshot?.heads);
    this.#paired = snapshot === undefined ? null : pairedOf(snapshot.paired);
    this.#locked = snapshot?.locked ?? null;
    this.#recovery = snapshot?.recovery ?? null;
    this.#heldBefore = snapshot?.heldBefore ?? 0;
    this.#ruled = snapshot?.ruled ?? null;
  }

  get paired(): Paired {
    invariant(this.#paired !== null, "a ledger begins with PAIRED");
    return this.#paired;
  }

  get locked(): Lock | null {
    return this.#locked;
  }

  get recovery(): Recovery | null {
    return this.#recovery;
  }

  /** The newest POLICY record, null before the first. */
  get ruled(): Ruled | null {
    return this.#ruled;
  }

  /** Whether a job is a person's to decide: it was asked for in a recovery, or before, and may have been paid and forgotten. */
  isOfRecovery({ issuedAt }: Job): boolean {
    return this.#recovery !== null || issuedAt < this.#heldBefore;
  }

  /** Hands over a job that was read from `text`, for the record that follows. */
  expectJob(hash: string, job: Job): void {
    this.#read.set(hash, job);
  }

  /** The only thing that changes the state. */
  fold(record: LedgerRecord): void {
    this.heads.fold(record);
    switch (record.kind) {
      case "PAIRED":
        this.#pair(record);
        return;
      case "REQUESTED":
        this.chain.fold(record);
        this.book.begin(record, this.#jobOf(record));
        return;
      case "REPEATED":
        this.chain.fold(record);
        this.#read.delete(record.jobHash);
        return;
      case "RELEASED":
        this.book.release(record);
        this.#acknowledge(record);
        return;
      case "REPORTED":
        this.#acknowledge(record);
        return;
      case "ADOPTED":
        this.accounts.fold(record);
        this.outbox.fold(record, undefined);
        return;
      case "LOCKED":
        this.#locked ??= { code: record.code, detail: record.detail };
        this.outbox.fold(record, undefined);
        return;
      case "ALARM":
        this.outbox.fold(record, undefined);
        return;
      case "CHECKPOINT":
        return;
      case "POLICY":
        this.#ruled = { digest: record.digest, at: record.at };
        return;
      case "RECOVERING":
        this.#staged = { begun: record, parts: [] };
        return;
      case "IMPORTED":
      case "SETTLED":
      case "RESTATED":
        invariant(this.#staged !== null, "a recovery begins with RECOVERING");
        this.#staged.parts.push(record);
        return;
      case "RECOVERED":
        this.#recover(record);
        return;
      case "RESUMED":
        this.#recovery = null;
        this.#heldBefore = Math.max(this.#heldBefore, record.issuedBefore);
        return;
      default:
        this.#foldWithdrawal(record);
    }
  }

  /** The whole state, to be written as JSON before anything else is folded. */
  snapshot(): CoreSnapshot {
    const { publicKey: _publicKey, ...paired } = this.paired;
    return {
      version: 1,
      paired,
      locked: this.#locked,
      heads: this.heads.snapshot(),
      chain: this.chain.snapshot(),
      accounts: this.accounts.snapshot(),
      policy: this.policy.snapshot(this.heads.at),
      book: this.book.snapshot(),
      outbox: this.outbox.snapshot(),
      recovery: this.#recovery,
      heldBefore: this.#heldBefore,
      ruled: this.#ruled,
    };
  }

  /** All at once: the records before this one were waiting for it. */
  #recover(record: Extract<LedgerRecord, { kind: "RECOVERED" }>): void {
    const staged = this.#staged;
    invariant(staged !== null && staged.begun.order === record.order, "what is recovered was begun");
    this.#staged = null;
    const { begun, parts } = staged;
    this.#paired = { ...this.paired, epoch: record.epoch };
    this.#locked = null;
    this.#recovery = { seq: record.seq };
    this.chain.restart({ sequence: begun.sequence, hash: begun.jobHash });
    this.heads.restart(begun.held.seq);
    const moved = parts.filter((part) => part.kind !== "RESTATED");
    this.book.recover(moved, (part) => parseJob(part.job));
    const entries = [recoveryEntryOf(begun, undefined)];
    for (const part of parts) {
      const withdrawal = part.kind === "RESTATED" ? undefined : this.book.find(part.transactionId);
      entries.push(recoveryEntryOf(part, withdrawal));
      if (part.kind === "SETTLED") this.policy.voidApproval(part.transactionId);
      if (part.kind === "IMPORTED" && withdrawal !== undefined) {
        this.policy.recover(part, withdrawal.job.currency, record.at);
      }
    }
    this.outbox.restart(entries.filter((entry) => entry !== null));
    for (const account of record.accounts) this.accounts.recover(account);
    this.accounts.recount(this.book.open());
    for (const spent of record.spent) this.policy.countSpent(`recovery ${record.order}`, spent, record.at);
  }

  #foldWithdrawal(record: WithdrawalRecord): void {
    const from = this.book.find(record.transactionId)?.state;
    const withdrawal = this.book.fold(record);
    this.policy.fold(record, withdrawal.job.currency);
    if (record.kind === "INTENT") this.accounts.fold(record);
    if (record.kind === "OBSERVED" && record.outcome === "paid") this.#learn(withdrawal, record.at);
    if (record.kind === "OBSERVED" && from !== undefined) {
      this.accounts.move(withdrawal.job.network, withdrawal.account, from, withdrawal.state);
    }
    this.outbox.fold(record, withdrawal);
  }

  #learn({ job, address }: Withdrawal, at: number): void {
    const { network, amount, currency } = job;
    // What a recovery took over may have it as somebody wrote it.
    this.policy.learn(network, { address: canonicalAddress(address), at, amount, currency });
  }

  #pair(record: Extract<LedgerRecord, { kind: "PAIRED" }>): void {
    if (this.#paired !== null && this.#paired.agent !== record.agent) this.chain.restart();
    const { kind, agent, merchant, wallet, epoch, gatewayKey } = record;
    this.#paired = pairedOf({ kind, agent, merchant, wallet, epoch, gatewayKey });
  }

  #acknowledge(record: Extract<LedgerRecord, { acked: unknown }>): void {
    this.heads.acknowledge(record.acked);
    this.outbox.acknowledge(record.acked.seq);
    this.book.acknowledge(record.acked.seq);
  }

  #jobOf(record: Extract<LedgerRecord, { kind: "REQUESTED" }>): Job {
    const read = this.#read.get(record.jobHash);
    if (read === undefined) return parseJob(record.job);
    this.#read.delete(record.jobHash);
    return read;
  }
}

function pairedOf(body: PairedBody): Paired {
  return { ...body, publicKey: publicKeyFromHex(body.gatewayKey) };
}
