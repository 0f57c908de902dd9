/**
 * A manual replacement: an operator helps a withdrawal whose slot does not come into a block.
 * `replace` makes an attempt with higher fees, and `cancel` makes a zero payment to the account
 * itself on the same slot. The chain takes one of all attempts, so no verb here can pay twice. On a
 * chain with exclusion by expiry, the operator's order is only recorded, and nothing is signed here
 * (expiry-exclusion.ts). The operator sees the plan first and then orders exactly that plan.
 * Touches nothing; records and the vault's work go through the `RequestContext`.
 */

import { invariant, type Refusal, refuse } from "../../../base/fault.ts";
import { familyOf, isFeeInside, saySlot } from "../../../chains/families.ts";
import type { FamilyFees, FeeBumps, FeeMarket, TxParams } from "../../../chains/family.ts";
import { attemptsMax } from "../../../protocol/payloads.ts";
import type { ReplacementPlan, ReplacementWish } from "../../socket/verbs.ts";
import type { Account } from "../state/accounts.ts";
import { type Attempt, isCancelling, isOver, type Withdrawal } from "../state/withdrawal.ts";
import { type RequestContext, refuseIfGateClosed, refuseIfPaused } from "./context.ts";
import { orderReplacement, refuseIfOrderUseless } from "./expiry-exclusion.ts";
import {
  buildClearedAttempt,
  type NextAttempt,
  type PreparedAttempt,
  prepareRecordedIntent,
  recordIntent,
} from "./intent.ts";

/** The sources of a plan; `made` is an attempt that was recorded but not signed yet. */
interface ReplacementSource {
  readonly ok: true;
  readonly withdrawal: Withdrawal;
  readonly account: Account;
  readonly act: "replace" | "cancel"; // a replacement of a cancelled withdrawal is a cancel
  readonly made: Attempt | null;
}

/**
 * Returns the plan of `replace` or `cancel`; records nothing. Without fees from the operator, both
 * fees are at least twice the newest attempt's, and as high as the fee market wants if the courier
 * knows it. If that is above the limits, lower offers follow, down to an eighth more than before,
 * which nodes ask of a replacement.
 * @throws AgentError TRANSACTION_FIELD if the given numbers are out of range
 */
export function planReplacement(
  context: RequestContext,
  wish: ReplacementWish,
  feeMarket: FeeMarket | null,
):
  | { readonly ok: true; readonly withdrawal: Withdrawal; readonly plan: ReplacementPlan }
  | Refusal {
  const found = find(context, wish);
  if (!found.ok) return found;
  const { withdrawal, made, act } = found;
  if (made !== null)
    return { ok: true, withdrawal, plan: planOf(found, made.attempt, made.txParams ?? {}) };
  const bidding = biddingOf(withdrawal);
  if (bidding === null) {
    readWish(withdrawal, wish.txParams);
    const refused = refuseIfOrderUseless(withdrawal, wish.act);
    return (
      refused ?? {
        ok: true,
        withdrawal,
        plan: { act: wish.act, attempt: withdrawal.attempts.length + 1, txParams: {} },
      }
    );
  }
  const wished = readWish(withdrawal, wish.txParams);
  const isInside = isFeeInside(withdrawal.job.network, withdrawal.job.mode);
  const txParams = bidding.manualReplacement(
    withdrawal.attempts,
    act === "cancel",
    wished,
    feeMarket,
    isInside,
  );
  if (!txParams.ok) return txParams;
  let first: Refusal | null = null;
  for (const each of txParams.txParams) {
    const cleared = buildClearedAttempt(context, nextOf(context, found, each));
    if (cleared.ok)
      return { ok: true, withdrawal, plan: planOf(found, withdrawal.attempts.length + 1, each) };
    first ??= cleared;
  }
  return first ?? refuse("REPLACEMENT_FEES");
}

/**
 * Records the attempt that an operator saw as a plan, under the operator's name, and returns the
 * vault's work. A repeat is harmless: the existing attempt is the answer.
 * @throws AgentError TRANSACTION_FIELD as `planReplacement`
 */
