/**
 * INTENT: builds bytes from the approval, reads the bytes back, has policy compare and clear them,
 * then records them. The courier's parameters set only fees and gas, within the ceilings. A cancel
 * is built only from the slot. Touches nothing; the record and the vault's work go through the
 * `RequestContext`.
 */

import { invariant, type Refusal, refuse } from "../../../base/fault.ts";
import { isFeeInside } from "../../../chains/families.ts";
import type { TxParams } from "../../../chains/family.ts";
import { transactionsOf } from "../../../chains/transactions.ts";
import { limitGroupOf } from "../../../protocol/job-mode.ts";
import type { RecordBody } from "../../ledger/records.ts";
import type { Approval } from "../policy/approval.ts";
import type { Clearance } from "../policy/clearance.ts";
import type { BuiltCancel, BuiltTransaction, ComparisonResult } from "../policy/comparison.ts";
import type { Account } from "../state/accounts.ts";
import { nextState } from "../state/machine.ts";
import type { Attempt, Withdrawal } from "../state/withdrawal.ts";
import { closedToNew, type RequestContext } from "./context.ts";
import { type Offer, pinRefusal } from "./pins.ts";
import { oneAtATime } from "./top-up.ts";

/** A recorded intent, to be signed once it is on disk. */
export interface SignWork {
  readonly transactionId: string;
  readonly attempt: number;
  readonly intentSeq: number;
  readonly clearance: Clearance;
  readonly unsigned: Uint8Array;
  readonly account: string;
}

/** Work for the vault, or `work` null for an attempt that is signed already. */
export type PreparedAttempt = { readonly ok: true; readonly work: SignWork | null } | Refusal;

/** An attempt to make. Without an approval it is a cancel: a zero payment to the account itself. */
export interface NextAttempt extends Offer {
  readonly approval: Approval | null;
  readonly attempt: number; // 1 first
  readonly tipAllowedUnits?: bigint; // a tip that is allowed above the ceiling (`BuiltTransaction`)
  readonly before?: readonly RecordBody[]; // records right in front of its INTENT
}

/**
 * Builds, compares and records an attempt as INTENT. Every refusal comes before the record, also
 * one because the approval does not match the job.
 */
export function recordIntent(context: RequestContext, next: NextAttempt): PreparedAttempt {
  const waits = next.approval === null ? null : oneAtATime(context, next.withdrawal);
  if (waits !== null) return waits;
  const cleared = clearBytes(context, next);
  if (!cleared.ok) return cleared;
  const { unsigned, clearance } = cleared;
  const { transactionId, attempt } = clearance;
  const intent = context.commit([...(next.before ?? []), intentBody(next.account, cleared)]).at(-1);
  invariant(intent?.kind === "INTENT", "the last body is the intent");
  const { account } = next.account;
  return {
    ok: true,
    work: { transactionId, attempt, intentSeq: intent.seq, clearance, unsigned, account },
  };
}

/** Bytes that policy cleared. */
interface ClearedBytes extends ComparisonResult {
  readonly unsigned: Uint8Array;
}

/** Builds and clears an attempt; records nothing. */
export function clearBytes(context: RequestContext, next: NextAttempt): ClearedBytes | Refusal {
  const closed = closedToNew(context);
  if (closed !== null) return closed;
  const { withdrawal, approval, txParams, attempt, slot, tipAllowedUnits = 0n } = next;
  const { policy } = context.core;
  const unlike =
    approval !== null && attempt === 1 ? policy.unlike(approval, withdrawal.job) : null;
  const unpinned = unlike ?? pinRefusal(context, next);
  if (unpinned !== null) return unpinned;
  const place = { account: next.account.account, slot };
  const unsigned = bytesOf(withdrawal, place, approval, txParams);
  const built = builtOf(
    context,
    withdrawal,
    { ...place, unsigned, txParams, attempt, tipAllowedUnits },
    approval,
  );
  const cleared =
    "approval" in built
      ? policy.clear(built, context.nowMs)
      : policy.clearCancel(built, context.nowMs);
  return cleared.ok ? { ...cleared, unsigned } : cleared;
}

