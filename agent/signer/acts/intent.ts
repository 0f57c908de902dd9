/**
 * INTENT: builds bytes from the approval, reads the bytes back, has policy compare and clear them,
 * then records them. The courier's parameters set only fees and gas, within the ceilings. A cancel
 * is built only from the slot. Touches nothing; the record and the vault's work go through the
 * `Turn`.
 */

import { invariant, type Refusal, refuse } from "../../../base/fault.ts";
import type { Description, Facts } from "../../../chains/family.ts";
import { transactionsOf } from "../../../chains/transactions.ts";
import { laneOf } from "../../../protocol/job-mode.ts";
import type { RecordBody } from "../../ledger/records.ts";
import type { Approval } from "../policy/approval.ts";
import type { Clearance } from "../policy/clearance.ts";
import type { Built, BuiltCancel } from "../policy/comparison.ts";
import type { Account } from "../state/accounts.ts";
import { step } from "../state/machine.ts";
import type { Version, Withdrawal } from "../state/withdrawal.ts";
import { closedToNew, type Turn } from "./run.ts";
import { oneAtATime } from "./top-up.ts";

/** A recorded intent, to be signed once it is on disk. */
export interface SignWork {
  readonly transactionId: string;
  readonly version: number;
  readonly intentSeq: number;
  readonly clearance: Clearance;
  readonly unsigned: Uint8Array;
  readonly account: string;
}

/** Work for the vault, or `work` null for a version that is signed already. */
export type Prepared = { readonly ok: true; readonly work: SignWork | null } | Refusal;

/**
 * Additions to a version: records right in front of its INTENT, and a tip that is allowed above the
 * ceiling (`Built`).
 */
export interface Beside {
  readonly before?: readonly RecordBody[];
  readonly tipAllowedUnits?: bigint;
}

/**
 * Builds, compares and records a payment as INTENT. Every refusal comes before the record, also one
 * because the approval does not match the job.
 */
export function intend(
  turn: Turn,
  approval: Approval,
  account: Account,
  slot: string,
  version: number,
  facts: Facts,
  { before = [], tipAllowedUnits = 0n }: Beside = {},
): Prepared {
  const withdrawal = turn.core.book.find(approval.transactionId);
  invariant(withdrawal !== undefined, "an approved withdrawal is in the book");
  const waits = oneAtATime(turn, withdrawal);
  if (waits !== null) return waits;
  const built = clearPayment(turn, approval, account, slot, version, facts, tipAllowedUnits);
  return built.ok ? record(turn, account, version, built, before) : built;
}

/** As `intend`, for a zero payment to the account itself on the withdrawal's slot. */
export function intendCancel(
  turn: Turn,
  withdrawal: Withdrawal,
  account: Account,
  version: number,
  facts: Facts,
  { before = [], tipAllowedUnits = 0n }: Beside = {},
): Prepared {
  const built = clearCancel(turn, withdrawal, version, facts, tipAllowedUnits);
  return built.ok ? record(turn, account, version, built, before) : built;
}

/** Bytes that policy cleared. */
export interface Cleared {
  readonly ok: true;
  readonly unsigned: Uint8Array;
  readonly clearance: Clearance;
  readonly description: Description;
}

/** Builds and clears a payment; records nothing. */
export function clearPayment(
  turn: Turn,
  approval: Approval,
  account: Account,
  slot: string,
  version: number,
  facts: Facts,
  tipAllowedUnits = 0n,
): Cleared | Refusal {
  const closed = closedToNew(turn);
  if (closed !== null) return closed;
  const job = turn.core.book.find(approval.transactionId)?.job;
  invariant(job !== undefined, "an approved withdrawal has its job");
  const unlike = version === 1 ? turn.core.policy.unlike(approval, job) : null;
  if (unlike !== null) return unlike;
  const { network, contract, address: destination, amountUnits } = approval;
  const payment = { network, account: account.account, slot, contract, destination, amountUnits };
  const unsigned = transactionsOf(network).build(payment, facts);
  const { child = null } = turn.core.policy.payer(job) ?? {};
  const built = { approval, unsigned, facts, version, account: account.account, child, slot, tipAllowedUnits };
  const cleared = turn.core.policy.clear(built, turn.nowMs);
  return cleared.ok ? { ...cleared, unsigned } : cleared;
}

