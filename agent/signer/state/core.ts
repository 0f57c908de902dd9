/**
 * The signer's state, built from its ledger: `apply` is the only way to change it, live and at
 * start-up. Knowledge of a run beyond the ledger (the handshake, the courier's reports) is in
 * `handlers/context.ts`. Touches nothing: no clock, disk, socket or randomness.
 */
import type { KeyObject } from "node:crypto";
import { invariant } from "../../../base/fault.ts";
import { expiryExclusionOf, familyOf } from "../../../chains/families.ts";
import { publicKeyFromHex } from "../../../protocol/envelope.ts";
import { zeroHash } from "../../../protocol/identity.ts";
import { isInternalMode, limitGroupOf } from "../../../protocol/job-mode.ts";
import type { AgentLedgerHead, Job } from "../../../protocol/messages.ts";
import { parseJob } from "../../../protocol/payloads.ts";
import type { UnexplainedRecoveryTransaction } from "../../../protocol/recovery.ts";
import type { ArchivedRows, ArchiveLookup } from "../../ledger/archive.ts";
import type { LedgerRecord, RecordBody } from "../../ledger/records.ts";
import { Policy, type PolicySnapshot } from "../policy/policy.ts";
import type { Rules } from "../policy/rules.ts";
import { attemptKey, type LimitSums, largerOf } from "../policy/sums.ts";
import type { AmountStanding } from "../policy/window.ts";
import { type AccountEntries, Accounts, type EndedSlots } from "./accounts.ts";
import { canonicalAddress } from "./content.ts";
import { EntryOutbox, stopEntries } from "./entries.ts";
import { coinsOfFinalAttempt, OwedCoins, type OwedEntries } from "./owed-coins.ts";
import { policySnapshot, settleSums } from "./policy-state.ts";
import { type PauseState, Stops, type StopsSnapshot } from "./stops.ts";
import { amountUnitsOf } from "./view.ts";
import { amountStandingOf, isEndedByOperator, isOver, type Withdrawal } from "./withdrawal.ts";
import { WithdrawalBook, type WithdrawalBookSnapshot } from "./withdrawals.ts";

/*
 * Our end of the jobs, which are linked by hash: the newest job and the hashes of earlier ones, to
 * tell a repeat from a fork. Built from REQUESTED and REPEATED records; a recovered ledger begins
 * at another job. Touches nothing. Source: docs/protocol.md section 5.
 */

/**
 * The number of jobs back in which a repeat is recognised; an older one is refused without a
 * record.
 */
const rememberedMax = 4_096;

/** A job in the sequence. */
interface Link {
  readonly hash: string;
  readonly transactionId: string; // "" for the job after which a recovered ledger continues
}

interface ChainSnapshot {
  readonly sequence: number;
  readonly hash: string;
  readonly links: readonly (readonly [number, string, string])[];
}

/** The jobs as far as the ledger has them. Only `apply` and `restart` change it, from records. */
class JobSequence {
  #sequence: number;
  #hash: string;
  readonly #links = new Map<number, Link>();

  constructor(snapshot?: ChainSnapshot) {
    this.#sequence = snapshot?.sequence ?? 0;
    this.#hash = snapshot?.hash ?? zeroHash;
    for (const [sequence, hash, transactionId] of snapshot?.links ?? [])
      this.#links.set(sequence, { hash, transactionId });
  }

  /** The newest job's number, 0 before the first. */
  get sequence(): number {
    return this.#sequence;
  }

  /** The newest job's hash, zeros before the first. */
  get hash(): string {
    return this.#hash;
  }

  /** Returns a recorded job; undefined if it is too old or still to come. */
  at(sequence: number): Link | undefined {
    return this.#links.get(sequence);
  }

