/**
 * One withdrawal from request to final state: a pure state machine over ledger records. `step`
 * (machine.ts) is the machine; `apply` applies a record to a withdrawal. Touches nothing. A record
 * that does not fit is a bug, because every writer asks the machine first.
 */
import { invariant } from "../../../base/fault.ts";
import { expiryExclusionOf, familyOf, pinExclusionOf } from "../../../chains/families.ts";
import type { TxParams } from "../../../chains/family.ts";
import type { Job } from "../../../protocol/messages.ts";
import { isCancel, type LedgerRecord } from "../../ledger/records.ts";
import type { LedgerLine } from "../../socket/verbs.ts";
import type { AmountStanding } from "../policy/window.ts";
import { canonicalAddress } from "./content.ts";
import {
  endedStates,
  nextState,
  observedStep,
  type RecordedWithdrawalState,
  unpaidEnds,
  unsignedEnds,
  type WithdrawalTransition,
} from "./machine.ts";
import { outOfReachCode } from "./out-of-reach.ts";

/* Records as lines for an operator: `show` prints these about one withdrawal. Touches nothing. */

/** Returns one record in words, without bytes that mean nothing to an operator. */
function lineOf(record: LedgerRecord): LedgerLine {
  return { seq: record.seq, at: record.at, kind: record.kind, detail: detailOf(record) };
}

function detailOf(record: LedgerRecord): string {
  switch (record.kind) {
    case "REQUESTED":
      return `job ${record.sequence}`;
    case "REPEATED":
      return record.code === ""
        ? `job ${record.sequence} again`
        : `job ${record.sequence}: ${record.code}`;
    case "APPROVED":
      return `${byWords(record)}: ${record.amountUnits} base units to ${record.address} on ${record.network}`;
    case "HELD":
      return record.code;
    case "CONFIRMED":
      return `the first yes of two, ${byWords(record)}, to ${record.address}`;
    case "REFUSED":
      return `${byWords(record)}: ${record.code}`;
    case "INTENT": {
      const family = familyOf(record.network);
      return (
        `attempt ${record.attempt}${isCancel(record) ? ", a cancel" : ""}, ${family.slots.say(record.slot)} of ${record.account}, ` +
        family.fees.say(record.txParams)
      );
    }
    case "MANUAL_REPLACEMENT":
      return `${record.isFirstYes === true ? "the first yes of two to " : ""}${record.act} ${byWords(record)}`;
    case "COIN_FREED":
      return `${record.coin} ${byWords(record)}`;
    case "UNSEEN":
      return record.chainMs === 0
        ? "the courier's nodes show its coin again"
        : `the courier's nodes have not shown its coin for ${Math.floor(record.watchedMs / 3_600_000)} hours of chain time`;
    case "SIGNED":
      return `attempt ${record.attempt}, ${record.txHash}`;
    case "RELEASED":
      return `the gateway holds the ledger up to ${record.acked.seq}`;
    case "OBSERVED": {
      if (record.stage === "void")
        return `void: no block up to ${record.block} has ${record.txHash}, and none takes it any more`;
      const where = record.block === 0 ? "" : ` in block ${record.block}`;
      return `${record.outcome === "" ? record.stage : `final, ${record.outcome}`}${where}${record.txHash === "" ? "" : ` ${record.txHash}`}`;
    }
    default:
      return "";
  }
}

/** Names an operator as the request did. Node cannot ask a socket who is at its other end. */
function byWords(said: { readonly by?: string; readonly approver: string }): string {
  return said.approver === ""
    ? `by ${said.by}`
    : `by ${said.approver} (claimed: the socket does not prove names)`;
}

/* Types of a withdrawal's parts: its attempts and the first yes of two. */

/**
 * One attempt; all attempts of a withdrawal have the same slot. Numbers are decimal strings, bytes
 * 0x hex.
 */
export interface Attempt {
  readonly attempt: number;
  readonly intentSeq: number;
  readonly digest: string;
  readonly unsigned: string;
  readonly txParams: TxParams | null; // null for one that the gateway reported
  readonly pin?: string; // as `SignedEntry.pin`
  readonly feeMax: string; // the highest cost, in units of the fee coin
  readonly txHash: string; // "" until signed
  readonly raw: string; // "" until signed
  readonly signedAt: number;
  readonly released: boolean;
  readonly isCancel: boolean; // pays nothing, to the account itself
  readonly validUntilMs?: number; // end of validity in chain time, milliseconds, with exclusion by expiry
  readonly voidBy?: VoidSide; // the sides that have stated it
}

