/**
 * Withdrawals as the courier sees them; `sockets/operator-view.ts` adds what only operators see. A
 * version's bytes are shown only after their release. While the withdrawal is quarantined, only a
 * cancel's bytes are shown. Touches nothing.
 */
import { parseAmount } from "../../../protocol/amount.ts";
import { laneOf } from "../../../protocol/job-mode.ts";
import type { CourierView, VersionView, WithdrawalStep } from "../../socket/verbs.ts";
import type { Policy } from "../policy/policy.ts";
import { isOver, isUnjudged, type Version, type Withdrawal } from "./withdrawal.ts";

/** Returns one withdrawal for the courier. */
export function courierViewOf(withdrawal: Withdrawal, policy: Policy): CourierView {
  const { job } = withdrawal;
  const asset = policy.asset(laneOf(job));
  const step = stepOf(withdrawal);
  return {
    ...step,
    sequence: job.sequence,
    mode: job.mode,
    currency: job.currency,
    chain: asset?.chain ?? "",
    network: job.network,
    contract: withdrawal.amountUnits === "" ? (asset?.contract ?? "") : withdrawal.contract,
    amount: job.amount,
    amountUnits: unitsOf(withdrawal, policy),
    address: withdrawal.address,
    payer: step.account || (policy.payer(job)?.account ?? ""),
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
export function showsBytes({ versions }: CourierView): boolean {
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
