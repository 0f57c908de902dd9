/**
 * Invariants about each durable record and those before it: slots, decisions, releases, limits, and
 * silence after a lock. Follows one ledger record by record and reads nothing else, so that the
 * answer does not depend on the ledger's writer.
 */
import { isCancel, type LedgerRecord } from "../../../agent/ledger/records.ts";
import type { Withdrawal as Kept } from "../../../agent/signer/state/withdrawal.ts";
import { stopKey } from "../../../agent/socket/stops.ts";
import { families } from "../../../chains/families.ts";
import { isInternalMode, limitGroupOf } from "../../../protocol/job-mode.ts";
import type { Job } from "../../../protocol/messages.ts";
import { hotWallet, stage } from "../world/setting.ts";
import { Actors } from "./actors.ts";
import {
  type Attempt,
  begin,
  isCancelling,
  isOver,
  Limits,
  type RecoveredRecord,
  type Terms,
  type Withdrawal,
} from "./limits.ts";
import { priced } from "./prices.ts";
import { UnpaidEnds } from "./unpaid-ends.ts";
import { must } from "./violation.ts";
import { Waits } from "./waits.ts";

const acting: ReadonlySet<string> = new Set([
  ...["REQUESTED", "REPEATED", "POLICY", "APPROVED", "HELD", "CONFIRMED", "REFUSED", "EXPIRED"],
  ...["INTENT", "SIGNED", "RELEASED", "ENDED", "ADOPTED"],
]);
const ruled: ReadonlySet<string> = new Set(["APPROVED", "HELD", "CONFIRMED", "REFUSED", "INTENT"]);

export class RecordInvariants {
  readonly #terms: Terms;
  readonly #withdrawals = new Map<string, Withdrawal>();
  readonly #limits: Limits;
  readonly #actors: Actors;
  /** The rules if only time excludes a payment; null if a slot does. */
  readonly #waits: Waits | null;
  readonly #ends: UnpaidEnds;
  readonly #ownerOf = new Map<string, string>(); // by account and nonce
  readonly #hashes = new Map<number, string>();
  readonly #next = new Map<string, bigint>(); // by account
  readonly #begun = new Set<string>(); // accounts that have given a slot
  #isRuled = false;
  #isLocked = false;
  #ackedSeq = 0;
  #sequence = 0;
  #isPaused = false;
  readonly #stopped = new Set<string>(); // places without first attempts, by `stopKey`
  /** From a RECOVERED for both to RECOVERY_FINISHED. */
  #isHolding = false;
  #heldBefore = 0;
  #recoveredSeq = 0;
  readonly #contested = new Set<string>();

  constructor(terms: Terms) {
    this.#terms = terms;
    this.#limits = new Limits(terms, this.#withdrawals);
    this.#actors = new Actors(terms.policy, this.#limits);
    const { manualReplaceAbove, twoApproversAbove } = terms.policy;
    const aboveOf =
      (text: string | undefined) =>
      ({ job }: Withdrawal): bigint | null =>
        text === undefined || isInternalMode(job.mode)
          ? null
          : this.#limits.unitsOf(text, job.currency);
    this.#waits =
      stage.family === "tron" ? new Waits(aboveOf(manualReplaceAbove), terms.endMax) : null;
    this.#ends = new UnpaidEnds(this.#withdrawals, this.#waits, aboveOf(twoApproversAbove));
  }

