/**
 * A replacement on the slot of a withdrawal, built from the same approval with higher fees. On a
 * chain with exclusion by expiry, it follows only after all earlier versions are dead (waiting.ts).
 * Touches nothing; the INTENT record and the vault's work go through the `Turn`.
 */

import { invariant, refuse } from "../../../base/fault.ts";
import { familyOf, waitingOf } from "../../../chains/families.ts";
import type { Bidding, Facts, Fees } from "../../../chains/family.ts";
import { laneOf } from "../../../protocol/job-mode.ts";
import { versionsMax } from "../../../protocol/payloads.ts";
import { courierVersionsMax, versionsApartMs } from "../../socket/limits.ts";
import { isCancelling, isLate, isOver, type Version } from "../state/withdrawal.ts";
import { intend, type Prepared, recorded } from "./intent.ts";
import { closedGate, pausedBy, type Turn } from "./run.ts";
import { prepareNext, stillAlive } from "./waiting.ts";

/**
 * Prepares a replacement on the same slot, after version `above`, the newest. Both fees rise by at
 * least an eighth, or more if the given parameters ask for it. A repeat is harmless: the existing
 * version is the answer.
 * @throws AgentError TRANSACTION_FIELD as `prepareSign`
 */
export function prepareReplace(turn: Turn, transactionId: string, above: number, claimed: Facts): Prepared {
  const closed = closedGate(turn);
  if (closed !== null) return closed;
  const { core } = turn;
  const withdrawal = core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  const isCancel = isCancelling(withdrawal);
  if (withdrawal.state === "quarantined" && !isCancel) return refuse("WITHDRAWAL_HELD", withdrawal.code);
  const made = withdrawal.versions[above];
  if (made !== undefined && made.txHash !== "") return { ok: true, work: null };
  if (isOver(withdrawal)) return refuse("WITHDRAWAL_CLOSED", withdrawal.state);
  const paused = isCancel ? null : pausedBy(turn);
  if (paused !== null) return paused;
  if (made !== undefined && made.isCancel !== isCancel) return refuse("WITHDRAWAL_CANCELLING");
  if (made !== undefined) return isLate(withdrawal) ? stillAlive(withdrawal) : recorded(turn, withdrawal, made);
  const newest = withdrawal.versions[above - 1];
  if (newest === undefined) return refuse("WITHDRAWAL_VERSION_UNKNOWN", `there is no version ${above}`);
  if (!newest.released) return refuse("WITHDRAWAL_NOT_RELEASED");
  if (withdrawal.state === "included") return refuse("WITHDRAWAL_INCLUDED");
  if (above >= versionsMax) return refuse("WITHDRAWAL_TOO_MANY_VERSIONS");
  if (waitingOf(withdrawal.job.network) !== null)
    return prepareNext(turn, withdrawal, above, claimed, above < courierVersionsMax);
  if (above >= courierVersionsMax) return refuse("WITHDRAWAL_WAITS_FOR_PERSON", `${above} versions are made`);
  // A version from a recovery has no known time of signature; it was long ago.
  const ageMs = turn.nowMs - newest.signedAt;
  if (newest.signedAt > 0 && ageMs < versionsApartMs) return refuse("WITHDRAWAL_TOO_SOON", `${ageMs} ms after the one before`);
  const account = core.accounts.find(withdrawal.job.network, withdrawal.account);
  invariant(account !== undefined, "a bound slot has its account");
  const { fees } = familyOf(withdrawal.job.network);
  const { bidding } = fees;
  invariant(bidding !== null, "whose slot excludes bids for its place");
  const facts = fees.read(claimed);
  const tipAllowedUnits = tipAllowed(fees, bidding, newest, core.policy.tipMaxUnits(laneOf(withdrawal.job)));
  // After an operator's cancel, the replacement is of the cancel: this slot pays nothing any more.
  // The courier may report an end of a withdrawal that policy holds, and such a report is no
  // approval.
  const approval = isCancel ? null : core.policy.approval(transactionId);
  if (approval === undefined) return refuse("WITHDRAWAL_HELD", withdrawal.code);
  const { slot, versions } = withdrawal;
  const dearer = bidding.dearer(versions, facts, isCancel);
  return intend(turn, { withdrawal, approval, account, slot, version: above + 1, facts: dearer, tipAllowedUnits });
}

/**
 * Returns the tip that is allowed above the ceiling. Only an operator sets a tip above the ceiling;
 * the next version must still pay more, by the least step, or no further version would be possible.
 */
function tipAllowed(fees: Fees, bidding: Bidding, newest: Version, maxUnits: bigint): bigint {
  return newest.facts !== null && fees.tipOf(newest.facts) > maxUnits ? bidding.leastTip([newest]) : 0n;
}