/** Builds and clears a cancel; records nothing. */
export function clearCancel(
  turn: Turn,
  withdrawal: Withdrawal,
  version: number,
  facts: Facts,
  tipAllowedUnits = 0n,
): Cleared | Refusal {
  const closed = closedToNew(turn);
  if (closed !== null) return closed;
  const slot = slotOf(turn, withdrawal);
  const { cancels } = transactionsOf(slot.network);
  invariant(cancels !== null, "a version that ends by waiting is cancelled without another one");
  const unsigned = cancels.build(slot, facts);
  const cleared = turn.core.policy.clearCancel({ ...slot, unsigned, facts, version, tipAllowedUnits }, turn.nowMs);
  return cleared.ok ? { ...cleared, unsigned } : cleared;
}

function slotOf(
  { core }: Turn,
  { transactionId, job, account, slot }: Withdrawal,
): Omit<BuiltCancel, "unsigned" | "facts" | "version"> {
  const { child = null } = core.policy.payer(job) ?? {};
  return { transactionId, currency: laneOf(job), network: job.network, account, child, slot };
}

function record(
  turn: Turn,
  account: Account,
  version: number,
  { unsigned, clearance, description }: Cleared,
  before: readonly RecordBody[],
): Prepared {
  const { transactionId, digest } = clearance;
  const intent = turn.commit([...before, intentBody(transactionId, version, account, description, digest, unsigned)]).at(-1);
  invariant(intent?.kind === "INTENT", "the last body is the intent");
  return { ok: true, work: { transactionId, version, intentSeq: intent.seq, clearance, unsigned, account: account.account } };
}

/** Returns the record of the bytes: every field is taken from their description. */
function intentBody(
  transactionId: string,
  version: number,
  { network, account }: Account,
  said: Description,
  digest: string,
  unsigned: Uint8Array,
): Parameters<Turn["commit"]>[0][number] {
  return {
    kind: "INTENT",
    transactionId,
    version,
    network,
    account,
    slot: said.slot,
    contract: said.contract,
    address: said.destination,
    amountUnits: said.amountUnits.toString(),
    facts: said.facts,
    feeMax: said.feeMaxUnits.toString(),
    digest,
    unsigned: `0x${Buffer.from(unsigned.buffer, unsigned.byteOffset, unsigned.length).toString("hex")}`,
  };
}

/**
 * Prepares an intent from before a crash, or one whose signature is under way: the same bytes,
 * whatever the parameters, but judged again. If policy refuses an unsigned first version, the
 * withdrawal is held on its slot for an operator.
 */
export function recorded(turn: Turn, withdrawal: Withdrawal, made: Version): Prepared {
  const { transactionId, account } = withdrawal;
  const { version, digest, intentSeq } = made;
  const unsigned = Uint8Array.from(Buffer.from(made.unsigned.slice(2), "hex"));
  const bytes = { unsigned, facts: made.facts ?? {}, version };
  const built = made.isCancel ? { ...slotOf(turn, withdrawal), ...bytes } : paymentOf(turn, withdrawal, bytes);
  const cleared = turn.core.policy.clearRecorded(built, digest, withdrawal.job);
  if (cleared.ok)
    return { ok: true, work: { transactionId, version, intentSeq, clearance: cleared.clearance, unsigned, account } };
  if (step(withdrawal.state, "held") === null) return cleared;
  turn.commit([{ kind: "HELD", transactionId, code: cleared.code }]);
  return refuse("WITHDRAWAL_HELD", cleared.code);
}

function paymentOf(
  { core }: Turn,
  { transactionId, job, account, slot }: Withdrawal,
  bytes: Pick<Built, "unsigned" | "facts" | "version">,
): Built {
  const approval = core.policy.approval(transactionId);
  invariant(approval !== undefined, "a bound withdrawal has its approval");
  const { child = null } = core.policy.payer(job) ?? {};
  return { approval, ...bytes, account, child, slot };
}
