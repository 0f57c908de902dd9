/**
 * Withdrawals as couriers and operators see them. A version's bytes are shown only after their
 * release. While the withdrawal is quarantined, only a cancel's bytes are shown. Touches nothing.
 */
import { parseAmount } from "../../../protocol/amount.ts";
import { laneOf } from "../../../protocol/job-mode.ts";
import type { VersionView, WaitView, WithdrawalStep, WithdrawalView } from "../../socket/verbs.ts";
import type { Policy } from "../policy/policy.ts";
import { canonicalAddress } from "./content.ts";
import { approvalDigestOf, confirmationOf } from "./digest.ts";
import { isOver, isUnjudged, type Version, type Withdrawal } from "./withdrawal.ts";

/** Returns one withdrawal. `approvalDigest` is "" unless an operator must decide. */
export function viewOf(withdrawal: Withdrawal, policy: Policy): WithdrawalView {
  const { job } = withdrawal;
  const { state, code, changedAt, account, slot, versions, isOver: isDone } = stepOf(withdrawal);
  const asset = policy.asset(laneOf(job));
  const amountUnits = unitsOf(withdrawal, policy);
  return {
    transactionId: withdrawal.transactionId,
    orderId: job.orderId,
    sequence: job.sequence,
    mode: job.mode,
    currency: job.currency,
    chain: asset?.chain ?? "",
    network: job.network,
    contract: withdrawal.amountUnits === "" ? (asset?.contract ?? "") : withdrawal.contract,
    decimal: asset?.decimal ?? 0,
    amount: job.amount,
    amountUnits,
    address: withdrawal.address,
    tag: job.tag,
    state,
    code,
    requestedAt: withdrawal.requestedAt,
    changedAt,
    expiresAt: job.expiresAt,
    payer: account || (policy.payer(job)?.account ?? ""),
    account,
    slot,
    versions,
    isOver: isDone,
    ...(withdrawal.ordered?.act === "cancel" ? { isCancelling: true } : {}),
    approvalDigest: state === "held" || state === "quarantined" ? approvalDigestOf(withdrawal, amountUnits) : "",
  };
}

/**
 * Returns the facts for the operator who decides; null if no decision is needed. `address` is the
 * destination that the operator would give to a withdrawal without one.
 */
export function waitOf(withdrawal: Withdrawal, policy: Policy, address = ""): WaitView | null {
  const { state, code, job, requestedAt } = withdrawal;
  if (state !== "held" && state !== "quarantined") return null;
  const first = confirmationOf(withdrawal, approvalDigestOf(withdrawal, unitsOf(withdrawal, policy)));
  const destination = withdrawal.address || first?.address || canonicalAddress(address);
  return {
    until: code === "POLICY_NEW_DESTINATION_DELAY" ? policy.delayEndsAt(job.currency, requestedAt) : 0,
    ...policy.regard(job, destination),
    confirmed: first === null ? null : { approver: first.approver, address: first.address, at: first.at },
  };
}

/** Returns the changing part of a withdrawal's view. */
export function stepOf(withdrawal: Withdrawal): WithdrawalStep {
  const { transactionId, state, code, changedAt, account, slot } = withdrawal;
  // The decision is missing because of a crash, or because a recovered ledger keeps the withdrawal:
  // it waits for the handshake, like everything new.
  const isUndecided = state === "requested" || isUnjudged(withdrawal);
  const versions: VersionView[] = [];
  for (const version of withdrawal.versions) if (version.txHash !== "") versions.push(versionView(version, withdrawal));
  return {
    transactionId,
    state: state === "requested" ? "held" : state,
    code: isUndecided ? "SIGNER_NOT_GREETED" : code,
    changedAt,
    account,
    slot,
    versions,
    isOver: isOver(withdrawal),
  };
}

/** Removes the bytes for a courier that reports a withdrawal on chain, and so has them. */
export function withoutBytes(step: WithdrawalStep): WithdrawalStep {
  return { ...step, versions: step.versions.map(({ raw: _raw, ...version }) => version) };
}

/**
 * True if a view has bytes. A repeated job may be of a withdrawal whose release is not yet on disk:
 * its bytes wait for that.
 */
export function showsBytes({ versions }: WithdrawalView): boolean {
  return versions.some(({ raw }) => raw !== undefined);
}

/**
 * Returns the amount in base units: of the approval if there is one, else as the table reads the
 * job; "" if it cannot.
 */
export function unitsOf(withdrawal: Withdrawal, policy: Policy): string {
  if (withdrawal.amountUnits !== "") return withdrawal.amountUnits;
  const asset = policy.asset(laneOf(withdrawal.job));
  const amount = asset === undefined ? null : parseAmount(withdrawal.job.amount, asset.decimal);
  return amount?.ok ? amount.units.toString() : "";
}

function versionView(version: Version, withdrawal: Withdrawal): VersionView {
  const { txHash, facts, feeMax, signedAt, isCancel, until, dead } = version;
  const end = { ...(until === undefined ? {} : { until }), ...(dead === undefined ? {} : { dead }) };
  const numbers = { version: version.version, txHash, facts, feeMax, signedAt, ...end };
  const view = isCancel ? { ...numbers, isCancel: true as const } : numbers;
  if (!version.released) return view;
  // A cancel is an operator's own order, given in quarantine.
  if (version.raw !== "" && (withdrawal.state !== "quarantined" || isCancel)) return { ...view, raw: version.raw };
  // The bytes of a closed withdrawal are dropped, and no courier watches it any more.
  return isOver(withdrawal) ? view : { ...view, isOut: true };
}