/** The sides that have stated that an attempt is void. */
export type VoidSide = "gateway" | "courier" | "both";

/** The first yes of two. */
export interface FirstConfirmation {
  readonly approver: string;
  readonly digest: string; // digest of the operator's view
  readonly address: string; // EIP-55
  readonly at: number;
}

/**
 * True if nothing will ever happen to this withdrawal again, because of an unsigned end or an end
 * confirmed by the gateway.
 */
export function isOver({ state, isEnded }: Pick<Withdrawal, "state" | "isEnded">): boolean {
  return unsignedEnds.has(state) || (isEnded && endedStates.has(state));
}

/**
 * Marks the time of a withdrawal that is in a recovered ledger but not in the old one, until the
 * time of the RECOVERED record replaces the mark. A job's `issuedAt` is the gateway's statement,
 * and would end a delay for new destinations before an operator here could see the withdrawal.
 */
export const unreceivedTimeMark = 0;

/** True if an operator has cancelled the withdrawal: its slot gets no paying attempt any more. */
export function isCancelling({
  attempts,
  ordered,
}: Pick<Withdrawal, "attempts" | "ordered">): boolean {
  return ordered?.act === "cancel" || attempts.some((attempt) => attempt.isCancel);
}

/**
 * True if an operator ended the withdrawal because no block takes it. The slot stays its own.
 */
export function isEndedByOperator({ ordered }: Pick<Withdrawal, "ordered">): boolean {
  return ordered?.act === "end";
}

/**
 * True with exclusion by expiry if each signed attempt is void by the statements of both gateway
 * and courier: no signed bytes can pay any more.
 */
export function isVoid({ job, attempts }: Pick<Withdrawal, "job" | "attempts">): boolean {
  return (
    expiryExclusionOf(job.network) !== null &&
    attempts.every(({ txHash, voidBy }) => txHash === "" || voidBy === "both")
  );
}

/**
 * True with exclusion by expiry if a signed attempt is not void, or no longer: an intent without a
 * signature is not signed then.
 */
export function hasNonVoidExpiringAttempt(
  withdrawal: Pick<Withdrawal, "job" | "attempts">,
): boolean {
  return expiryExclusionOf(withdrawal.job.network) !== null && !isVoid(withdrawal);
}

/**
 * The coin that all attempts spend, as `PinExclusion.coins` names it; "" if none is known, or if a
 * recovery offer names another than the ledger.
 */
export function pinOf({ attempts }: Pick<Withdrawal, "attempts">): string {
  const pins = new Set(attempts.map(({ pin = "" }) => pin));
  const [pin = ""] = pins;
  return pins.size === 1 ? pin : "";
}

/**
 * True if an attempt is past its own end and the family's margin, by ledger time: earlier
 * statements that it is void are not accepted. False on a chain with nonces.
 */
export function isPastEnd(
  network: string,
  { validUntilMs }: Pick<Attempt, "validUntilMs">,
  nowMs: number,
): boolean {
  const expiryExclusion = expiryExclusionOf(network);
  return (
    expiryExclusion !== null &&
    validUntilMs !== undefined &&
    nowMs > validUntilMs + expiryExclusion.marginMs
  );
}

/**
 * Returns how an attempt's amount counts against the limits, with exclusion by expiry. An attempt
 * can still be paid until it is void by both statements and past its end by ledger time.
 */
export function amountStandingOf(
  withdrawal: Withdrawal,
  attempt: Attempt,
  nowMs: number,
): AmountStanding {
  if (attempt.voidBy === "both" && isPastEnd(withdrawal.job.network, attempt, nowMs)) return "back";
  return isOver(withdrawal) ? "spent" : "payable";
}

/** True if a withdrawal with a slot may end unpaid, with an EXPIRED record. */
export function endsUnpaid(withdrawal: Pick<Withdrawal, "state" | "job" | "attempts">): boolean {
  return unpaidEnds.has(withdrawal.state) && isVoid(withdrawal);
}

/**
 * True if no block is known to have the released withdrawal: none was reported, or an end that the
 * courier alone states. Such a report may be a lie, and is no reason that nobody can end it.
 */
export function isInNoBlock(withdrawal: Pick<Withdrawal, "state" | "isEnded">): boolean {
  const { state } = withdrawal;
  return unpaidEnds.has(state) || (endedStates.has(state) && !isOver(withdrawal));
}