type Bytes = Omit<BuiltTransaction, "approval" | "addressIndex" | "isFeeInside">;
type Place = Pick<Bytes, "account" | "slot">;

function bytesOf(
  { job }: Withdrawal,
  place: Place,
  approval: Approval | null,
  txParams: TxParams,
): Uint8Array {
  const { network } = job;
  if (approval !== null) {
    const { contract, address: destination, tag, amountUnits } = approval;
    const payment = {
      ...place,
      network: approval.network,
      contract,
      destination,
      tag,
      amountUnits,
    };
    return transactionsOf(approval.network).build(
      { ...payment, isFeeInside: isFeeInside(network, job.mode) },
      txParams,
    );
  }
  const { cancels } = transactionsOf(network);
  invariant(cancels !== null, "an attempt that ends by expiry is cancelled without another one");
  return cancels.build({ ...place, network }, txParams);
}

function builtOf(
  { core }: RequestContext,
  one: Withdrawal,
  bytes: Bytes,
  approval: Approval | null,
): BuiltTransaction | BuiltCancel {
  const { transactionId, job } = one;
  const { addressIndex = null } = core.policy.sender(job) ?? {};
  const isFirstHere = bytes.attempt > 1 && one.attempts.every(({ raw }) => raw === "");
  if (approval !== null)
    return {
      ...bytes,
      approval,
      addressIndex,
      isFirstHere,
      isFeeInside: isFeeInside(job.network, job.mode),
    };
  return {
    ...bytes,
    transactionId,
    currency: limitGroupOf(job),
    network: job.network,
    addressIndex,
  };
}

/** Returns the record of the bytes: every field is taken from their description. */
function intentBody(
  { network, account }: Account,
  { unsigned, clearance, description: said }: ClearedBytes,
): RecordBody {
  return {
    kind: "INTENT",
    transactionId: clearance.transactionId,
    attempt: clearance.attempt,
    network,
    account,
    slot: said.slot,
    contract: said.contract,
    address: said.destination,
    ...(said.tag === "" ? {} : { tag: said.tag }),
    amountUnits: said.amountUnits.toString(),
    txParams: said.txParams,
    feeMax: said.feeMaxUnits.toString(),
    digest: clearance.digest,
    unsigned: `0x${Buffer.from(unsigned.buffer, unsigned.byteOffset, unsigned.length).toString("hex")}`,
  };
}

/**
 * Prepares an intent from before a crash, or one whose signature is under way: the same bytes,
 * whatever the parameters, but judged again. If policy refuses an unsigned first attempt, the
 * withdrawal is held on its slot for an operator.
 */
export function recordedAttempt(
  context: RequestContext,
  withdrawal: Withdrawal,
  made: Attempt,
): PreparedAttempt {
  const { core } = context;
  const { transactionId, account, slot, job } = withdrawal;
  const { attempt, digest, intentSeq } = made;
  const unsigned = Uint8Array.from(Buffer.from(made.unsigned.slice(2), "hex"));
  const approval = made.isCancel ? null : core.policy.approval(transactionId);
  invariant(approval !== undefined, "a withdrawal with a slot has its approval");
  const built = builtOf(
    context,
    withdrawal,
    { account, slot, unsigned, txParams: made.txParams ?? {}, attempt },
    approval,
  );
  const cleared = core.policy.clearRecorded(built, digest, job);
  if (cleared.ok)
    return {
      ok: true,
      work: { transactionId, attempt, intentSeq, clearance: cleared.clearance, unsigned, account },
    };
  if (nextState(withdrawal.state, "held") === null) return cleared;
  context.commit([{ kind: "HELD", transactionId, code: cleared.code }]);
  return refuse("WITHDRAWAL_HELD", cleared.code);
}
