/**
 * Policy approves, holds or refuses a job, and later clears or refuses the transaction built for
 * it. Nothing is payable by default. Sums come from the ledger and use ledger time, so no clock,
 * crash or repeat loosens a limit. Pure: state and question in, answer out. Sources:
 * docs/architecture.md sections 2 and 3.
 */
import type { Code } from "../../../base/codes.ts";
import { type Refusal, refuse } from "../../../base/fault.ts";
import { expiryExclusionOf, familyOf } from "../../../chains/families.ts";
import type { Description } from "../../../chains/family.ts";
import { limitGroupOf } from "../../../protocol/job-mode.ts";
import type { Job } from "../../../protocol/messages.ts";
import { type ArchiveLookup, emptyArchive } from "../../ledger/archive.ts";
import type { LedgerRecord, RecordBody } from "../../ledger/records.ts";
import { type Approval, makeApproval } from "./approval.ts";
import {
  type BuiltCancel,
  type BuiltTransaction,
  type ComparisonResult,
  compareBytes,
  compareCancel,
} from "./comparison.ts";
import { PaidDestinations, type PaidEntries } from "./destinations.ts";
import { holdReason, isAbove } from "./holds.ts";
import {
  assetOf,
  destinationOf,
  hasOtherDestination,
  type JudgedJobFields,
  parseOutsideAddress,
  readAmountTerms,
  type Sender,
  senderOf,
} from "./job-terms.ts";
import type { Asset, Limits, Rules } from "./rules.ts";
import {
  type ExceededLimitCode,
  feeKeyOfAttempt,
  findExceededLimit,
  isAboveLimit,
  LimitSums,
  type SumsEntries,
} from "./sums.ts";

/*
 * Compares an attempt's fee offer with the merchant's ceilings and the chain's floor. Touches
 * nothing.
 */

/**
 * Refuses with POLICY_FEE_BELOW_FLOOR: an attempt with a lower fee would fail on chain, or never be
 * included.
 */
function belowFloor(description: Description): Refusal | null {
  const why = familyOf(description.network).fees.tooLittle(description);
  return why === null ? null : refuse("POLICY_FEE_BELOW_FLOOR", why);
}

/**
 * Refuses with POLICY_FEE_UNBOUNDED if the chain charges something that no field of the attempt
 * bounds, and with POLICY_NONE without an asset.
 */
function refuseUnbounded(
  asset: Asset | undefined,
  { network, txParams }: Description,
): Refusal | null {
  if (asset === undefined) return refuse("POLICY_NONE");
  const why = familyOf(network).fees.unbounded(asset.chainSettings, txParams);
  return why === null ? null : refuse("POLICY_FEE_UNBOUNDED", why);
}

/**
 * Refuses with POLICY_TIP_ABOVE_MAX, unless so much is allowed above the ceiling
 * (`BuiltTransaction`).
 */
function aboveTip(
  { maxTipUnits }: Limits,
  { network, txParams }: Description,
  tipAllowedUnits = 0n,
): Refusal | null {
  const tip = familyOf(network).fees.tipOf(txParams);
  return tip > maxTipUnits && tip > tipAllowedUnits
    ? refuse("POLICY_TIP_ABOVE_MAX", `${tip} units`)
    : null;
}

type ApprovedBody = Extract<RecordBody, { kind: "APPROVED" }>;

/** The answer to a question, as the record that follows. */
export type Decision =
  | { readonly decision: "approve"; readonly body: ApprovedBody }
  | { readonly decision: "hold"; readonly code: Code }
  | { readonly decision: "refuse"; readonly code: Code };

/** An operator's yes, and its result. */
type HeldYes = Pick<ApprovedBody, "address" | "approver">;
type HeldDecision =
  | { readonly ok: true; readonly body: ApprovedBody; readonly needsTwo: boolean }
  | Refusal;

/** Policy's part of the state, for a checkpoint. */
export interface PolicySnapshot {
  readonly approvals: readonly (readonly [
    string,
    number,
    string,
    string,
    string,
    string,
    string,
    string,
    string?,
  ])[];
  readonly windows: SumsEntries;
  readonly paid: PaidEntries;
}

/**
 * The rules of this run, and every approval, sum and paid destination that the ledger records. Only
 * the state's `apply` changes it (state/core.ts), record by record.
 */
export class Policy {
  readonly rules: Rules;
  readonly sums: LimitSums;
  readonly paid: PaidDestinations;
  readonly #approvals = new Map<string, Approval>();