/** A withdrawal as the ledger records it. Only `apply` and its siblings change it. */
export interface Withdrawal {
  readonly transactionId: string;
  readonly job: Job;
  readonly jobText: string; // exact, with the gateway's signature
  readonly jobSignature: string;
  readonly isKept: boolean; // it was open with a slot when the ledger was recovered
  readonly rival?: string; // the withdrawal that the gateway has on its slot instead
  requestedAt: number; // ledger time; `unreceivedTimeMark` only in the state of a RECOVERED record
  state: RecordedWithdrawalState;
  code: string; // why held, refused or expired
  address: string; // destination in force
  amountUnits: string; // "" until approved
  contract: string; // the approval's
  confirmed: FirstConfirmation | null; // while it waits for the second yes
  changedAt: number;
  revision: number; // seq of the record with the last decision; part of what an approval names
  account: string;
  slot: string; // "" before INTENT
  attempts: Attempt[];
  observed: { readonly stage: string; readonly txHash: string; readonly block: number } | null;
  observations: number;
  wasQuarantined?: true; // before the courier reported an end
  // since when (ledger time) the courier's nodes have not shown its pin, and the chain time in
  // which they were asked, up to a final block's time
  unseen?: { readonly since: number; readonly watchedMs: number; readonly chainMs: number };
  firstEnd?: string; // the first of two operators who end it
  // an operator's order: with exclusion by expiry, another attempt after so many, or no more; or
  // the end of a withdrawal that no block takes
  ordered?: { readonly act: "replace" | "cancel" | "end"; readonly attempts: number };
  isEnded: boolean; // by the gateway's signed statement
  endSeq: number; // the record of its end, 0 before
  isEndReceived: boolean; // the gateway holds that record
  freedCoins?: readonly string[]; // by operators, since it closed; as in COIN_FREED
  history: LedgerLine[];
}

/** Returns a new withdrawal. */
export function newWithdrawal(
  record: Extract<LedgerRecord, { kind: "REQUESTED" }>,
  job: Job,
): Withdrawal {
  return {
    transactionId: record.transactionId,
    job,
    jobText: record.job,
    jobSignature: record.signature,
    isKept: false,
    requestedAt: record.at,
    state: "requested",
    code: "",
    address: canonicalAddress(job.network, job.address),
    amountUnits: "",
    contract: "",
    confirmed: null,
    changedAt: record.at,
    revision: record.seq,
    account: "",
    slot: "",
    attempts: [],
    observed: null,
    observations: 0,
    isEnded: false,
    endSeq: 0,
    isEndReceived: false,
    history: [lineOf(record)],
  };
}

/** Applies one record about this withdrawal. */
export function applyRecord(withdrawal: Withdrawal, record: LedgerRecord): void {
  switch (record.kind) {
    case "APPROVED":
      if (withdrawal.state === "quarantined") resume(withdrawal, record.at);
      else move(withdrawal, "approved", record);
      withdrawal.code = "";
      withdrawal.address = record.address;
      withdrawal.amountUnits = record.amountUnits;
      withdrawal.contract = record.contract;
      withdrawal.confirmed = null;
      withdrawal.revision = record.seq;
      break;
    case "HELD":
      move(withdrawal, "held", record);
      withdrawal.code = record.code;
      withdrawal.confirmed = null;
      withdrawal.revision = record.seq;
      break;
    case "CONFIRMED":
      confirm(withdrawal, record);
      break;
    case "REFUSED":
      move(withdrawal, "refused", record);
      withdrawal.code = record.code;
      break;
    case "EXPIRED":
      if (isEndedByOperator(withdrawal) || endsUnpaid(withdrawal))
        Object.assign(withdrawal, { state: "expired", changedAt: record.at });
      else move(withdrawal, "expired", record);
      withdrawal.code = isEndedByOperator(withdrawal) ? outOfReachCode(withdrawal) : "JOB_EXPIRED";
      break;
    case "UNSEEN":
      watch(withdrawal, record);
      break;
    case "INTENT":
      bind(withdrawal, record);
      break;
    case "SIGNED":
      move(withdrawal, "signed", record);
      change(withdrawal, record.attempt, (old) => ({
        ...old,
        txHash: record.txHash,
        raw: record.raw,
        signedAt: record.at,
      }));
      break;
    case "OBSERVED":
      observe(withdrawal, record);
      break;
    case "MANUAL_REPLACEMENT":
      if (record.isFirstYes === true) withdrawal.firstEnd = record.approver;
      else if (record.act === "end" || expiryExclusionOf(withdrawal.job.network) !== null)
        withdrawal.ordered = { act: record.act, attempts: withdrawal.attempts.length };
      break;
    default:
      invariant(false, `no withdrawal is moved by ${record.kind}`);
  }
  withdrawal.history.push(lineOf(record));
}

