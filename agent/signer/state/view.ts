/**
 * Withdrawals as the courier sees them; `sockets/operator-view.ts` adds what only operators see. An
 * attempt's bytes are shown only after their release. While the withdrawal is quarantined, only a
 * cancel's bytes are shown. Touches nothing.
 */
import { parseAmount } from "../../../protocol/amount.ts";
import { limitGroupOf } from "../../../protocol/job-mode.ts";
import type { AttemptView, ChangedWithdrawalPart, CourierView } from "../../socket/verbs.ts";
import type { Policy } from "../policy/policy.ts";
import { type Attempt, isOver, isUnjudged, type Withdrawal } from "./withdrawal.ts";

/** Returns one withdrawal for the courier. */
export function withdrawalForCourier(withdrawal: Withdrawal, policy: Policy): CourierView {
  const { job } = withdrawal;
  const asset = policy.asset(limitGroupOf(job));
  const step = changedWithdrawalPartOf(withdrawal);
  return {
    ...step,
    sequence: job.sequence,
    mode: job.mode,
    currency: job.currency,
    chain: asset?.chain ?? "",
    network: job.network,
    contract: withdrawal.amountUnits === "" ? (asset?.contract ?? "") : withdrawal.contract,
    amount: job.amount,
    amountUnits: amountUnitsOf(withdrawal, policy),
    address: withdrawal.address,
    tag: job.tag,
    sender: step.account || (policy.sender(job)?.account ?? ""),
    ...(isAwaited(step) ? { awaited: { order: job.orderId, endsAtMs: job.expiresAt } } : {}),
  };
}

const isAwaited = ({ state }: ChangedWithdrawalPart): boolean =>
  state === "held" || state === "quarantined";

/** Returns the changing part of a withdrawal's view. */
export function changedWithdrawalPartOf(withdrawal: Withdrawal): ChangedWithdrawalPart {
  const { transactionId, state, code, changedAt, account, slot } = withdrawal;
  // The decision is missing because of a crash, or because a recovered ledger keeps the withdrawal:
  // it waits for the handshake, like everything new.
  const isUndecided = state === "requested" || isUnjudged(withdrawal);
  const attempts: AttemptView[] = [];
  for (const attempt of withdrawal.attempts)
    if (attempt.txHash !== "") attempts.push(attemptView(attempt, withdrawal));
  return {
    transactionId,
    state: state === "requested" ? "held" : state,
    code: isUndecided ? "SIGNER_NO_HANDSHAKE" : code,
    changedAt,
    account,
    slot,
    attempts,
    isOver: isOver(withdrawal),
  };
}

/** Removes the bytes for a courier that reports a withdrawal on chain, and so has them. */
export function stripAttemptBytes(step: ChangedWithdrawalPart): ChangedWithdrawalPart {
  return { ...step, attempts: step.attempts.map(({ raw: _raw, ...attempt }) => attempt) };
}

/**
 * True if a view has bytes. A repeated job may be of a withdrawal whose release is not yet on disk:
 * its bytes wait for that.
 */
export function hasAttemptBytes({ attempts }: CourierView): boolean {
  return attempts.some(({ raw }) => raw !== undefined);
}

/**
 * Returns the amount in base units: of the approval if there is one, else as the table reads the
 * job; "" if it cannot.
 */
export function amountUnitsOf(withdrawal: Withdrawal, policy: Policy): string {
  if (withdrawal.amountUnits !== "") return withdrawal.amountUnits;
  const asset = policy.asset(limitGroupOf(withdrawal.job));
  const amount = asset === undefined ? null : parseAmount(withdrawal.job.amount, asset.decimal);
  return amount?.ok ? amount.units.toString() : "";
}

function attemptView(attempt: Attempt, withdrawal: Withdrawal): AttemptView {
  const { txHash, txParams, feeMax, pin, signedAt, isCancel, validUntilMs, voidBy } = attempt;
  const end = {
    ...(validUntilMs === undefined ? {} : { validUntilMs }),
    ...(voidBy === undefined ? {} : { voidBy }),
  };
  const numbers = {
    attempt: attempt.attempt,
    txHash,
    txParams,
    feeMax,
    ...(pin === undefined ? {} : { pin }),
    signedAt,
    ...end,
  };
  const view = isCancel ? { ...numbers, isCancel: true as const } : numbers;
  if (!attempt.released) return view;
  // A cancel is an operator's own order, given in quarantine.
  if (attempt.raw !== "" && (withdrawal.state !== "quarantined" || isCancel))
    return { ...view, raw: attempt.raw };
  // The bytes of a closed withdrawal are dropped, and no courier watches it any more.
  return isOver(withdrawal) ? view : { ...view, isOut: true };
}
