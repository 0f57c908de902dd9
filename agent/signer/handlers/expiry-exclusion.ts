/**
 * Exclusion by expiry, for chains where no slot prevents a second payment (Tron). Decides which
 * parameters an attempt may have, when another attempt may follow, and when a withdrawal ends
 * unpaid. Another attempt and an end both need two statements in the ledger that every attempt is
 * void: the gateway's, which is signed, and the courier's. No clock replaces either. Touches
 * nothing; records go through the `RequestContext`.
 */

import { invariant, type Refusal, refuse } from "../../../base/fault.ts";
import { expiryExclusionOf, familyOf } from "../../../chains/families.ts";
import type { TxParams } from "../../../chains/family.ts";
import { limitGroupOf } from "../../../protocol/job-mode.ts";
import { courierAttemptsMax } from "../../socket/limits.ts";
import type { CourierRequests } from "../../socket/verbs.ts";
import type { Account } from "../state/accounts.ts";
import {
  endsUnpaid,
  isCancelling,
  isOver,
  isPastEnd,
  isVoid,
  type Withdrawal,
} from "../state/withdrawal.ts";
import { claimQuorumMin, keepHighestQuorum } from "./adopt.ts";
import { refuseIfUncleared } from "./cleared.ts";
import { type ActResult, type RequestContext, raiseAlarm } from "./context.ts";
import { type PreparedAttempt, recordIntent } from "./intent.ts";
import { expiryRecordsOf } from "./top-up.ts";

/**
 * An attempt may end at most this much later than the longest lifetime from now. A check whether an
 * attempt is void looks back from its end by that lifetime plus two minutes
 * (chains/tron/node-void.ts). An attempt that ended later could be in an earlier block.
 */
const aheadMaxMs = 60_000;

type OfferResult = { readonly ok: true; readonly txParams: TxParams } | Refusal;

/**
 * Returns the parameters of a new attempt with a timestamp above every earlier timestamp of the
 * account, so that two equal payments are two transactions. The lifetime must be within the limit.
 * The courier chose the timestamp, so the gateway's time bounds the end from above. On a chain with
 * nonces, the parameters stay as they are.
 * @throws AgentError JSON_SHAPE for malformed parameters
 */
export function checkAndTimestampTxParams(
  context: RequestContext,
  { network, lastTimestamp }: Account,
  txParams: TxParams,
): OfferResult {
  const expiryExclusion = expiryExclusionOf(network);
  const read = familyOf(network).fees.read(txParams);
  if (expiryExclusion === null) return { ok: true, txParams: read };
  const timestamped = expiryExclusion.timestamped(read, lastTimestamp);
  const validUntilMs = expiryExclusion.validUntilMs(timestamped);
  const isTooLong =
    validUntilMs > Number(expiryExclusion.timestamp(timestamped)) + expiryExclusion.lifetimeMsMax;
  const { run, monotonicMs } = context;
  const aheadMs = Math.ceil(validUntilMs - (run.gatewayAt + monotonicMs - run.receivedAt));
  if (isTooLong || aheadMs > expiryExclusion.lifetimeMsMax + aheadMaxMs)
    return refuse("TRANSACTION_LIFETIME", `it would end in ${aheadMs} ms`);
  return { ok: true, txParams: timestamped };
}

/**
 * Prepares the attempt after `above`, which is the newest and was released. From a number of
 * attempts on, an operator has to order each.
 */
