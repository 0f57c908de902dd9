/**
 * A replacement on the slot of a withdrawal, built from the same approval with higher fees. On a
 * chain with exclusion by expiry, it follows only after all earlier attempts are void
 * (expiry-exclusion.ts). Touches nothing; the INTENT record and the vault's work go through the
 * `RequestContext`.
 */

import { invariant, type Refusal, refuse } from "../../../base/fault.ts";
import { answerOfFirstGuard, type Guard } from "../../../base/guard.ts";
import { expiryExclusionOf, familyOf } from "../../../chains/families.ts";
import type { FamilyFees, FeeBumps } from "../../../chains/family.ts";
import { limitGroupOf } from "../../../protocol/job-mode.ts";
import { attemptsMax } from "../../../protocol/payloads.ts";
import { attemptsApartMs, courierAttemptsMax } from "../../socket/limits.ts";
import type { CourierOffer } from "../../socket/offered.ts";
import {
  type Attempt,
  hasNonVoidExpiringAttempt,
  isCancelling,
  isOver,
  type Withdrawal,
} from "../state/withdrawal.ts";
import { type RequestContext, refuseIfGateClosed, refuseIfPaused } from "./context.ts";
import { prepareNextAttempt, refuseForNonVoidAttempts } from "./expiry-exclusion.ts";
import { type PreparedAttempt, prepareRecordedIntent, recordIntent } from "./intent.ts";

/** A replacement that the courier asks for. */
interface ReplacementRequest {
  readonly context: RequestContext;
  readonly one: Withdrawal;
  readonly above: number; // the newest attempt
  readonly claimed: CourierOffer;
  readonly isCancel: boolean; // an operator cancelled the withdrawal
  readonly made: Attempt | undefined; // the attempt after `above`
  readonly newest: Attempt | undefined;
  readonly ageMs: number; // of the newest; an attempt from a recovery was signed long ago
}

/** The answers without a new attempt on a chain with nonces, in order. */
export const replaceGuards: readonly Guard<ReplacementRequest, PreparedAttempt>[] = [
  [
    "held",
    ({ one, isCancel }) => one.state === "quarantined" && !isCancel,
    ({ one }) => refuse("WITHDRAWAL_HELD", one.code),
  ],
  [
    "signed",
    ({ made }) => made !== undefined && made.txHash !== "",
    () => ({ ok: true, work: null }),
  ],
  ["over", ({ one }) => isOver(one), ({ one }) => refuse("WITHDRAWAL_CLOSED", one.state)],
  [
    "paused",
    ({ context, isCancel }) => !isCancel && refuseIfPaused(context) !== null,
    ({ context }) => refuseIfPaused(context) as Refusal,
  ],
  [
    "cancelled since",
    ({ made, isCancel }) => made?.isCancel === !isCancel,
    () => refuse("WITHDRAWAL_CANCELLING"),
  ],
  [
    "recorded too early",
    ({ made, one }) => made !== undefined && hasNonVoidExpiringAttempt(one),
    ({ one }) => refuseForNonVoidAttempts(one),
  ],
  [
    "recorded",
    ({ made }) => made !== undefined,
    ({ context, one, made }) => prepareRecordedIntent(context, one, made as Attempt),
  ],
  ["not the newest", ({ newest }) => !newest, (asked) => unknown(asked)],
  [
    "not released",
    ({ newest }) => newest?.released !== true,
    () => refuse("WITHDRAWAL_NOT_RELEASED"),
  ],
  ["in a block", ({ one }) => one.state === "included", () => refuse("WITHDRAWAL_INCLUDED")],
  [
    "last attempt",
    ({ above }) => above >= attemptsMax,
    () => refuse("WITHDRAWAL_TOO_MANY_ATTEMPTS"),
  ],
  [
    "excluded by expiry",
    ({ one }) => expiryExclusionOf(one.job.network) !== null,
    (asked) => next(asked),
  ],
  ["an operator's", ({ above }) => above >= courierAttemptsMax, (asked) => waits(asked)],
  [
    "too soon",
    ({ ageMs }) => ageMs < attemptsApartMs,
    ({ ageMs }) => refuse("WITHDRAWAL_TOO_SOON", ageWords(ageMs)),
  ],
];

const unknown = ({ above }: ReplacementRequest): Refusal =>
  refuse("WITHDRAWAL_ATTEMPT_UNKNOWN", `there is no attempt ${above}`);
const waits = ({ above }: ReplacementRequest): Refusal =>
  refuse("WITHDRAWAL_WAITS_FOR_OPERATOR", `${above} attempts are made`);
const ageWords = (ageMs: number): string => `${ageMs} ms after the one before`;
const next = ({ context, one, above, claimed }: ReplacementRequest): PreparedAttempt =>
  prepareNextAttempt(context, one, above, claimed.txParams);

/**
 * Prepares a replacement on the same slot, after attempt `above`, the newest. Both fees rise by at
 * least an eighth, or more if the given parameters ask for it. A repeat is harmless: the existing
 * attempt is the answer.
 * @throws AgentError TRANSACTION_FIELD as `prepareSign`
 */
export function prepareReplace(
  context: RequestContext,
  transactionId: string,
  above: number,
  claimed: CourierOffer,
): PreparedAttempt {
  const closed = refuseIfGateClosed(context);
  if (closed !== null) return closed;
  const { core } = context;
  const withdrawal = core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  const isCancel = isCancelling(withdrawal);
  const [newest, made] = [withdrawal.attempts[above - 1], withdrawal.attempts[above]];
  const ageMs = context.nowMs - (newest?.signedAt ?? 0);
  const decided = answerOfFirstGuard(replaceGuards, {
    context,
    one: withdrawal,
    above,
    claimed,
    isCancel,
    made,
    newest,
    ageMs,
  });
  if (decided !== null) return decided;
  invariant(newest !== undefined, "a replacement follows an attempt");
  const account = core.accounts.find(withdrawal.job.network, withdrawal.account);
  invariant(account !== undefined, "an assigned slot has its account");
  const { fees } = familyOf(withdrawal.job.network);
  const { bidding } = fees;
  invariant(bidding !== null, "whose slot excludes bids for its place");
  const txParams = fees.read(claimed.txParams);
  const tipAllowedUnits = tipAllowed(
    fees,
    bidding,
    newest,
    core.policy.tipMaxUnits(limitGroupOf(withdrawal.job)),
  );
  // After an operator's cancel, the replacement is of the cancel: this slot pays nothing any more.
  // The courier may report an end of a withdrawal that policy holds, and such a report is no
  // approval.
  const approval = isCancel ? null : core.policy.approval(transactionId);
  if (approval === undefined) return refuse("WITHDRAWAL_HELD", withdrawal.code);
  const { slot, attempts } = withdrawal;
  const higher = bidding.replacement(attempts, txParams, isCancel);
  const { evidence } = claimed;
  return recordIntent(context, {
    withdrawal,
    approval,
    account,
    slot,
    attempt: above + 1,
    txParams: higher,
    evidence,
    tipAllowedUnits,
  });
}

/**
 * Returns the tip that is allowed above the ceiling. Only an operator sets a tip above the ceiling;
 * the next attempt must still pay more, by the least step, or no further attempt would be possible.
 */
function tipAllowed(
  fees: FamilyFees,
  bidding: FeeBumps,
  newest: Attempt,
  maxUnits: bigint,
): bigint {
  return newest.txParams !== null && fees.tipOf(newest.txParams) > maxUnits
    ? bidding.leastTip([newest])
    : 0n;
}