  add(record: LedgerRecord): void {
    this.#hashes.set(record.seq, record.hash);
    this.#isRuled ||= record.kind === "POLICY";
    const say = (): string => `${this.#terms.name}: ${JSON.stringify(record).slice(0, 400)}`;
    must(
      record.at <= this.#terms.atMax(),
      "ledger time never runs far ahead of the gateway's",
      say,
    );
    must(!this.#isLocked || !acting.has(record.kind), "a locked signer does nothing", say);
    must(
      this.#isRuled || !ruled.has(record.kind),
      "a decision follows the record of its rules",
      say,
    );
    switch (record.kind) {
      case "LOCKED":
        this.#isLocked = true;
        return;
      case "RECOVERED":
        this.#opens(record, say);
        return;
      case "RECOVERY_FINISHED":
        must(
          this.#ackedSeq >= this.#recoveredSeq,
          "the holding ends when the gateway has taken the recovered ledger",
          say,
        );
        this.#isHolding = false;
        this.#heldBefore = Math.max(this.#heldBefore, record.issuedBefore);
        return;
      case "ADOPTED":
        this.#adopts(record, say);
        return;
      case "REQUESTED":
      case "REPEATED":
        this.#jobAt(record.sequence, say);
        if (record.kind === "REQUESTED") this.#requested(record, say);
        return;
      case "RELEASED":
        this.#released(record, say);
        return;
      case "REPORTED":
        this.#acknowledged(record.acked, record.seq, say);
        return;
      case "ENDED":
        for (const id of record.ended) this.#ended(id, say);
        return;
      case "VOID":
        this.#waits?.voidByGateway(record);
        return;
      case "PAUSED":
        if (record.network === undefined) this.#isPaused = record.paused;
        else
          this.#stopped[record.paused ? "add" : "delete"](
            stopKey({ ...record, network: record.network }),
          );
        return;
      default:
        if ("transactionId" in record) this.#moves(record, say);
    }
  }