export function prepareNextAttempt(
  context: RequestContext,
  withdrawal: Withdrawal,
  above: number,
  claimed: TxParams,
): PreparedAttempt {
  const { core } = context;
  const { transactionId, job, slot, ordered, state } = withdrawal;
  if (isCancelling(withdrawal)) return refuse("WITHDRAWAL_CANCELLING");
  if (withdrawal.isEnded && !withdrawal.isKept) return refuse("WITHDRAWAL_CLOSED", state);
  if (!isVoid(withdrawal)) return refuseForNonVoidAttempts(withdrawal);
  if (!isReceivedVoid(context, withdrawal))
    return refuse("WITHDRAWAL_ALIVE", "the gateway has not said so in this run");
  if (mayEndVoidWithdrawal(context, withdrawal)) {
    context.commit(expiryRecordsOf(context, [withdrawal]));
    return refuse("JOB_EXPIRED");
  }
  // The courier may report an end of a withdrawal that policy holds, and such a report is no
  // approval.
  const approval = core.policy.approval(transactionId);
  if (approval === undefined) return refuse("WITHDRAWAL_HELD", withdrawal.code);
  const isOrdered = ordered?.act === "replace" && ordered.attempts === above;
  if (!isOrdered && above >= courierAttemptsMax)
    return refuse("WITHDRAWAL_WAITS_FOR_OPERATOR", `${above} attempts are made`);
  if (!isOrdered && core.policy.isOperatorsToReplace(approval))
    return refuse("WITHDRAWAL_WAITS_FOR_OPERATOR", "above manualReplaceAbove");
  const account = core.accounts.find(job.network, withdrawal.account);
  invariant(account !== undefined, "an assigned slot has its account");
  const offer =
    refuseIfUncleared(context, withdrawal) ?? checkAndTimestampTxParams(context, account, claimed);
  if (!offer.ok) return offer;
  return recordIntent(context, {
    withdrawal,
    approval,
    account,
    slot,
    attempt: above + 1,
    txParams: offer.txParams,
  });
}

/** Names each attempt that is not void yet and the side whose statement is missing. */
export function refuseForNonVoidAttempts({ attempts }: Withdrawal): Refusal {
  const missing = attempts
    .filter(({ txHash, voidBy }) => txHash !== "" && voidBy !== "both")
    .map(({ attempt, voidBy, validUntilMs }) => {
      const whose =
        voidBy === "courier"
          ? "the gateway has not"
          : voidBy === "gateway"
            ? "the courier has not"
            : "nobody has";
      return `attempt ${attempt}${endWords(validUntilMs)}: ${whose} called it void`;
    });
  return refuse("WITHDRAWAL_ALIVE", missing.join(", "));
}

/** A recovery offer may hold a time that no date can represent; the end is left out then. */
function endWords(validUntilMs: number | undefined): string {
  const at = new Date(validUntilMs ?? Number.NaN);
  return Number.isNaN(at.getTime()) ? "" : ` ends at ${at.toISOString()} by the chain's own time`;
}

/**
 * True if a withdrawal with a slot ends without a payment now: every attempt is void, and an
 * operator cancelled it or its job ran out. Time ends nothing during the hold of a recovery, and no
 * withdrawal that a recovered ledger keeps or policy holds: an operator decides on those. A
 * withdrawal that a recovered ledger keeps also ends if the gateway knows its end, because the
 * ledger then comes from a backup older than the end.
 */
export function mayEndVoidWithdrawal(context: RequestContext, withdrawal: Withdrawal): boolean {
  if (!endsUnpaid(withdrawal) || !isReceivedVoid(context, withdrawal)) return false;
  if (isCancelling(withdrawal) || (withdrawal.isKept && withdrawal.isEnded)) return true;
  const isOperators =
    context.core.isHolding || withdrawal.isKept || withdrawal.state === "quarantined";
  return !isOperators && context.nowMs > withdrawal.job.expiresAt;
}

/**
 * True if the gateway has called every attempt void in this run and since its last resync. A
 * restored database takes nothing that depends on a forgotten statement.
 */
function isReceivedVoid({ run }: RequestContext, { attempts }: Withdrawal): boolean {
  return attempts.every(({ txHash }) => txHash === "" || run.voidReceived.has(txHash));
}

/**
 * Records an operator's order on a chain with exclusion by expiry: another attempt may be made, or
 * no more. A withdrawal whose attempts are all void ends with the cancel. A repeat is harmless.
 */
export function orderReplacement(
  context: RequestContext,
  withdrawal: Withdrawal,
  act: "replace" | "cancel",
  approver: string,
): PreparedAttempt {
  const { transactionId, ordered, attempts } = withdrawal;
  const isSaid = ordered?.act === act && (act === "cancel" || ordered.attempts === attempts.length);
  if (!isSaid) context.commit([{ kind: "MANUAL_REPLACEMENT", transactionId, act, approver }]);
  if (mayEndVoidWithdrawal(context, withdrawal))
    context.commit(expiryRecordsOf(context, [withdrawal]));
  return { ok: true, work: null };
}

