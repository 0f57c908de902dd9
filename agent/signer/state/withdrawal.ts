/**
 * One withdrawal from request to final state: a pure state machine over ledger records. `step`
 * (machine.ts) is the machine; `apply` applies a record to a withdrawal. Touches nothing. A record
 * that does not fit is a bug, because every writer asks the machine first.
 */

import { invariant } from "../../../base/fault.ts";
import { waitingOf } from "../../../chains/families.ts";
import type { Job } from "../../../protocol/messages.ts";
import { isCancel, type LedgerRecord } from "../../ledger/records.ts";
import type { LedgerLine } from "../../socket/verbs.ts";
import type { Standing } from "../policy/window.ts";
import { canonicalAddress } from "./content.ts";
import { lineOf } from "./history.ts";
import { ended, observedStep, type State, type Step, step, unpaidEnds, unsignedEnds } from "./machine.ts";
import type { Confirmation, Version } from "./version.ts";

export type { Confirmation, Dead, Version } from "./version.ts";

/**
 * True if nothing will ever happen to this withdrawal again, because of an unsigned end or an end
 * confirmed by the gateway.
 */
export function isOver({ state, isEnded }: Pick<Withdrawal, "state" | "isEnded">): boolean {
  return unsignedEnds.has(state) || (isEnded && ended.has(state));
}

/**
 * Marks the time of a withdrawal that is in a recovered ledger but not in the old one, until the
 * time of the OPENED record replaces the mark. A job's `issuedAt` is the gateway's statement, and
 * would end a delay for new destinations before an operator here could see the withdrawal.
 */
export const unheard = 0;

/** True if an operator has cancelled the withdrawal: its slot gets no paying version any more. */
export function isCancelling({ versions, ordered }: Pick<Withdrawal, "versions" | "ordered">): boolean {
  return ordered?.act === "cancel" || versions.some((version) => version.isCancel);
}

/** The code of a sweep that the chain cannot reach, here and at the gateway. */
export const unreachableCode = "SWEEP_UNREACHABLE";

/**
 * True if an operator ended the sweep because the chain could not reach the slot. The sweep keeps
 * the slot.
 */
export function isEndedByPerson({ ordered }: Pick<Withdrawal, "ordered">): boolean {
  return ordered?.act === "end";
}

/**
 * True with exclusion by expiry if each signed version is dead by the statements of both gateway
 * and courier: no signed bytes can pay any more.
 */
export function isDead({ job, versions }: Pick<Withdrawal, "job" | "versions">): boolean {
  return waitingOf(job.network) !== null && versions.every(({ txHash, dead }) => txHash === "" || dead === "both");
}

/**
 * True with exclusion by expiry if a signed version is not dead, or no longer: an intent without a
 * signature is not signed then.
 */
export function isLate(withdrawal: Pick<Withdrawal, "job" | "versions">): boolean {
  return waitingOf(withdrawal.job.network) !== null && !isDead(withdrawal);
}

/**
 * True if a version is past its own end and the family's margin, by ledger time: earlier statements
 * of death are not accepted. False on a chain with nonces.
 */
export function isPastEnd(network: string, { until }: Pick<Version, "until">, nowMs: number): boolean {
  const waiting = waitingOf(network);
  return waiting !== null && until !== undefined && nowMs > until + waiting.marginMs;
}

/**
 * Returns how a version's amount counts against the limits, with exclusion by expiry. A version can
 * still be paid until it is dead by both statements and past its end by ledger time.
 */
export function standingOf(withdrawal: Withdrawal, version: Version, nowMs: number): Standing {
  if (version.dead === "both" && isPastEnd(withdrawal.job.network, version, nowMs)) return "back";
  return isOver(withdrawal) ? "spent" : "payable";
}

/** True if a withdrawal with a slot may end unpaid, with an EXPIRED record. */
export function endsUnpaid(withdrawal: Pick<Withdrawal, "state" | "job" | "versions">): boolean {
  return unpaidEnds.has(withdrawal.state) && isDead(withdrawal);
}

/** A withdrawal as the ledger records it. Only `apply` and its siblings change it. */
export interface Withdrawal {
  readonly transactionId: string;
  readonly job: Job;
  readonly jobText: string; // exact, with the gateway's signature
  readonly jobSignature: string;
  readonly isKept: boolean; // it was open with a slot when the ledger was recovered
  readonly rival?: string; // the withdrawal that the gateway has on its slot instead
  requestedAt: number; // ledger time; `unheard` only in the state of an OPENED record
  state: State;
  code: string; // why held, refused or expired
  address: string; // destination in force
  amountUnits: string; // "" until approved
  contract: string; // the approval's
  confirmed: Confirmation | null; // while it waits for the second yes
  changedAt: number;
  revision: number; // seq of the record with the last decision; part of what an approval names
  account: string;
  slot: string; // "" before INTENT
  versions: Version[];
  observed: { readonly stage: string; readonly txHash: string; readonly block: number } | null;
  observations: number;
  wasQuarantined?: true; // before the courier reported an end
  // an operator's order: with exclusion by expiry, another version after so many, or no more; or
  // the end of a sweep that the chain cannot reach
  ordered?: { readonly act: "replace" | "cancel" | "end"; readonly versions: number };
  isEnded: boolean; // by the gateway's signed statement
  endSeq: number; // the record of its end, 0 before
  isEndHeard: boolean; // the gateway holds that record
  history: LedgerLine[];
}

