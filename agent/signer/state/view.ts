/**
 * Withdrawals as couriers and operators see them. Bytes of a version show only once they are
 * released, and not while the withdrawal is quarantined, but for a cancel's. Touches nothing.
 */
import { parseAmount } from "../../../protocol/amount.ts";
import { laneOf } from "../../../protocol/job-mode.ts";
import type { VersionView, WaitView, WithdrawalStep, WithdrawalView } from "../../socket/verbs.ts";
import type { Policy } from "../policy/policy.ts";
import { canonicalAddress } from "./content.ts";
import { approvalDigestOf, confirmationOf } from "./digest.ts";
import { isOver, isUnjudged, type Version, type Withdrawal } from "./withdrawal.ts";

/**
 * One withdrawal. `approvalDigest` is "" unless it waits for a person.
 * @public
 */
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
 * What a person should know who decides about it; null when it waits for nobody. `address` is where
 * they would send one that has none.
 * @public
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

/**
 * What moves of a withdrawal, as its view has it.
 * @public
 */
export function stepOf(withdrawal: Withdrawal): WithdrawalStep {
  const { transactionId, state, code, changedAt, account, slot } = withdrawal;
  // A crash came before the decision, or an opened ledger keeps it: it waits for the greeting, like
  // everything else that is new.
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

/**
 * For whoever tells of a withdrawal on chain, and so has its bytes.
 * @public
 */
export function withoutBytes(step: WithdrawalStep): WithdrawalStep {
  return { ...step, versions: step.versions.map(({ raw: _raw, ...version }) => version) };
}

/**
 * A repeated job may be of a withdrawal whose release is on its way to the disk: its bytes wait for
 * that.
 * @public
 */
export function showsBytes({ versions }: WithdrawalView): boolean {
  return versions.some(({ raw }) => raw !== undefined);
}

/**
 * Base units: of the approval when there is one, else as the table reads the job, "" when it
 * cannot.
 * @public
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
  // A cancel is a person's own word, given in the quarantine.
  if (version.raw !== "" && (withdrawal.state !== "quarantined" || isCancel)) return { ...view, raw: version.raw };
  // The bytes of one that is over are dropped, and nobody watches it any more.
  return isOver(withdrawal) ? view : { ...view, isOut: true };
}