/**
 * Applies the part of a RELEASED record about one attempt. Separate from `apply`, because such a
 * record names many withdrawals.
 */
export function applyRelease(
  withdrawal: Withdrawal,
  attempt: number,
  record: Extract<LedgerRecord, { kind: "RELEASED" }>,
): void {
  const signed = withdrawal.attempts[attempt - 1];
  invariant(
    signed !== undefined && signed.txHash !== "" && !signed.released,
    "what is released was signed, and once",
  );
  move(withdrawal, "released", record);
  change(withdrawal, attempt, (old) => ({ ...old, released: true }));
  withdrawal.history.push(lineOf(record));
}

/**
 * Applies the part of a VOID record about this withdrawal's attempts. Separate from `apply`,
 * because such a record names many withdrawals.
 */
export function applyVoid(
  withdrawal: Withdrawal,
  record: Extract<LedgerRecord, { kind: "VOID" }>,
): void {
  for (const { attempt, txHash } of withdrawal.attempts) {
    if (!record.txHashes.includes(txHash)) continue;
    sayVoid(withdrawal, attempt, "gateway");
    withdrawal.history.push({
      ...lineOf(record),
      detail: `the gateway says that attempt ${attempt} is void`,
    });
  }
  withdrawal.changedAt = record.at;
}

/** Returns the closed withdrawal without its claim on the coin of the record. */
export function withFreedCoin(
  withdrawal: Withdrawal,
  record: Extract<LedgerRecord, { kind: "COIN_FREED" }>,
): Withdrawal {
  const { freedCoins = [], history } = withdrawal;
  return {
    ...withdrawal,
    freedCoins: [...freedCoins, record.coin],
    history: [...history, lineOf(record)],
  };
}

function watch(
  withdrawal: Withdrawal,
  { watchedMs, chainMs, at }: Extract<LedgerRecord, { kind: "UNSEEN" }>,
): void {
  withdrawal.observations += 1;
  if (chainMs === 0) delete withdrawal.unseen;
  else withdrawal.unseen = { since: withdrawal.unseen?.since ?? at, watchedMs, chainMs };
}

function observe(
  withdrawal: Withdrawal,
  record: Extract<LedgerRecord, { kind: "OBSERVED" }>,
): void {
  const { stage, outcome, txHash, block } = record;
  withdrawal.observations += 1;
  if (stage === "void") {
    const found = withdrawal.attempts.find((attempt) => attempt.txHash === txHash);
    invariant(found !== undefined, "what is called void is one of the attempts");
    sayVoid(withdrawal, found.attempt, "courier");
    withdrawal.changedAt = record.at;
    return;
  }
  if (stage === "final" && withdrawal.state === "quarantined") withdrawal.wasQuarantined = true;
  move(withdrawal, observedStep(stage, outcome), record);
  withdrawal.observed = { stage, txHash, block };
  if (stage !== "broadcast") disprove(withdrawal, txHash);
}

/**
 * Withdraws the courier's statement that an attempt is void, because it now reports the attempt in
 * a block.
 */
function disprove({ attempts }: Withdrawal, txHash: string): void {
  for (const [at, one] of attempts.entries()) {
    if (one.txHash !== txHash || one.voidBy === undefined || one.voidBy === "gateway") continue;
    const { voidBy, ...rest } = one;
    attempts[at] = voidBy === "both" ? { ...rest, voidBy: "gateway" } : rest;
  }
}

function sayVoid(withdrawal: Withdrawal, attempt: number, by: "gateway" | "courier"): void {
  change(withdrawal, attempt, (old) => ({
    ...old,
    voidBy: old.voidBy === undefined || old.voidBy === by ? by : "both",
  }));
  refute(withdrawal);
}

/**
 * Reopens a withdrawal whose reported end was of an attempt that is void by both statements: the
 * report was a lie. It gets another attempt or ends unpaid. If it was held for an operator before,
 * it is held again.
 */
function refute(withdrawal: Withdrawal): void {
  const { observed, attempts, isEnded, state } = withdrawal;
  if (isEnded || observed?.stage !== "final" || !endedStates.has(state)) return;
  if (!attempts.some(({ txHash, voidBy }) => txHash === observed.txHash && voidBy === "both"))
    return;
  withdrawal.state = withdrawal.wasQuarantined === true ? "quarantined" : "released";
  delete withdrawal.wasQuarantined;
  withdrawal.observed = null;
  withdrawal.endSeq = 0;
  withdrawal.isEndReceived = false;
}

/**
 * True if the withdrawal is quarantined, or was when the courier reported an end that the gateway
 * has not confirmed: such a report is no approval.
 */