  constructor(rules: Rules, past: ArchiveLookup = emptyArchive, snapshot?: PolicySnapshot) {
    this.rules = rules;
    this.sums = new LimitSums(snapshot?.windows);
    this.paid = new PaidDestinations(past, snapshot?.paid);
    for (const [
      transactionId,
      seq,
      currency,
      chain,
      network,
      contract,
      address,
      units,
      tag = "",
    ] of snapshot?.approvals ?? []) {
      const fields = {
        transactionId,
        seq,
        currency,
        chain,
        network,
        contract,
        address,
        tag,
        amountUnits: BigInt(units),
      };
      this.#approvals.set(transactionId, makeApproval(fields));
    }
  }

  /** Returns the row of a currency, or of the limit group of its sweeps or top-ups. */
  asset(limitGroup: string): Asset | undefined {
    return assetOf(this.rules, limitGroup);
  }

  /** Returns the account that pays for a job; null for a sweep from outside the wallet. */
  sender(job: Pick<Job, "mode" | "network" | "depositIndex">): Sender | null {
    return senderOf(this.rules, job);
  }

  /** Every recorded yes to a withdrawal that is not finished, in ledger order. */
  approvals(): IterableIterator<Approval> {
    return this.#approvals.values();
  }

  /** Returns the recorded yes to a withdrawal that is not finished. */
  approval(transactionId: string): Approval | undefined {
    return this.#approvals.get(transactionId);
  }

  /** Applies one record of the ledger; `currency` is the limit group of the record's withdrawal. */
  apply(record: LedgerRecord, currency: string): void {
    this.sums.apply(record, currency);
    if (record.kind === "REFUSED" || record.kind === "EXPIRED")
      this.#approvals.delete(record.transactionId);
    if (record.kind !== "APPROVED") return;
    const approved = {
      ...record,
      currency,
      tag: record.tag ?? "",
      amountUnits: BigInt(record.amountUnits),
    };
    this.#approvals.set(record.transactionId, makeApproval(approved));
  }

  /** Voids the yes to a withdrawal that is over; the amount may have been paid, and counts on. */
  voidApproval(transactionId: string): void {
    this.#approvals.delete(transactionId);
  }

  /**
   * Judges a new job, a job whose delay is over, or a job that a recovered ledger keeps on its slot
   * (`isAssigned`). The last kind does not expire, and its amount counts already. Both times are
   * ledger time.
   */
  judge(
    question: JudgedJobFields,
    requestedAt: number,
    nowMs: number,
    isAssigned = false,
  ): Decision {
    const asked = readAmountTerms(this.rules, question);
    if (!asked.ok) return { decision: "refuse", code: asked.code };
    const { limitGroup, asset, limits, units } = asked;
    if (!isAssigned && nowMs > question.expiresAt)
      return { decision: "refuse", code: "JOB_EXPIRED" };
    let address = "";
    if (question.address !== "" || question.mode !== "manual") {
      const destination = destinationOf(this.rules, question, question.address, limits);
      if (!destination.ok) return { decision: "refuse", code: destination.code };
      address = destination.address;
    }
    if (units > limits.maxPerWithdrawalUnits)
      return { decision: "refuse", code: "POLICY_ABOVE_WITHDRAWAL" };
    const code = holdReason({ ...question, limits, units, address, requestedAt, nowMs }, this.paid);
    if (code !== null) return { decision: "hold", code };
    const above = findExceededLimit(
      this.sums.of(limitGroup),
      limits,
      { key: question.transactionId, units },
      nowMs,
    );
    if (above !== null) return { decision: "refuse", code: above };
    return { decision: "approve", body: approvedBody(question, "", asset, address, units) };
  }

  /**
   * Judges an operator's yes to a held withdrawal: every limit applies except the one that held it.
   * A withdrawal on its slot in a recovered ledger does not expire, and the amount is not counted
   * twice. `needsTwo`: the amount also needs the yes of a second operator.
   */
  judgeHeld(
    question: JudgedJobFields,
    { address, approver }: HeldYes,
    nowMs: number,
    isAssigned = false,
  ): HeldDecision {
    const asked = readAmountTerms(this.rules, question);
    if (!asked.ok) return asked;
    const { limitGroup, asset, limits, units } = asked;
    if (!isAssigned && nowMs > question.expiresAt) return refuse("JOB_EXPIRED");
    const destination = destinationOf(this.rules, question, address, limits);
    if (!destination.ok) return destination;
    if (hasOtherDestination(this.rules, question, destination.address))
      return refuse("POLICY_NOT_AS_APPROVED", "the job names another address");
    if (units > limits.maxPerWithdrawalUnits) return refuse("POLICY_ABOVE_WITHDRAWAL");
    const above = findExceededLimit(
      this.sums.of(limitGroup),
      limits,
      { key: question.transactionId, units },
      nowMs,
    );
    if (above !== null) return refuse(above);
    const body = approvedBody(question, approver, asset, destination.address, units);
    return { ok: true, body, needsTwo: isAbove(units, limits.twoApproversAboveUnits) };
  }