/** Returns a new withdrawal. */
export function begin(record: Extract<LedgerRecord, { kind: "REQUESTED" }>, job: Job): Withdrawal {
  return {
    transactionId: record.transactionId,
    job,
    jobText: record.job,
    jobSignature: record.signature,
    isKept: false,
    requestedAt: record.at,
    state: "requested",
    code: "",
    address: canonicalAddress(job.address),
    amountUnits: "",
    contract: "",
    confirmed: null,
    changedAt: record.at,
    revision: record.seq,
    account: "",
    slot: "",
    versions: [],
    observed: null,
    observations: 0,
    isEnded: false,
    endSeq: 0,
    isEndHeard: false,
    history: [lineOf(record)],
  };
}

/** Applies one record about this withdrawal. */
export function apply(withdrawal: Withdrawal, record: LedgerRecord): void {
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
      if (isEndedByPerson(withdrawal) || endsUnpaid(withdrawal))
        Object.assign(withdrawal, { state: "expired", changedAt: record.at });
      else move(withdrawal, "expired", record);
      withdrawal.code = isEndedByPerson(withdrawal) ? unreachableCode : "JOB_EXPIRED";
      break;
    case "INTENT":
      bind(withdrawal, record);
      break;
    case "SIGNED":
      move(withdrawal, "signed", record);
      change(withdrawal, record.version, (old) => ({ ...old, txHash: record.txHash, raw: record.raw, signedAt: record.at }));
      break;
    case "OBSERVED":
      observe(withdrawal, record);
      break;
    case "UNSTUCK":
      if (record.act === "end" || waitingOf(withdrawal.job.network) !== null)
        withdrawal.ordered = { act: record.act, versions: withdrawal.versions.length };
      break;
    default:
      invariant(false, `no withdrawal is moved by ${record.kind}`);
  }
  withdrawal.history.push(lineOf(record));
}

/**
 * Applies the part of a RELEASED record about one version. Separate from `apply`, because such a
 * record names many withdrawals.
 */
export function applyRelease(withdrawal: Withdrawal, version: number, record: Extract<LedgerRecord, { kind: "RELEASED" }>): void {
  const signed = withdrawal.versions[version - 1];
  invariant(signed !== undefined && signed.txHash !== "" && !signed.released, "what is released was signed, and once");
  move(withdrawal, "released", record);
  change(withdrawal, version, (old) => ({ ...old, released: true }));
  withdrawal.history.push(lineOf(record));
}

/**
 * Applies the part of a DEAD record about this withdrawal's versions. Separate from `apply`,
 * because such a record names many withdrawals.
 */
export function applyDead(withdrawal: Withdrawal, record: Extract<LedgerRecord, { kind: "DEAD" }>): void {
  for (const { version, txHash } of withdrawal.versions) {
    if (!record.txHashes.includes(txHash)) continue;
    sayDead(withdrawal, version, "gateway");
    withdrawal.history.push({ ...lineOf(record), detail: `the gateway says that version ${version} is dead` });
  }
  withdrawal.changedAt = record.at;
}

function observe(withdrawal: Withdrawal, record: Extract<LedgerRecord, { kind: "OBSERVED" }>): void {
  const { stage, outcome, txHash, block } = record;
  withdrawal.observations += 1;
  if (stage === "dead") {
    const found = withdrawal.versions.find((version) => version.txHash === txHash);
    invariant(found !== undefined, "what is called dead is one of the versions");
    sayDead(withdrawal, found.version, "courier");
    withdrawal.changedAt = record.at;
    return;
  }
  if (stage === "final" && withdrawal.state === "quarantined") withdrawal.wasQuarantined = true;
  move(withdrawal, observedStep(stage, outcome), record);
  withdrawal.observed = { stage, txHash, block };
  if (stage !== "broadcast") disprove(withdrawal, txHash);
}

/**
 * Withdraws the courier's statement that a version is dead, because it now reports the version in a
 * block.
 */
function disprove({ versions }: Withdrawal, txHash: string): void {
  for (const [at, one] of versions.entries()) {
    if (one.txHash !== txHash || one.dead === undefined || one.dead === "gateway") continue;
    const { dead, ...rest } = one;
    versions[at] = dead === "both" ? { ...rest, dead: "gateway" } : rest;
  }
}