  #adopts({ account, slot }: Extract<LedgerRecord, { kind: "ADOPTED" }>, say: () => string): void {
    const isFree =
      !this.#begun.has(account) || this.#ends.freesAccount(account, this.#next.get(account));
    must(isFree, "an account is adopted before its first slot, or behind an ended one", say);
    this.#next.set(account, BigInt(slot));
    this.#begun.delete(account);
  }

  /** As `Limits` has it. */
  heldBackUntil(transactionId: string): number {
    return this.#limits.heldBackUntil(transactionId);
  }

  #released(
    { acked, seq, released }: Extract<LedgerRecord, { kind: "RELEASED" }>,
    say: () => string,
  ): void {
    this.#acknowledged(acked, seq, say);
    const isKnown = ({ signedSeq }: Attempt): boolean => signedSeq > 0 && signedSeq <= acked.seq;
    for (const { transactionId, attempt } of released) {
      const one = this.#withdrawals.get(transactionId);
      const made = one?.attempts[attempt - 1];
      must(
        made !== undefined && isKnown(made),
        "a released attempt is in the acknowledged part of the ledger",
        say,
      );
      if (made !== undefined) made.isReleased = true;
      if (this.#waits !== null || !this.#terms.isGatewayHonest || stage.isOfCoins) continue;
      for (const [key, owner] of this.#ownerOf) {
        const below = this.#withdrawals.get(owner);
        const [account = "", nonce = "0"] = key.split(" ");
        if (
          below === undefined ||
          below.isFinal ||
          account !== one?.account ||
          BigInt(nonce) >= (one.nonce ?? 0n)
        )
          continue;
        must(
          below.attempts.some(isKnown),
          "the gateway knows every nonce below one that leaves",
          say,
        );
      }
    }
  }

  #ended(id: string, say: () => string): void {
    const one = this.#withdrawals.get(id);
    must(
      one !== undefined && one.nonce !== null,
      "a withdrawal that is called ended has a slot",
      say,
    );
    if (one !== undefined) one.isEnded = true;
  }

  #requested(
    { transactionId, job, at }: Extract<LedgerRecord, { kind: "REQUESTED" }>,
    say: () => string,
  ): void {
    must(!this.#withdrawals.has(transactionId), "an order is requested once", say);
    this.#withdrawals.set(transactionId, begin(JSON.parse(job) as Job, at));
  }

  /**
   * A new ledger: what has ended is remembered, what had a slot keeps it, all else may be asked for
   * again.
   */
  #opens(record: RecoveredRecord, say: () => string): void {
    const state = this.#terms.stateOf(record);
    this.#sequence = record.sequence;
    this.#isLocked = false;
    this.#isHolding ||= record.bothRestored;
    this.#recoveredSeq = record.seq;
    this.#ackedSeq = 0;
    // No run that is recovered has sweeps.
    const [account] = state.accounts;
    const next = BigInt(account?.[3] ?? 0);
    const kept = new Map(state.book.open.map((one) => [one.transactionId, one]));
    for (const [id, one] of this.#withdrawals) {
      if (isOver(one)) continue;
      const isOut = one.attempts.some(({ isReleased }) => isReleased);
      must(!isOut || kept.has(id), "a withdrawal whose bytes may be out keeps its slot", say);
      must(!isOut || (one.nonce ?? 0n) < next, "no recovery gives a slot back", say);
      const isMoved = isOut && BigInt(kept.get(id)?.slot ?? -1) !== one.nonce;
      must(!isMoved || kept.get(id)?.code === "SLOT_CONTESTED", "a withdrawal has one slot", say);
      if (!kept.has(id) && this.#withdrawals.delete(id)) this.#waits?.forgets(id);
    }
    if (account !== undefined) {
      this.#next.set(account[1], next);
      // A payment that never left gives its slot back, and the account may begin elsewhere.
      if (next > BigInt(account[2])) this.#begun.add(account[1]);
      else this.#begun.delete(account[1]);
    }
    this.#ownerOf.clear();
    this.#contested.clear();
    for (const [id, one] of this.#withdrawals)
      if (isOver(one) && one.nonce !== null) this.#ownerOf.set(`${one.account} ${one.nonce}`, id);
    // The gateway releases nothing to the old ledger after its order: kept amounts count from the
    // order's time on, however late the operator says yes. A new signature counts again.
    for (const one of kept.values()) this.#keeps(one, state.heads.at, say);
  }

  #keeps(kept: Kept, at: number, say: () => string): void {
    const { transactionId: id, job, attempts } = kept;
    const known = this.#withdrawals.get(id);
    const hasEnded = known !== undefined && isOver(known) && known.nonce !== null;
    must(!hasEnded || !this.#terms.isGatewayHonest, "an ended withdrawal is not kept", say);
    const one = begin(job, known?.requestedAt ?? at);
    this.#withdrawals.set(id, one);
    this.#waits?.keeps(kept);
    const nonce = BigInt(kept.slot);
    const slotKey = `${kept.account} ${kept.slot}`;
    const isContested = kept.code === "SLOT_CONTESTED";
    if (isContested) this.#contested.add(id);
    const isOne =
      isContested || !this.#terms.isGatewayHonest || (this.#ownerOf.get(slotKey) ?? id) === id;
    must(isOne, "a slot has one withdrawal", say);
    must(nonce < (this.#next.get(kept.account) ?? 0n), "a kept slot lies below the next one", say);
    this.#ownerOf.set(slotKey, id);
    one.account = kept.account;
    one.nonce = nonce;
    one.assignedAt = at;
    one.isKept = true;
    one.wasApproved = kept.amountUnits !== "";
    // Or before a recovery that was the last one until now, and nobody was asked since.
    const isKnown = known?.decision === "approved" || known?.wasApproved === true;
    must(!one.wasApproved || isKnown, "a yes that stands was given before", say);
    one.address = kept.address;
    one.units = this.#limits.unitsOf(job.amount, job.currency);
    one.attempts = attempts.map(({ digest, txHash, isCancel: isNothing }) => {
      return { digest, txHash, signedSeq: 1, isReleased: true, isCancel: isNothing };
    });
  }

  /** Asked for when both had gone back, or before: perhaps it was paid. */
  #isTheirs({ job, isKept }: Withdrawal): boolean {
    return !isKept && (this.#isHolding || job.issuedAt < this.#heldBefore);
  }

  #jobAt(sequence: number, say: () => string): void {
    must(sequence === this.#sequence + 1, "jobs are recorded in order and without gaps", say);
    this.#sequence = sequence;
  }

  #acknowledged(
    acked: { readonly seq: number; readonly hash: string },
    seq: number,
    say: () => string,
  ): void {
    must(
      acked.seq < seq && this.#hashes.get(acked.seq) === acked.hash,
      "an acknowledgement is of this ledger's past",
      say,
    );
    must(acked.seq > this.#ackedSeq, "acknowledgements go forward", say);
    this.#ackedSeq = acked.seq;
  }

  /** Long: the rules of each kind of record about a withdrawal. */
  #moves(record: LedgerRecord, say: () => string): void {
    if (!("transactionId" in record)) return;
    const one = this.#withdrawals.get(record.transactionId);
    must(one !== undefined, "a request comes first", say);
    if (one === undefined) return;
    // A withdrawal that ends by two words may have been called ended before, by liars.
    must(!isOver(one) || !this.#terms.isGatewayHonest, "nothing follows the end", say);
    const isOfSlot =
      record.kind === "INTENT" || record.kind === "SIGNED" || record.kind === "MANUAL_REPLACEMENT";
    const isEnd = record.kind === "OBSERVED" && record.stage === "final";
    const isVoidKey = record.kind === "OBSERVED" && record.stage === "void";
    // What a courier alone states may be untrue: an operator's end is judged by itself.
    const isDoubted = record.kind === "UNSEEN" || record.kind === "EXPIRED";
    const isVoidEnd = this.#waits?.isVoid(record.transactionId, one.seenHash) === true;
    must(
      !one.isFinal ||
        isOfSlot ||
        isEnd ||
        isVoidKey ||
        isVoidEnd ||
        (isDoubted && this.#waits === null),
      "an end that was told is followed by another, by attempts of the slot, or by an operator's end",
      say,
    );
    switch (record.kind) {
      case "APPROVED":
        this.#approved(one, record, say);
        return;
      case "MANUAL_REPLACEMENT":
        one.replacedManuallyAt = record.seq;
        this.#waits?.manualReplacement(record);
        this.#ends.ordered(record);
        return;
      case "HELD":
        must(
          one.decision === "" || (one.decision === "held" && one.isDelayed),
          "a decision comes once",
          say,
        );
        one.isDelayed = record.code === "POLICY_NEW_DESTINATION_DELAY";
        one.firstYes = null;
        one.isOperators ||= this.#isTheirs(one);
        must(
          !one.isOperators || record.code === "RECOVERY_HOLD",
          "a job after both rollbacks is held for an operator",
          say,
        );
        one.decision = "held";
        return;
      case "CONFIRMED":
        must(one.decision === "held", "a first yes is to a held withdrawal", say);
        one.firstYes = record;
        return;
      case "REFUSED":
      case "EXPIRED":
        this.#ends.ends(one, record, say);
        return;
      case "INTENT":
        this.#intends(one, record, say);
        return;
      case "SIGNED":
        this.#signs(one, record, say);
        return;
      case "OBSERVED":
        if (isVoidKey) {
          this.#waits?.called(record, say);
          return;
        }
        must(
          one.attempts.some((attempt) => attempt.isReleased),
          "an attempt that is seen on chain was released",
          say,
        );
        must(
          record.outcome !== "paid" ||
            !one.attempts.some((attempt) => attempt.isCancel && attempt.txHash === record.txHash),
          "no cancel pays",
          say,
        );
        one.isFinal = record.stage === "final";
        one.seenHash = record.txHash;
        this.#waits?.seen(record);
        if (record.outcome === "paid") this.#actors.paid(one);
        return;
      default:
    }
  }

  #signs(
    one: Withdrawal,
    record: Extract<LedgerRecord, { kind: "SIGNED" }>,
    say: () => string,
  ): void {
    const attempt = one.attempts[record.attempt - 1];
    must(
      attempt?.digest === record.digest && attempt.signedSeq === 0,
      "an attempt is signed once, after its INTENT",
      say,
    );
    if (attempt !== undefined)
      Object.assign(attempt, { signedSeq: record.seq, txHash: record.txHash });
    this.#waits?.signed(record);
    const isPayment = attempt?.isCancel !== true;
    // Nobody can pay it before.
    if (
      this.#waits === null &&
      one.attempts.every((each) => each === attempt || each.signedSeq === 0)
    )
      one.assignedAt = record.at;
    must(!isPayment || !this.#isPaused, "a paused signer signs nothing that pays", say);
    const isStopped = this.#stopped.has(one.job.network) || this.#stopped.has(stopKey(one.job));
    must(record.attempt > 1 || !isStopped, "no first attempt is signed in a stopped place", say);
    must(!isPayment || !isCancelling(one), "no paying attempt is signed after a cancel", say);
  }

  #approved(
    one: Withdrawal,
    record: Extract<LedgerRecord, { kind: "APPROVED" }>,
    say: () => string,
  ): void {
    must(one.decision === "" || one.decision === "held", "an approval comes once", say);
    const { policy } = this.#terms;
    const units = BigInt(record.amountUnits);
    if (isInternalMode(one.job.mode)) {
      this.#staysOwn(one, record.address, say);
      this.#limits.toppedUpWithin(units, limitGroupOf(one.job), say);
      one.decision = "approved";
      Object.assign(one, { units, address: record.address, approvedAt: record.at });
      this.#limits.within("approved", limitGroupOf(one.job), record.at, say);
      return;
    }
    const limit = (text: string): bigint => this.#limits.unitsOf(text, one.job.currency);
    if (record.by === "policy") {
      must(
        !one.isOperators && !this.#isTheirs(one),
        "a hold after both rollbacks is approved by an operator",
        say,
      );
      const isForActors =
        !one.wasApproved &&
        (one.job.mode === "manual" ||
          (policy.holdAbove !== undefined && units > limit(policy.holdAbove)));
      must(!isForActors, "a withdrawal for an operator is approved by an operator", say);
    }
    if (!one.wasApproved) this.#actors.approved(one, record, say);
    must(
      !this.#contested.has(record.transactionId),
      "a contested withdrawal waits for the chain",
      say,
    );
    must(units <= limit(policy.maxPerWithdrawal), "no payment is above its limit", say);
    one.decision = "approved";
    one.units = units;
    one.address = record.address;
    one.approvedAt = record.at;
    if (!one.isKept) this.#limits.within("approved", one.job.currency, record.at, say);
  }

  /** A sweep goes to the hot wallet, a top-up to the deposit address that its job names. */
  #staysOwn({ job }: Withdrawal, address: string, say: () => string): void {
    const own = job.mode === "sweep" ? hotWallet : job.depositAddress;
    must(address === own, "a sweep and a top-up stay in the wallet", say);
    const derived = families[stage.family].depositAddress(stage.depositsId, job.depositIndex ?? 0);
    must(job.depositAddress === derived, "only addresses of the wallet are swept", say);
  }

  #intends(
    one: Withdrawal,
    record: Extract<LedgerRecord, { kind: "INTENT" }>,
    say: () => string,
  ): void {
    const nonce = BigInt(record.slot);
    const isNothing = isCancel(record);
    must(!isNothing || one.nonce === nonce, "a cancel is on the slot that the withdrawal has", say);
    must(isNothing || !isCancelling(one), "no paying attempt gets a slot after a cancel", say);
    must(isNothing || one.decision === "approved", "an intent follows an approval", say);
    const slotKey = `${record.account} ${record.slot}`;
    const isOne =
      !this.#terms.isGatewayHonest ||
      (this.#ownerOf.get(slotKey) ?? record.transactionId) === record.transactionId;
    must(isOne, "a slot has one withdrawal", say);
    must(one.account === "" || one.account === record.account, "a withdrawal has one account", say);
    must((one.nonce ?? nonce) === nonce, "a withdrawal has one slot", say);
    must(record.attempt === one.attempts.length + 1, "attempts count up", say);
    must(
      isNothing || BigInt(record.amountUnits) === one.units,
      "an intent is for the approved payment",
      say,
    );
    if (this.#waits !== null) this.#waits.intends(one, record, say);
    else
      priced(
        record,
        {
          at: one.feeAt,
          tipWei: one.tipWei,
          isOperators: one.replacedManuallyAt === record.seq - 1,
        },
        say,
      );
    one.tipWei = BigInt(record.txParams.maxPriorityFeePerGas ?? "0");
    if (one.nonce === null) {
      must(
        this.#next.get(record.account) === nonce,
        "nonces are given out in order and without gaps",
        say,
      );
      this.#next.set(record.account, nonce + 1n);
      one.assignedAt = record.at;
    }
    this.#begun.add(record.account);
    this.#ownerOf.set(slotKey, record.transactionId);
    one.account = record.account;
    one.nonce = nonce;
    one.attempts.push({
      digest: record.digest,
      signedSeq: 0,
      isReleased: false,
      isCancel: isNothing,
    });
    const feeWei = BigInt(record.feeMax);
    if (feeWei > one.feeWei) one.feeWei = feeWei;
    one.feeAt = record.at;
    if (isInternalMode(one.job.mode)) this.#staysOwn(one, record.address, say);
    if (!one.isKept) this.#limits.within("bound", limitGroupOf(one.job), record.at, say);
    this.#limits.feesWithin(feeWei, limitGroupOf(one.job), record.at, say);
  }
}