  apply(record: {
    readonly sequence: number;
    readonly jobHash: string;
    readonly transactionId: string;
  }): void {
    invariant(record.sequence === this.#sequence + 1, "jobs are recorded in order, without gaps");
    this.#sequence = record.sequence;
    this.#hash = record.jobHash;
    this.#links.set(record.sequence, { hash: record.jobHash, transactionId: record.transactionId });
    this.#links.delete(record.sequence - rememberedMax);
  }

  /** Starts the numbers again for another agent id. */
  restart(): void {
    this.#sequence = 0;
    this.#hash = zeroHash;
    this.#links.clear();
  }

  snapshot(): ChainSnapshot {
    return {
      sequence: this.#sequence,
      hash: this.#hash,
      links: [...this.#links].map(([sequence, link]) => [sequence, link.hash, link.transactionId]),
    };
  }
}

/*
 * The ledger's head, and the hashes from the newest acknowledged record on, with which the
 * gateway's heads are compared. Built from records. Touches nothing.
 */

/** `from` is the seq of the first hash. */
interface HeadsSnapshot {
  readonly acked: AgentLedgerHead;
  readonly from: number;
  readonly hashes: readonly string[];
  readonly at: number;
}

/** Our head, and the newest head that the gateway has acknowledged. */
class Heads {
  #acked: AgentLedgerHead;
  #from: number;
  #first = 0;
  #hashes: string[];
  #at: number;

  constructor(snapshot?: HeadsSnapshot) {
    this.#acked = snapshot?.acked ?? { seq: 0, hash: zeroHash };
    this.#from = snapshot?.from ?? 1;
    this.#hashes = [...(snapshot?.hashes ?? [])];
    this.#at = snapshot?.at ?? 0;
  }

  /** The newest record, durable or about to be. Seq 0 before the first. */
  get head(): AgentLedgerHead {
    const last = this.#hashes.length - 1;
    return last < this.#first
      ? this.#acked
      : { seq: this.#from + last - this.#first, hash: this.#hashes[last] as string };
  }

  /** The newest head that the gateway has acknowledged. */
  get acked(): AgentLedgerHead {
    return this.#acked;
  }

  /** Ledger time: the time of the newest record. */
  get at(): number {
    return this.#at;
  }

  /** Returns the hash of a record; null if it is in the future or before the acknowledged one. */
  hashAt(seq: number): string | null {
    if (seq === this.#acked.seq) return this.#acked.hash;
    return seq < this.#from ? null : (this.#hashes[this.#first + seq - this.#from] ?? null);
  }

  apply(record: { readonly seq: number; readonly hash: string; readonly at: number }): void {
    if (this.#hashes.length === this.#first) this.#from = record.seq;
    this.#hashes.push(record.hash);
    this.#at = record.at;
  }

  acknowledge(acked: AgentLedgerHead): void {
    this.#acked = acked;
    const known = this.#hashes.length - this.#first;
    const gone = Math.min(Math.max(acked.seq + 1 - this.#from, 0), known);
    this.#first += gone;
    this.#from += gone;
    if (this.#first > 1024 && this.#first * 2 > this.#hashes.length) {
      this.#hashes = this.#hashes.slice(this.#first);
      this.#first = 0;
    }
  }

  snapshot(): HeadsSnapshot {
    return {
      acked: this.#acked,
      from: this.#from,
      hashes: this.#hashes.slice(this.#first),
      at: this.#at,
    };
  }
}

/*
 * The times from which an attempt counts against the limits on a chain with nonces. Nobody can pay
 * bytes without a signature, so the window begins with SIGNED. From INTENT until then the attempt
 * counts however long that takes, because a restart, a closed gate or a recovery can lie between
 * the two. So the amounts that count are at no moment below those that this ledger signed within
 * the window. Touches nothing.
 */

/**
 * Counts an attempt's INTENT or SIGNED, after `Sums.apply`; other records change nothing. The
 * amount counts with the first attempt whose bytes this ledger has, the fee with each.
 */
function countAttempt(sums: LimitSums, withdrawal: Withdrawal, record: LedgerRecord): void {
  if (record.kind !== "INTENT" && record.kind !== "SIGNED") return;
  const { transactionId: id, job, attempts, amountUnits } = withdrawal;
  const made = attempts[record.attempt - 1];
  if (made === undefined || expiryExclusionOf(job.network) !== null) return;
  const { hourAssigned, dayAssigned, fees } = sums.of(limitGroupOf(job));
  const isFirst = !made.isCancel && attempts.every((one) => one === made || one.raw === "");
  for (const window of isFirst ? [hourAssigned, dayAssigned, fees] : [fees]) {
    const units = window === fees ? BigInt(made.feeMax) : BigInt(amountUnits);
    if (record.kind === "INTENT") window.stand(id, "payable", { atMs: record.at, units });
    else window.replace(id, record.at, largerOf(units, window.unitsOf(id, record.at)));
  }
}

/**
 * Has an intent that is never signed count no longer than the window. A repeat is harmless, and so
 * is a withdrawal whose bytes are all signed.
 */
export function countUnsignedAsSpent(sums: LimitSums, { transactionId, job }: Withdrawal): void {
  if (expiryExclusionOf(job.network) !== null) return;
  const { hourAssigned, dayAssigned, fees } = sums.of(limitGroupOf(job));
  for (const window of [hourAssigned, dayAssigned, fees])
    window.stand(transactionId, "spent", { atMs: 0, units: 0n });
}

type PairedBody = Extract<RecordBody, { kind: "PAIRED" }>;

type WithdrawalRecord = Exclude<
  Extract<LedgerRecord, { transactionId: string }>,
  { kind: "REQUESTED" | "REPEATED" }
>;

/**
 * A record, with the job of a REQUESTED if admission has read it, so that no text is parsed twice.
 */
export type AppliedRecord = LedgerRecord & { readonly parsed?: Job };

/** The owner of this ledger, with the gateway's key ready for use. */
export type PairedGateway = PairedBody & { readonly publicKey: KeyObject };

/** The reason why signing stopped. */
export interface SigningLock {
  readonly code: string;
  readonly detail: string;
}

/** The config.json by which the newest decisions were made. */
export interface DecidingConfig {
  readonly digest: string;
  readonly at: number; // ledger time
  readonly limits: readonly string[]; // one line for each currency
  // the newest different limits of earlier decisions, null for none
  readonly before: readonly string[] | null;
}

/** The complete state as one JSON object; the ledger's rotation stores it with the new segment. */
export interface CoreSnapshot extends StopsSnapshot {
  readonly version: 1;
  readonly paired: PairedBody;
  readonly locked: SigningLock | null;
  readonly heads: HeadsSnapshot;
  readonly chain: ChainSnapshot;
  readonly accounts: AccountEntries;
  readonly policy: PolicySnapshot;
  readonly book: WithdrawalBookSnapshot;
  readonly outbox: ReturnType<EntryOutbox["snapshot"]>;
  readonly recovered?: RecoveredLedger | null;
  readonly heldBefore?: number;
  readonly ruled?: DecidingConfig | null;
  readonly ceiling?: number;
  readonly endedSlots?: EndedSlots;
  readonly owedCoins?: OwedEntries;
}

/** The beginning of this ledger by a recovery instead of a pairing. */
export interface RecoveredLedger {
  readonly seq: number; // seq of its RECOVERED record
  readonly order: string; // the name of the gateway's order
  readonly resyncFrom: number; // a resync sends what was recorded after this and has closed
  readonly isHolding: boolean; // both sides were restored and no operator has ended the hold: everything new is held
  // the account's final transactions without an explanation
  readonly outgoing: readonly UnexplainedRecoveryTransaction[];
}

/** The signer's state. */
export class Core {
  policy!: Policy;
  book!: WithdrawalBook;
  accounts!: Accounts;
  chain!: JobSequence;
  outbox!: EntryOutbox;
  heads!: Heads;
  owed!: OwedCoins;
  stops!: Stops;
  readonly #rules: Rules;
  readonly #past: ArchiveLookup;
  #paired: PairedGateway | null;
  #locked: SigningLock | null = null;
  #recovered: RecoveredLedger | null = null;
  /** Jobs that the gateway issued before this time belong to the hold at any time of arrival. */
  #heldBefore = 0;
  #ruled: DecidingConfig | null = null;
  #ceiling = 0;

  /**
   * `past` are the ledger's sorted files, with everything that checkpoints put away; `snapshot` is
   * its newest checkpoint.
   */
  constructor(rules: Rules, past: ArchiveLookup, snapshot?: CoreSnapshot) {
    this.#rules = rules;
    this.#past = past;
    this.#paired = null;
    this.load(snapshot);
  }

  /** Begins again from the state of a checkpoint or of a recovered ledger. */
  load(snapshot?: CoreSnapshot): void {
    const [rules, past] = [this.#rules, this.#past];
    this.policy = new Policy(rules, past, snapshot?.policy);
    this.book = new WithdrawalBook(past, snapshot?.book);
    this.accounts = new Accounts(snapshot?.accounts, snapshot?.endedSlots);
    this.owed = new OwedCoins(snapshot?.owedCoins);
    this.chain = new JobSequence(snapshot?.chain);
    this.outbox = new EntryOutbox(snapshot?.outbox);
    this.heads = new Heads(snapshot?.heads);
    this.#paired = snapshot === undefined ? null : pairedOf(snapshot.paired);
    this.#locked = snapshot?.locked ?? null;
    this.#recovered = snapshot?.recovered ?? null;
    this.#heldBefore = snapshot?.heldBefore ?? 0;
    this.#ruled = snapshot?.ruled ?? null;
    this.stops = new Stops(snapshot);
    this.#ceiling = snapshot?.ceiling ?? 0;
    // A checkpoint of an earlier program and the first state of a recovered ledger count a
    // withdrawal once, however many of its attempts can still be paid.
    for (const withdrawal of this.book.open()) this.#count(withdrawal, this.heads.at, "payable");
  }

  get paired(): PairedGateway {
    invariant(this.#paired !== null, "a ledger begins with PAIRED");
    return this.#paired;
  }

  get locked(): SigningLock | null {
    return this.#locked;
  }

  /** The recovery that began this ledger; null if the ledger began with its pairing. */
  get recovered(): RecoveredLedger | null {
    return this.#recovered;
  }

  /**
   * True if everything new is held for an operator, because both sides were restored and no
   * operator has ended the hold.
   */
  get isHolding(): boolean {
    return this.#recovered?.isHolding === true;
  }

  /** The newest POLICY record, null before the first. */
  get ruled(): DecidingConfig | null {
    return this.#ruled;
  }

  /** Null unless an operator paused new signatures. */
  get paused(): PauseState | null {
    return this.stops.paused;
  }

  /**
   * No deposit address at or above this index has left the gateway; 0 before the gateway's first
   * statement.
   */
  get ceiling(): number {
    return this.#ceiling;
  }

  /** Returns the newest recorded limits that differ from these, null for none. */
  limitsBefore(limits: readonly string[]): readonly string[] | null {
    const ruled = this.#ruled;
    return ruled === null || isSame(ruled.limits, limits) ? (ruled?.before ?? null) : ruled.limits;
  }

  /**
   * True if an operator must decide on the job: it was issued before the end of the hold, and may
   * have been paid and forgotten.
   */
  isOfRecovery({ issuedAt }: Job): boolean {
    return this.isHolding || issuedAt < this.#heldBefore;
  }

  /**
   * Applies one record; nothing else changes the state. Long: one case for each kind of record.
   */
  apply(record: AppliedRecord): void {
    this.heads.apply(record);
    switch (record.kind) {
      case "PAIRED":
        this.#pair(record);
        return;
      case "REQUESTED":
        this.chain.apply(record);
        this.#begin(record, record.parsed ?? parseJob(record.job));
        return;
      case "REPEATED":
        this.chain.apply(record);
        if (record.code === "") this.outbox.apply(record, this.book.find(record.transactionId));
        return;
      case "RELEASED":
        this.book.release(record);
        this.#acknowledge(record);
        return;
      case "REPORTED":
        this.#acknowledge(record);
        return;
      case "ENDED":
        for (const transactionId of this.book.end(record)) this.policy.voidApproval(transactionId);
        for (const withdrawal of this.book.findEach(record.ended)) {
          this.#count(withdrawal, record.at);
          this.#settle(withdrawal);
        }
        return;
      case "VOID":
        for (const { withdrawal, from } of this.book.takeVoid(record)) {
          this.#count(withdrawal, record.at);
          this.accounts.move(withdrawal.job.network, withdrawal.account, from, withdrawal.state);
        }
        return;
      case "PAUSED":
        this.stops.apply(record);
        this.outbox.apply(record, undefined);
        return;
      case "COIN_FREED":
        this.book.free(record);
        return;
      case "CEILING":
        this.#ceiling = Math.max(this.#ceiling, record.ceiling);
        this.outbox.apply(record, undefined);
        return;
      case "ADOPTED":
        this.accounts.apply(record);
        this.outbox.apply(record, undefined);
        return;
      case "LOCKED":
        this.#locked ??= { code: record.code, detail: record.detail };
        this.outbox.apply(record, undefined);
        return;
      case "ALARM":
        this.outbox.apply(record, undefined);
        return;
      case "CHECKPOINT":
        this.book.putAway();
        this.policy.paid.putAway();
        return;
      case "POLICY":
        this.#ruled = {
          digest: record.digest,
          at: record.at,
          limits: record.limits,
          before: this.limitsBefore(record.limits),
        };
        return;
      case "RECOVERED":
        this.#open(record);
        return;
      case "RECOVERY_FINISHED":
        if (this.#recovered !== null)
          this.#recovered = { ...this.#recovered, isHolding: false, outgoing: [] };
        this.#heldBefore = Math.max(this.#heldBefore, record.issuedBefore);
        return;
      default:
        this.#foldWithdrawal(record);
    }
  }

  /**
   * Returns the state for a checkpoint and the rows that leave it permanently. Both must be written
   * before the next record is applied.
   */
  checkpoint(): { readonly state: CoreSnapshot; readonly leaving: ArchivedRows } {
    const { book, policy, ...rest } = this.snapshot();
    const state = { ...rest, book: { ...book, closed: [] }, policy: { ...policy, paid: [] } };
    return { state, leaving: { closed: this.book.rows(), paid: this.policy.paid.rows() } };
  }

  /** Returns the complete state except the content of the sorted files, for JSON. */
  snapshot(): CoreSnapshot {
    const { publicKey: _publicKey, ...paired } = this.paired;
    return {
      version: 1,
      paired,
      locked: this.#locked,
      heads: this.heads.snapshot(),
      chain: this.chain.snapshot(),
      accounts: this.accounts.snapshot(),
      policy: policySnapshot(this.policy, this.heads.at),
      book: this.book.snapshot(),
      outbox: this.outbox.snapshot(),
      recovered: this.#recovered,
      heldBefore: this.#heldBefore,
      ruled: this.#ruled,
      ...this.stops.snapshot(),
      ceiling: this.#ceiling,
      endedSlots: this.accounts.ended(),
      owedCoins: this.owed.snapshot(),
    };
  }

  #begin(record: Extract<AppliedRecord, { kind: "REQUESTED" }>, job: Job): void {
    this.book.begin(record, job);
    if (job.renews !== undefined) this.owed.renew(job.renews, job.transactionId);
  }

  /** Applies a RECOVERED record. The state in its file is loaded already, live as at a start. */
  #open(record: Extract<LedgerRecord, { kind: "RECOVERED" }>): void {
    invariant(
      this.#recovered !== null && this.paired.ledgerEpoch === record.ledgerEpoch,
      "a recovered ledger begins with its own state",
    );
    this.#recovered = { ...this.#recovered, seq: record.seq };
    this.book.receive(record.at);
    this.outbox.apply(record, undefined);
    // The gateway may have recorded other stops, so the present state is sent.
    for (const entry of stopEntries(this.stops, record)) this.outbox.push(entry);
    // The same holds for the ceiling, which is the higher one of the ledger's and the order's.
    if (this.#ceiling > 0)
      this.outbox.push({ kind: "ceiling", seq: record.seq, at: record.at, ceiling: this.#ceiling });
  }

  #foldWithdrawal(record: WithdrawalRecord): void {
    const from = this.book.find(record.transactionId)?.state;
    const withdrawal = this.book.apply(record);
    this.policy.apply(record, limitGroupOf(withdrawal.job));
    countAttempt(this.policy.sums, withdrawal, record);
    this.#count(withdrawal, record.at);
    this.#settle(withdrawal);
    if (record.kind === "INTENT") this.accounts.apply(record, withdrawal.isKept);
    if (record.kind === "OBSERVED" && record.outcome === "paid") this.#learn(withdrawal, record.at);
    if ((record.kind === "OBSERVED" || record.kind === "EXPIRED") && from !== undefined) {
      this.accounts.move(withdrawal.job.network, withdrawal.account, from, withdrawal.state);
    }
    if (
      record.kind === "EXPIRED" &&
      isEndedByOperator(withdrawal) &&
      familyOf(withdrawal.job.network).slots.isCounted
    )
      this.accounts.end(withdrawal.job.network, withdrawal.account, withdrawal.slot);
    if (record.kind === "MANUAL_REPLACEMENT") this.owed.owe(withdrawal, record.coins ?? []);
    this.outbox.apply(record, withdrawal);
  }

  /**
   * Updates how each attempt counts, with exclusion by expiry; with `only`, just the attempts of
   * that standing.
   */
  #count(withdrawal: Withdrawal, atMs: number, only?: AmountStanding): void {
    const { transactionId: id, job, attempts } = withdrawal;
    if (expiryExclusionOf(job.network) === null) return;
    for (const one of attempts) {
      const standing = amountStandingOf(withdrawal, one, atMs);
      if (only !== undefined && standing !== only) continue;
      const units = BigInt(amountUnitsOf(withdrawal, this.policy) || "0");
      const counted = { id, attempt: one.attempt, units, feeMaxUnits: BigInt(one.feeMax) };
      this.policy.sums.stand(limitGroupOf(job), counted, standing, atMs);
    }
  }

  /** The sums need an attempt's id only until chain and gateway have ended the withdrawal. */
  #settle(withdrawal: Withdrawal): void {
    if (!isOver(withdrawal)) return;
    this.owed.spend(withdrawal, coinsOfFinalAttempt(withdrawal));
    countUnsignedAsSpent(this.policy.sums, withdrawal);
    if (!withdrawal.isEnded) return;
    // An attempt that a side calls void may still be given back.
    const settled = withdrawal.attempts.filter(({ voidBy }) => voidBy === undefined);
    for (const { attempt } of settled)
      settleSums(
        this.policy.sums,
        limitGroupOf(withdrawal.job),
        attemptKey(withdrawal.transactionId, attempt),
      );
  }

  #learn({ job, address }: Withdrawal, at: number): void {
    if (isInternalMode(job.mode)) return;
    const { network, tag, amount, currency } = job;
    // An address from the gateway may be in any spelling.
    this.policy.paid.pay({
      network,
      address: canonicalAddress(network, address),
      tag,
      at,
      amount,
      currency,
    });
  }

  #pair(record: Extract<LedgerRecord, { kind: "PAIRED" }>): void {
    if (this.#paired !== null && this.#paired.agent !== record.agent) this.chain.restart();
    const { kind, agent, merchant, wallet, ledgerEpoch, gatewayKey } = record;
    this.#paired = pairedOf({ kind, agent, merchant, wallet, ledgerEpoch, gatewayKey });
  }

  #acknowledge(record: Extract<LedgerRecord, { acked: unknown }>): void {
    this.heads.acknowledge(record.acked);
    this.outbox.acknowledge(record.acked.seq);
    for (const transactionId of this.book.acknowledge(record.acked.seq))
      this.policy.voidApproval(transactionId);
  }
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, i) => text === b[i]);
}

function pairedOf(body: PairedBody): PairedGateway {
  return { ...body, publicKey: publicKeyFromHex(body.gatewayKey) };
}