function sayDead(withdrawal: Withdrawal, version: number, by: "gateway" | "courier"): void {
  change(withdrawal, version, (old) => ({ ...old, dead: old.dead === undefined || old.dead === by ? by : "both" }));
  refute(withdrawal);
}

/**
 * Reopens a withdrawal whose reported end was of a version that is dead by both statements: the
 * report was a lie. It gets another version or ends unpaid. If it was held for an operator before,
 * it is held again.
 */
function refute(withdrawal: Withdrawal): void {
  const { observed, versions, isEnded, state } = withdrawal;
  if (isEnded || observed?.stage !== "final" || !ended.has(state)) return;
  if (!versions.some(({ txHash, dead }) => txHash === observed.txHash && dead === "both")) return;
  withdrawal.state = withdrawal.wasQuarantined === true ? "quarantined" : "released";
  delete withdrawal.wasQuarantined;
  withdrawal.observed = null;
  withdrawal.endSeq = 0;
  withdrawal.isEndHeard = false;
}

/** True if policy has not judged the withdrawal yet, because a recovered ledger keeps it. */
export function isUnjudged({ state, code }: Withdrawal): boolean {
  return state === "quarantined" && code === "";
}

/** True if a recovery holds the withdrawal: only an operator ends that, never time. */
export function isHeldByRecovery({ state, code }: Withdrawal): boolean {
  return state === "held" && code === "RECOVERY_HOLD";
}

/**
 * Records the first yes. The revision stays, so that the second yes is to the same view. A
 * withdrawal that a recovery holds keeps that code.
 */
function confirm(withdrawal: Withdrawal, { approver, digest, address, at }: Extract<LedgerRecord, { kind: "CONFIRMED" }>): void {
  const { state } = withdrawal;
  invariant(state === "held" || state === "quarantined", "a first yes is to what waits for a person");
  withdrawal.confirmed = { approver, digest, address, at };
  withdrawal.changedAt = at;
  if (state === "held" && !isHeldByRecovery(withdrawal)) withdrawal.code = "POLICY_CONFIRMED";
}

/**
 * Resumes a quarantined withdrawal after a yes, on its slot and from as far as its versions had
 * come.
 */
function resume(withdrawal: Withdrawal, at: number): void {
  const { versions } = withdrawal;
  const isOut = versions.some((version) => version.released);
  const isSigned = versions.some((version) => version.txHash !== "");
  withdrawal.state = isOut ? "released" : isSigned ? "signed" : "intent";
  // Earlier observations must be reported again to move the withdrawal on from here.
  withdrawal.observed = null;
  withdrawal.changedAt = at;
}

function move(withdrawal: Withdrawal, by: Step, record: LedgerRecord): void {
  const next = step(withdrawal.state, by);
  invariant(next !== null, `${withdrawal.transactionId} must not go from ${withdrawal.state} by ${by}`);
  withdrawal.state = next;
  withdrawal.changedAt = record.at;
}

function bind(withdrawal: Withdrawal, record: Extract<LedgerRecord, { kind: "INTENT" }>): void {
  invariant(record.version === withdrawal.versions.length + 1, "versions count up without gaps");
  const isBound = withdrawal.slot !== "";
  invariant(!isBound || (withdrawal.slot === record.slot && withdrawal.account === record.account), "one slot for life");
  const isNothing = isCancel(record);
  invariant(isNothing || !isCancelling(withdrawal), "no version pays after a cancel");
  invariant(isNothing || record.address === withdrawal.address, "every other version pays the approved destination");
  invariant(isNothing || record.amountUnits === withdrawal.amountUnits, "every other version pays the approved amount");
  const waiting = waitingOf(record.network);
  invariant(waiting === null || isDead(withdrawal), "versions that wait come one after another");
  move(withdrawal, "intent", record);
  withdrawal.account = record.account;
  withdrawal.slot = record.slot;
  if (withdrawal.ordered?.act === "replace") delete withdrawal.ordered;
  const { version, digest, unsigned, facts, feeMax } = record;
  withdrawal.versions.push({
    version,
    intentSeq: record.seq,
    digest,
    unsigned,
    facts,
    feeMax,
    txHash: "",
    raw: "",
    signedAt: 0,
    released: false,
    isCancel: isNothing,
    ...(waiting === null ? {} : { until: waiting.untilMs(facts) }),
  });
}

function change(withdrawal: Withdrawal, version: number, to: (old: Version) => Version): void {
  const old = withdrawal.versions[version - 1];
  invariant(old !== undefined && old.version === version, "a version is signed and released after its intent");
  withdrawal.versions[version - 1] = to(old);
}