export function isQuarantined({
  state,
  wasQuarantined,
}: Pick<Withdrawal, "state" | "wasQuarantined">): boolean {
  return state === "quarantined" || wasQuarantined === true;
}

/** True if policy has not judged the withdrawal yet, because a recovered ledger keeps it. */
export function isUnjudged({ state, code }: Withdrawal): boolean {
  return state === "quarantined" && code === "";
}

/** The code of a withdrawal that both sides may have forgotten to have paid. */
export const recoveryHoldCode = "RECOVERY_HOLD";

/** True if a recovery holds the withdrawal: only an operator ends that, never time. */
export function isHeldByRecovery({ state, code }: Withdrawal): boolean {
  return state === "held" && code === recoveryHoldCode;
}

/**
 * Records the first yes. The revision stays, so that the second yes is to the same view. A
 * withdrawal that a recovery holds keeps that code.
 */
function confirm(
  withdrawal: Withdrawal,
  { approver, digest, address, at }: Extract<LedgerRecord, { kind: "CONFIRMED" }>,
): void {
  const { state } = withdrawal;
  invariant(
    state === "held" || state === "quarantined",
    "a first yes is to what waits for an operator",
  );
  withdrawal.confirmed = { approver, digest, address, at };
  withdrawal.changedAt = at;
  if (state === "held" && !isHeldByRecovery(withdrawal)) withdrawal.code = "POLICY_CONFIRMED";
}

/**
 * Resumes a quarantined withdrawal after a yes, on its slot and from as far as its attempts had
 * come.
 */
function resume(withdrawal: Withdrawal, at: number): void {
  const { attempts } = withdrawal;
  const isOut = attempts.some((attempt) => attempt.released);
  const isSigned = attempts.some((attempt) => attempt.txHash !== "");
  withdrawal.state = isOut ? "released" : isSigned ? "signed" : "intent";
  // Earlier observations must be reported again to move the withdrawal on from here.
  withdrawal.observed = null;
  withdrawal.changedAt = at;
}

function move(withdrawal: Withdrawal, by: WithdrawalTransition, record: LedgerRecord): void {
  const next = nextState(withdrawal.state, by);
  invariant(
    next !== null,
    `${withdrawal.transactionId} must not go from ${withdrawal.state} by ${by}`,
  );
  withdrawal.state = next;
  withdrawal.changedAt = record.at;
}

function bind(withdrawal: Withdrawal, record: Extract<LedgerRecord, { kind: "INTENT" }>): void {
  invariant(record.attempt === withdrawal.attempts.length + 1, "attempts count up without gaps");
  const isAssigned = withdrawal.slot !== "";
  invariant(
    !isAssigned || (withdrawal.slot === record.slot && withdrawal.account === record.account),
    "one slot for life",
  );
  const isNothing = isCancel(record);
  invariant(isNothing || !isCancelling(withdrawal), "no attempt pays after a cancel");
  invariant(
    isNothing || record.address === withdrawal.address,
    "every other attempt pays the approved destination",
  );
  invariant(
    isNothing || record.amountUnits === withdrawal.amountUnits,
    "every other attempt pays the approved amount",
  );
  const expiryExclusion = expiryExclusionOf(record.network);
  invariant(
    expiryExclusion === null || isVoid(withdrawal),
    "attempts that wait come one after another",
  );
  const pin = pinExclusionOf(record.network)?.coins(record.txParams)[0];
  invariant(pin === undefined || [pin, ""].includes(pinOf(withdrawal)), "one pin for life");
  move(withdrawal, "intent", record);
  withdrawal.account = record.account;
  withdrawal.slot = record.slot;
  if (withdrawal.ordered?.act === "replace") delete withdrawal.ordered;
  const { attempt, digest, unsigned, txParams, feeMax } = record;
  withdrawal.attempts.push({
    attempt,
    intentSeq: record.seq,
    digest,
    unsigned,
    txParams,
    feeMax,
    txHash: "",
    raw: "",
    signedAt: 0,
    released: false,
    isCancel: isNothing,
    ...(expiryExclusion === null ? {} : { validUntilMs: expiryExclusion.validUntilMs(txParams) }),
    ...(pin === undefined ? {} : { pin }),
  });
}

function change(withdrawal: Withdrawal, attempt: number, to: (old: Attempt) => Attempt): void {
  const old = withdrawal.attempts[attempt - 1];
  invariant(
    old !== undefined && old.attempt === attempt,
    "an attempt is signed and released after its intent",
  );
  withdrawal.attempts[attempt - 1] = to(old);
}
