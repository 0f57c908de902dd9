/**
 * What every durable record must be beside those before it: tokens, decisions, releases, limits, and silence after a lock. Follows one
 * ledger record by record and reads nothing else, so that it says the same of a ledger whoever wrote it.
 */

import type { LedgerRecord } from "../../agent/ledger/records.ts";
import type { Job } from "../../protocol/messages.ts";
import { Limits, type Terms, type Version, type Withdrawal } from "./limits.ts";
import { People } from "./people.ts";
import { must } from "./violation.ts";

type Imported = Extract<LedgerRecord, { kind: "IMPORTED" }>;

const recoveryCodes: ReadonlySet<string> = new Set(["RECOVERY_HOLD", "RECOVERY_SETTLED"]);
const acting: ReadonlySet<string> = new Set([
  ...[
    "REQUESTED",
    "REPEATED",
    "POLICY",
    "APPROVED",
    "HELD",
    "CONFIRMED",
    "REFUSED",
    "EXPIRED",
    "INTENT",
    "SIGNED",
    "RELEASED",
    "ADOPTED",
  ],
]);

const ruled: ReadonlySet<string> = new Set(["APPROVED", "HELD", "CONFIRMED", "REFUSED", "INTENT"]);

export class RecordSentences {
  readonly #terms: Terms;
  readonly #withdrawals = new Map<string, Withdrawal>();
  readonly #limits: Limits;
  readonly #people: People;
  readonly #ownerOf = new Map<bigint, string>();
  readonly #hashes = new Map<number, string>();
  #next: bigint | null = null;
  #isBegun = false;
  #isRuled = false;
  #isLocked = false;
  #ackedSeq = 0;
  #sequence = 0;
  /** What a recovery has begun to say; all of it counts with its last record, or none. */
  #staged: LedgerRecord[] = [];
  /** From RECOVERED to RESUMED. */
  #isRecovering = false;
  #heldBefore = 0;
  #recoveredSeq = 0;

  constructor(terms: Terms) {
    this.#terms = terms;
    this.#limits = new Limits(terms, this.#withdrawals);
    this.#people = new People(terms.policy, this.#limits);
  }