export function prepareManualReplacement(
  context: RequestContext,
  wish: ReplacementWish,
  plan: ReplacementPlan,
  approver: string,
): PreparedAttempt {
  const known = context.core.book.find(wish.transactionId)?.attempts[plan.attempt - 1];
  if (known !== undefined && known.txHash !== "") {
    return known.isCancel === (plan.act === "cancel")
      ? { ok: true, work: null }
      : refuse("REPLACEMENT_OTHER_PLAN");
  }
  const found = find(context, wish);
  if (!found.ok) return found;
  const { withdrawal, made, act } = found;
  const attempt = withdrawal.attempts.length + (made === null ? 1 : 0);
  const bidding = biddingOf(withdrawal);
  if (bidding === null && made === null) {
    if (attempt !== plan.attempt || wish.act !== plan.act) return refuse("REPLACEMENT_OTHER_PLAN");
    return (
      refuseIfOrderUseless(withdrawal, wish.act) ??
      orderReplacement(context, withdrawal, wish.act, approver)
    );
  }
  if (act !== plan.act || attempt !== plan.attempt) return refuse("REPLACEMENT_OTHER_PLAN");
  if (made !== null) return prepareRecordedIntent(context, withdrawal, made);
  invariant(bidding !== null, "what ends by expiry was ordered above");
  const txParams = bidding.manualReplacement(
    withdrawal.attempts,
    act === "cancel",
    feesOf(withdrawal).read(plan.txParams),
  );
  if (!txParams.ok) return txParams;
  const before = [
    { kind: "MANUAL_REPLACEMENT", transactionId: wish.transactionId, act, approver } as const,
  ];
  return recordIntent(context, { ...nextOf(context, found, plan.txParams), before });
}

/** Returns the withdrawal if a manual replacement is possible, else the reason. */
function find(
  context: RequestContext,
  { transactionId, act }: ReplacementWish,
): ReplacementSource | Refusal {
  const closed = refuseIfGateClosed(context);
  if (closed !== null) return closed;
  const { core } = context;
  const withdrawal = core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (isOver(withdrawal)) return refuse("WITHDRAWAL_CLOSED", withdrawal.state);
  const newest = withdrawal.attempts.at(-1);
  if (withdrawal.slot === "") return refuse("REPLACEMENT_NO_SLOT");
  // The gateway takes no signature for this withdrawal on another's slot, and nothing that follows
  // such a signature.
  const { slot, rival } = withdrawal;
  if (rival !== undefined)
    return refuse(
      "SLOT_CONTESTED",
      `the gateway has ${saySlot(withdrawal.job.network, slot)} for ${rival}: cancel that one`,
    );
  const isCancel = act === "cancel" || isCancelling(withdrawal);
  const isQuarantined = withdrawal.state === "quarantined";
  // A withdrawal that a recovered ledger keeps may be called ended before policy has judged it.
  const isUnjudged = core.policy.approval(transactionId) === undefined;
  if ((isQuarantined || isUnjudged) && !isCancel) return refuse("WITHDRAWAL_HELD", withdrawal.code);
  const paused = isCancel ? null : refuseIfPaused(context);
  if (paused !== null) return paused;
  const account = core.accounts.find(withdrawal.job.network, withdrawal.account);
  invariant(account !== undefined, "an assigned slot has its account");
  const found = { ok: true, withdrawal, account, act: isCancel ? "cancel" : "replace" } as const;
  const isUnsigned = newest?.txHash === "";
  if (isUnsigned && (newest.attempt > 1 || newest.isCancel) && newest.isCancel === isCancel)
    return { ...found, made: newest };
  const isOut =
    newest?.released === true ||
    (isUnsigned && withdrawal.attempts.some(({ released }) => released));
  if (!isOut && !isQuarantined) return refuse("WITHDRAWAL_NOT_RELEASED");
  // On a chain with exclusion by expiry, a cancel makes no attempt.
  const isLast =
    withdrawal.attempts.length >= attemptsMax && (biddingOf(withdrawal) !== null || !isCancel);
  if (isLast) return refuse("WITHDRAWAL_TOO_MANY_ATTEMPTS");
  return { ...found, made: null };
}

function nextOf(
  { core }: RequestContext,
  { withdrawal, account, act }: ReplacementSource,
  txParams: TxParams,
): NextAttempt {
  const { transactionId, slot, attempts } = withdrawal;
  const approval = act === "cancel" ? null : core.policy.approval(transactionId);
  invariant(
    approval !== undefined,
    "a withdrawal that has a slot and is not quarantined has its approval",
  );
  return {
    withdrawal,
    approval,
    account,
    slot,
    attempt: attempts.length + 1,
    txParams,
    tipAllowedUnits: tipAllowed(withdrawal),
  };
}

/**
 * Returns the tip that is allowed above the ceiling. An operator may go above it by the least step
 * over every earlier attempt, or no attempt could help any more.
 */
function tipAllowed(withdrawal: Withdrawal): bigint {
  return biddingOf(withdrawal)?.leastTip(withdrawal.attempts) ?? 0n;
}

/**
 * Returns null on a chain with exclusion by expiry, because nobody bids for a place in a block
 * there.
 */
function biddingOf(withdrawal: Withdrawal): FeeBumps | null {
  return feesOf(withdrawal).bidding;
}

function feesOf({ job }: Withdrawal): FamilyFees {
  return familyOf(job.network).fees;
}

function readWish(withdrawal: Withdrawal, wish: TxParams): TxParams {
  return feesOf(withdrawal).readWish(wish);
}

function planOf({ act }: ReplacementSource, attempt: number, txParams: TxParams): ReplacementPlan {
  return { act, attempt, txParams };
}