  /** Returns when the delay for new destinations ends (ledger time); `requestedAt` without one. */
  delayEndsAt(currency: string, requestedAt: number): number {
    return requestedAt + (this.rules.limits.get(currency)?.newDestination?.delayMs ?? 0);
  }

  /**
   * Clears the bytes of a new attempt: compares them with the approval, the fee with its ceilings
   * and, before a slot is used, the approval with today's rules. Refuses with
   * POLICY_NOT_AS_APPROVED, POLICY_FEE_*, POLICY_TIP_ABOVE_MAX, POLICY_NONE, a code of `describe`,
   * as `judge` does, or with WITHDRAWAL_WAITS_FOR_LIMIT.
   */
  clear(built: BuiltTransaction, nowMs: number): ComparisonResult | Refusal {
    const { currency, transactionId, network, contract } = built.approval;
    const asset = this.asset(currency);
    const limits = this.rules.limits.get(currency);
    if (asset === undefined || limits === undefined) return refuse("POLICY_NONE", currency);
    // The table may have been edited since; a yes is to the network and contract of its time.
    if (asset.network !== network || asset.contract !== contract)
      return refuse("POLICY_NOT_AS_APPROVED", "the currency's table changed");
    const outdated = built.attempt === 1 ? this.#outdated(built.approval, limits, nowMs) : null;
    if (outdated !== null) return outdated;
    const above =
      built.attempt === 1 ? null : this.withoutRoom(built.approval, built.attempt, nowMs);
    if (above !== null) return refuse("WITHDRAWAL_WAITS_FOR_LIMIT", above);
    // A recovered ledger was told of attempts that nobody may have made, so what it signs first
    // counts from now on.
    const late =
      built.isFirstHere === true
        ? this.#aboveAssigned(built.approval, built.attempt, limits, nowMs)
        : null;
    if (late !== null) return refuse("WITHDRAWAL_WAITS_FOR_LIMIT", late);
    const compared = compareBytes(built);
    if (!compared.ok) return compared;
    const { description } = compared;
    return (
      belowFloor(description) ??
      refuseUnbounded(asset, description) ??
      aboveTip(limits, description, built.tipAllowedUnits) ??
      this.#aboveFees(
        feeKeyOfAttempt(network, transactionId, built.attempt),
        currency,
        limits,
        description.feeMaxUnits,
        nowMs,
      ) ??
      compared
    );
  }

  /**
   * Returns the limit that a later attempt would exceed, or null. Only with exclusion by expiry is
   * a later attempt a payment of its own.
   */
  withoutRoom(approval: Approval, attempt: number, nowMs: number): ExceededLimitCode {
    const limits = this.rules.limits.get(approval.currency);
    if (limits === undefined || expiryExclusionOf(approval.network) === null) return null;
    return this.#aboveAssigned(approval, attempt, limits, nowMs);
  }

  /** Returns the limit that an attempt would exceed if it counted as assigned, or null. */
  #aboveAssigned(
    approval: Approval,
    attempt: number,
    limits: Limits,
    nowMs: number,
  ): ExceededLimitCode {
    const { hourAssigned: hour, dayAssigned: day } = this.sums.of(approval.currency);
    const key = feeKeyOfAttempt(approval.network, approval.transactionId, attempt);
    return findExceededLimit({ hour, day }, limits, { key, units: approval.amountUnits }, nowMs);
  }

  /**
   * Clears a cancel: its bytes make a zero payment to the account itself, on the withdrawal's slot,
   * within the ceilings of fee and tip. Refuses with POLICY_NONE, POLICY_NOT_AS_APPROVED,
   * POLICY_TIP_ABOVE_MAX, POLICY_FEE_* or a code of `describeCancel`.
   */
  clearCancel(built: BuiltCancel, nowMs: number): ComparisonResult | Refusal {
    const { currency, transactionId } = built;
    const limits = this.rules.limits.get(currency);
    if (limits === undefined) return refuse("POLICY_NONE", currency);
    const compared = compareCancel(built);
    if (!compared.ok) return compared;
    const { description } = compared;
    return (
      refuseUnbounded(this.asset(currency), description) ??
      aboveTip(limits, description, built.tipAllowedUnits) ??
      this.#aboveFees(transactionId, currency, limits, description.feeMaxUnits, nowMs) ??
      compared
    );
  }

  /** Returns why a recorded approval does not match the job under today's table, or null. */
  unlike(
    { network, contract, address, tag, amountUnits }: Approval,
    job: JudgedJobFields,
  ): Refusal | null {
    const asked = readAmountTerms(this.rules, job);
    if (!asked.ok) return asked;
    const { asset, units } = asked;
    const isSame =
      asset.network === network &&
      asset.contract === contract &&
      job.tag === tag &&
      units === amountUnits;
    if (isSame && !hasOtherDestination(this.rules, job, address)) return null;
    return refuse("POLICY_NOT_AS_APPROVED", "the job asks for something else");
  }

  /** True if only an operator can order another attempt once the earlier ones are void. */
  isOperatorsToReplace({ currency, amountUnits }: Approval): boolean {
    return isAbove(amountUnits, this.rules.limits.get(currency)?.manualReplaceAboveUnits ?? null);
  }

  /** True if ending the payment unpaid needs two operators, as its approval by operators would. */
  needsTwoToEnd(limitGroup: string, units: bigint): boolean {
    return isAbove(units, this.rules.limits.get(limitGroup)?.twoApproversAboveUnits ?? null);
  }

  /** Returns the highest tip of an attempt; 0 if the limit group has no limits. */
  tipMaxUnits(currency: string): bigint {
    return this.rules.limits.get(currency)?.maxTipUnits ?? 0n;
  }

  /**
   * Clears bytes whose INTENT is in the ledger already, after a restart. Compares the bytes with
   * the approval, and the approval with the job, the lists and the limit of one payment. Sums are
   * not checked again, because the attempt counts since its INTENT.
   */
  clearRecorded(
    built: BuiltTransaction | BuiltCancel,
    digest: string,
    job: JudgedJobFields,
  ): ComparisonResult | Refusal {
    const compared = "approval" in built ? compareBytes(built) : compareCancel(built);
    if (!compared.ok) return compared;
    if (compared.clearance.digest !== digest)
      return refuse("POLICY_NOT_AS_APPROVED", "the digest is of other bytes");
    const limits = this.rules.limits.get(limitGroupOf(job));
    if (limits === undefined) return refuse("POLICY_NONE", limitGroupOf(job));
    if ("approval" in built) {
      const forbidden = this.unlike(built.approval, job) ?? this.#forbidden(built.approval, limits);
      if (forbidden !== null) return forbidden;
    }
    const { feeMaxUnits } = compared.description;
    return feeMaxUnits > limits.maxFeeUnits
      ? refuse("POLICY_FEE_ABOVE_WITHDRAWAL", `${feeMaxUnits} units`)
      : compared;
  }

  /** Returns why the fee of an attempt is too high, or null. */
  #aboveFees(
    key: string,
    currency: string,
    limits: Limits,
    feeMaxUnits: bigint,
    nowMs: number,
  ): Refusal | null {
    if (feeMaxUnits > limits.maxFeeUnits)
      return refuse("POLICY_FEE_ABOVE_WITHDRAWAL", `${feeMaxUnits} units`);
    const { fees } = this.sums.of(currency);
    const isAboveDay = isAboveLimit(
      fees,
      limits.maxFeePerDayUnits,
      { key, units: feeMaxUnits },
      nowMs,
    );
    return isAboveDay ? refuse("POLICY_FEE_ABOVE_DAY", `${feeMaxUnits} units`) : null;
  }

  /**
   * Returns why an approval may not get a slot now, or null: the table may have been edited since,
   * or too much is assigned already.
   */
  #outdated(approval: Approval, limits: Limits, nowMs: number): Refusal | null {
    const forbidden = this.#forbidden(approval, limits);
    if (forbidden !== null) return forbidden;
    const above = this.#aboveAssigned(approval, 1, limits, nowMs);
    return above === null ? null : refuse(above);
  }

  /** Checks the lists and the limit of one payment. */
  #forbidden(
    { currency, network, address, amountUnits }: Approval,
    limits: Limits,
  ): Refusal | null {
    // Both ends of a sweep or a top-up are derived again from the job (`unlike`).
    const isOwn = !this.rules.assets.has(currency);
    const destination = isOwn ? null : parseOutsideAddress(this.rules, address, network, limits);
    if (destination?.ok === false) return destination;
    return amountUnits > limits.maxPerWithdrawalUnits ? refuse("POLICY_ABOVE_WITHDRAWAL") : null;
  }
}

/** `approver` is the operator's name, "" for policy itself. */
function approvedBody(
  of: JudgedJobFields,
  approver: string,
  asset: Asset,
  address: string,
  units: bigint,
): ApprovedBody {
  const { chain, network, contract } = asset;
  const by = approver === "" ? "policy" : "operator";
  const payee = {
    address,
    ...(of.tag === "" ? {} : { tag: of.tag }),
    amountUnits: units.toString(),
  };
  return {
    kind: "APPROVED",
    transactionId: of.transactionId,
    by,
    approver,
    chain,
    network,
    contract,
    ...payee,
  };
}