/** Returns why an operator's order would change nothing, or null. */
export function refuseIfOrderUseless(
  withdrawal: Withdrawal,
  act: "replace" | "cancel",
): Refusal | null {
  if (act === "cancel") return null;
  if (isCancelling(withdrawal)) return refuse("WITHDRAWAL_CANCELLING");
  return isVoid(withdrawal) ? null : refuseForNonVoidAttempts(withdrawal);
}

/**
 * Records the courier's statement that an attempt is void. As many of its nodes must agree as for
 * any claim about the chain.
 */
export function observeVoid(
  context: RequestContext,
  withdrawal: Withdrawal,
  claim: CourierRequests["observed"],
): ActResult {
  const { core } = context;
  const { job, state, attempts, observed } = withdrawal;
  const { transactionId, outcome, txHash, block, quorum } = claim;
  if (expiryExclusionOf(job.network) === null)
    return refuse("WITHDRAWAL_OBSERVATION", "a slot excludes there, and nothing is void");
  if (outcome !== "" || quorum === undefined)
    return refuse("WITHDRAWAL_OBSERVATION", "void is stated with a quorum only");
  const ours = attempts.find((attempt) => attempt.txHash === txHash && txHash !== "");
  if (ours === undefined) return refuse("WITHDRAWAL_OTHER_TRANSACTION", txHash);
  if (ours.voidBy === "courier" || ours.voidBy === "both") return { ok: true, withdrawal };
  if (isOver(withdrawal)) return refuse("WITHDRAWAL_CLOSED", state);
  if (!ours.released) return refuse("WITHDRAWAL_NOT_RELEASED");
  if (state === "included" && observed?.txHash === txHash) return refuse("WITHDRAWAL_INCLUDED");
  if (!isPastEnd(job.network, ours, context.nowMs))
    return refuse("WITHDRAWAL_ALIVE", `its end is not past${endWords(ours.validUntilMs)}`);
  const chain = core.policy.asset(limitGroupOf(job))?.chain ?? job.network;
  const wanted = Math.min(claimQuorumMin, keepHighestQuorum(context, chain, quorum));
  if (quorum < wanted)
    return refuse("WITHDRAWAL_ALIVE", `${quorum} of ${wanted} nodes say that it is void`);
  context.commit([{ kind: "OBSERVED", transactionId, stage: "void", outcome: "", txHash, block }]);
  return { ok: true, withdrawal };
}

/**
 * Raises an alarm if a block holds an attempt that both sides called void: another attempt may be
 * on its way or paid as well.
 */
export function warnVoidIncluded(
  context: RequestContext,
  { transactionId, attempts }: Withdrawal,
  txHash: string,
): void {
  const risen = attempts.find((attempt) => attempt.txHash === txHash && attempt.voidBy === "both");
  if (risen === undefined) return;
  const detail = `attempt ${risen.attempt} of ${transactionId}, ${txHash}, was called void and is in a block`;
  raiseAlarm(context, "CHAIN_VOID_INCLUDED", detail);
}

/**
 * Records the gateway's statement on void transactions, once for each released attempt past its own
 * end by ledger time. Other hashes are ignored, and the gateway sends them again. Returns the
 * withdrawals.
 */
export function recordVoid(
  { core, run, nowMs, commit }: RequestContext,
  said: readonly string[],
): readonly string[] {
  if (said.length === 0) return [];
  const named = new Set(said);
  const past = [...core.book.open()].flatMap(({ job, attempts }) =>
    attempts
      .filter((one) => named.has(one.txHash) && isPastEnd(job.network, one, nowMs))
      .map(({ txHash }) => txHash),
  );
  for (const txHash of past) run.voidReceived.add(txHash);
  const alive = core.book.alive(new Set(past));
  if (alive.size > 0) commit([{ kind: "VOID", txHashes: [...alive.values()].flat() }]);
  return [...alive.keys()];
}