  add(record: LedgerRecord): void {
    this.#hashes.set(record.seq, record.hash);
    this.#isRuled ||= record.kind === "POLICY";
    const say = (): string => `${this.#terms.name}: ${JSON.stringify(record).slice(0, 400)}`;
    must(record.at <= this.#terms.atMax(), "ledger time never runs far ahead of the gateway's", say);
    must(!this.#isLocked || !acting.has(record.kind), "a locked signer does nothing", say);
    must(this.#isRuled || !ruled.has(record.kind), "a decision follows the record of its rules", say);
    switch (record.kind) {
      case "LOCKED":
        this.#isLocked = true;
        return;
      case "RECOVERING":
        this.#staged = [record];
        return;
      case "IMPORTED":
      case "SETTLED":
      case "RESTATED":
        this.#staged.push(record);
        return;
      case "RECOVERED":
        this.#recovered(record, say);
        return;
      case "RESUMED":
        must(this.#ackedSeq >= this.#recoveredSeq, "a recovery ends when the gateway has taken it", say);
        this.#isRecovering = false;
        this.#heldBefore = Math.max(this.#heldBefore, record.issuedBefore);
        return;
      case "ADOPTED":
        must(!this.#isBegun, "an account is adopted before its first token", say);
        this.#next = BigInt(record.nonce);
        return;
      case "REQUESTED":
        this.#jobAt(record.sequence, say);
        this.#requested(record, say);
        return;
      case "REPEATED":
        this.#jobAt(record.sequence, say);
        return;
      case "RELEASED":
        this.#released(record, say);
        return;
      case "REPORTED":
        this.#acknowledged(record.acked, record.seq, say);
        return;
      default:
        if ("transactionId" in record) this.#moves(record, say);
    }
  }

  /** As `Limits` has it. */
  heldBackUntil(transactionId: string): number {
    return this.#limits.heldBackUntil(transactionId);
  }

  #released({ acked, seq, released }: Extract<LedgerRecord, { kind: "RELEASED" }>, say: () => string): void {
    this.#acknowledged(acked, seq, say);
    const isKnown = ({ signedSeq }: Version): boolean => signedSeq > 0 && signedSeq <= acked.seq;
    for (const { transactionId, version } of released) {
      const one = this.#withdrawals.get(transactionId);
      const made = one?.versions[version - 1];
      must(made !== undefined && isKnown(made), "what is released is in the acknowledged part of the ledger", say);
      if (made !== undefined) made.isReleased = true;
      for (const [nonce, owner] of this.#ownerOf) {
        const below = this.#withdrawals.get(owner);
        if (below === undefined || below.isFinal || nonce >= (one?.nonce ?? 0n)) continue;
        must(below.versions.some(isKnown), "the gateway knows every nonce below one that leaves", say);
      }
    }
  }

  /** What a recovery settled may be asked for again, and is a person's then. */
  #requested({ transactionId, job, at }: Extract<LedgerRecord, { kind: "REQUESTED" }>, say: () => string): void {
    const known = this.#withdrawals.get(transactionId);
    must(known === undefined || known.decision === "settled", "an order is requested once", say);
    this.#withdrawals.set(transactionId, { ...begin(JSON.parse(job) as Job, at), isPersons: known !== undefined });
  }

  #recovered(record: Extract<LedgerRecord, { kind: "RECOVERED" }>, say: () => string): void {
    const [begun, ...parts] = this.#staged;
    must(begun?.kind === "RECOVERING" && begun.order === record.order, "what is recovered was begun", say);
    if (begun?.kind === "RECOVERING") this.#sequence = begun.sequence;
    this.#staged = [];
    this.#isLocked = false;
    this.#isRecovering = true;
    this.#recoveredSeq = record.seq;
    this.#ackedSeq = 0;
    for (const { next } of record.accounts) {
      must(this.#next === null || BigInt(next) >= this.#next, "no recovery gives a token back", say);
      this.#next = BigInt(next);
      this.#isBegun = true;
    }
    for (const part of parts) {
      if (part.kind === "IMPORTED") this.#imported(part, record.at, say);
      const settled = part.kind === "SETTLED" ? this.#withdrawals.get(part.transactionId) : undefined;
      if (settled === undefined) continue;
      must(settled.nonce === null && !isOver(settled), "only what has no token is settled", say);
      settled.decision = "settled";
    }
  }

  #imported(part: Imported, at: number, say: () => string): void {
    const { transactionId: id } = part;
    const one = this.#withdrawals.get(id) ?? begin(JSON.parse(part.job) as Job, at);
    this.#withdrawals.set(id, one);
    must(one.decision === "settled" || !isOver(one), "nothing follows the end", say);
    one.decision = "held";
    one.isPersons = true;
    one.firstYes = null;
    one.address = part.address;
    if (part.nonce === "") {
      must(one.nonce === null, "a withdrawal has one token", say);
      return;
    }
    const nonce = BigInt(part.nonce);
    must((one.nonce ?? nonce) === nonce, "a withdrawal has one token", say);
    must((this.#ownerOf.get(nonce) ?? id) === id, "a token has one withdrawal", say);
    must(this.#next !== null && nonce < this.#next, "what a recovery takes over lies below the next token", say);
    this.#ownerOf.set(nonce, id);
    one.nonce = nonce;
    one.boundAt = at;
    one.units = this.#limits.unitsOf(one.job.amount, one.job.currency);
    one.versions = part.versions.map(({ own, out }, index) => {
      const known = own ? one.versions[index] : undefined;
      return { digest: known?.digest ?? "", signedSeq: known?.signedSeq ?? 1, isReleased: out || known?.isReleased === true };
    });
  }

  #jobAt(sequence: number, say: () => string): void {
    must(sequence === this.#sequence + 1, "jobs are recorded in order and without gaps", say);
    this.#sequence = sequence;
  }

  #acknowledged(acked: { readonly seq: number; readonly hash: string }, seq: number, say: () => string): void {
    must(acked.seq < seq && this.#hashes.get(acked.seq) === acked.hash, "an acknowledgement is of this ledger's past", say);
    must(acked.seq > this.#ackedSeq, "acknowledgements go forward", say);
    this.#ackedSeq = acked.seq;
  }

  #moves(record: LedgerRecord, say: () => string): void {
    if (!("transactionId" in record)) return;
    const one = this.#withdrawals.get(record.transactionId);
    must(one !== undefined, "a request comes first", say);
    if (one === undefined) return;
    must(!isOver(one), "nothing follows the end", say);
    switch (record.kind) {
      case "APPROVED":
        this.#approved(one, record, say);
        return;
      case "HELD":
        must(one.decision === "" || (one.decision === "held" && one.isDelayed), "a decision comes once", say);
        one.isDelayed = record.code === "POLICY_NEW_DESTINATION_DELAY";
        one.firstYes = null;
        one.isPersons ||= this.#isRecovering || one.job.issuedAt < this.#heldBefore;
        must(!one.isPersons || recoveryCodes.has(record.code), "what comes in a recovery is held for a person", say);
        one.decision = "held";
        return;
      case "CONFIRMED":
        must(one.decision === "held", "a first yes is to what is held", say);
        one.firstYes = record;
        return;
      case "REFUSED":
      case "EXPIRED":
        must(one.nonce === null, "what is bound is never called unsigned", say);
        must(
          !one.isPersons || one.decision === "approved" || (record.kind === "REFUSED" && record.by === "operator"),
          "what a recovery holds ends by a person alone",
          say,
        );
        must(record.kind === "EXPIRED" || record.code !== "JOB_ID_MISMATCH", "every id follows from its order", say);
        must(record.kind === "REFUSED" || record.at > one.job.expiresAt, "nothing runs out before its time", say);
        one.decision = "ended";
        return;
      case "INTENT":
        this.#intends(one, record, say);
        return;
      case "SIGNED": {
        const version = one.versions[record.version - 1];
        must(
          version?.digest === record.digest && version.signedSeq === 0,
          "what is signed was intended, and is signed once",
          say,
        );
        if (version !== undefined) version.signedSeq = record.seq;
        return;
      }
      case "OBSERVED":
        must(
          one.versions.some((version) => version.isReleased),
          "what is seen on chain was released",
          say,
        );
        one.isFinal = record.stage === "final";
        if (record.outcome === "paid") this.#people.paid(one);
        return;
      default:
    }
  }

  #approved(one: Withdrawal, record: Extract<LedgerRecord, { kind: "APPROVED" }>, say: () => string): void {
    must(one.decision === "" || one.decision === "held", "an approval comes once", say);
    const { policy } = this.#terms;
    const units = BigInt(record.amountUnits);
    const limit = (text: string): bigint => this.#limits.unitsOf(text, one.job.currency);
    if (record.by === "policy") {
      const isTheirs = one.isPersons || this.#isRecovering || one.job.issuedAt < this.#heldBefore;
      must(!isTheirs, "what a recovery holds is approved by a person alone", say);
      const isForPeople = one.job.mode === "manual" || (policy.holdAbove !== undefined && units > limit(policy.holdAbove));
      must(!isForPeople, "what is for a person is approved by a person", say);
    }
    this.#people.approved(one, record, say);
    must(units <= limit(policy.maxPerWithdrawal), "no payment is above its limit", say);
    one.decision = "approved";
    one.units = units;
    one.address = record.address;
    one.approvedAt = record.at;
    this.#limits.within("approved", one.job.currency, record.at, say);
  }

  #intends(one: Withdrawal, record: Extract<LedgerRecord, { kind: "INTENT" }>, say: () => string): void {
    const nonce = BigInt(record.nonce);
    must(one.decision === "approved", "an intent follows an approval", say);
    must((this.#ownerOf.get(nonce) ?? record.transactionId) === record.transactionId, "a token has one withdrawal", say);
    must((one.nonce ?? nonce) === nonce, "a withdrawal has one token", say);
    must(record.version === one.versions.length + 1, "versions count up", say);
    must(BigInt(record.amountUnits) === one.units, "what is bound is what was approved", say);
    if (one.nonce === null) {
      must(this.#next === nonce, "nonces are given out in order and without gaps", say);
      this.#next = nonce + 1n;
      one.boundAt = record.at;
    }
    this.#isBegun = true;
    this.#ownerOf.set(nonce, record.transactionId);
    one.nonce = nonce;
    one.versions.push({ digest: record.digest, signedSeq: 0, isReleased: false });
    const feeWei = BigInt(record.gasLimit) * BigInt(record.maxFeePerGas);
    if (feeWei > one.feeWei) one.feeWei = feeWei;
    one.feeAt = record.at;
    this.#limits.within("bound", one.job.currency, record.at, say);
    this.#limits.feesWithin(feeWei, one.job.currency, record.at, say);
  }
}

function begin(job: Job, requestedAt: number): Withdrawal {
  const times = { requestedAt, feeAt: 0, boundAt: 0, approvedAt: 0 };
  const said = { decision: "", isDelayed: false, firstYes: null, isFinal: false, isPersons: false } as const;
  return { job, ...said, units: 0n, nonce: null, address: "", feeWei: 0n, ...times, versions: [] };
}

function isOver({ decision, isFinal }: Withdrawal): boolean {
  return decision === "ended" || decision === "settled" || isFinal;
}
