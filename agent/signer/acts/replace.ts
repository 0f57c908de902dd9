/**
 * A dearer version on the slot that a withdrawal has: built from the same approval. Where versions
 * end by waiting, the next one after all before are dead (waiting.ts). Touches nothing: the INTENT
 * record and the work for the vault leave through the turn.
 */
import { familyOf, waitingOf } from "../../../chains/families.ts";
import type { Bidding, Facts, Fees } from "../../../chains/family.ts";
import { invariant, refuse } from "../../../protocol/fault.ts";
import { laneOf } from "../../../protocol/job-mode.ts";
import { versionsMax } from "../../../protocol/payloads.ts";
import { isCancelling, isLate, isOver, type Version } from "../state/withdrawal.ts";
import { intend, intendCancel, type Prepared, recorded } from "./intent.ts";
import { closedGate, pausedBy, type Turn } from "./run.ts";
import { prepareNext, stillAlive } from "./waiting.ts";

/**
 * A courier makes no more than these; the rest of the twenty are a person's, so that no courier and
 * no node uses all of them up.
 * @public
 */
export const courierVersionsMax = 14;
/**
 * Between two versions of one slot, in ledger time: blocks have a chance to take the first before
 * the second.
 * @public
 */
export const versionsApartMs = 30_000;

/**
 * A dearer version of the same slot, `above` the newest one. Both fees rise by an eighth at least,
 * more if the facts ask for it. Twice is harmless: the version already made answers.
 * @throws AgentError TRANSACTION_FIELD as `prepareSign`
 * @public
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
  // Of a version that a recovery took over nobody knows when it was signed: long ago.
  const ageMs = turn.nowMs - newest.signedAt;
  if (newest.signedAt > 0 && ageMs < versionsApartMs) return refuse("WITHDRAWAL_TOO_SOON", `${ageMs} ms after the one before`);
  const account = core.accounts.find(withdrawal.job.network, withdrawal.account);
  invariant(account !== undefined, "a bound slot has its account");
  const { fees } = familyOf(withdrawal.job.network);
  const { bidding } = fees;
  invariant(bidding !== null, "whose slot excludes bids for its place");
  const facts = fees.read(claimed);
  const tipAllowedUnits = tipAllowed(fees, bidding, newest, core.policy.tipMaxUnits(laneOf(withdrawal.job)));
  // A person cancelled it: the dearer version is of the cancel, and nothing is paid on this slot
  // any more.
  if (isCancel) {
    const dearer = bidding.dearer(withdrawal.versions, facts, true);
    return intendCancel(turn, withdrawal, account, above + 1, dearer, { tipAllowedUnits });
  }
  // One that policy holds may be called ended by the courier, and got no yes by that.
  const approval = core.policy.approval(transactionId);
  if (approval === undefined) return refuse("WITHDRAWAL_HELD", withdrawal.code);
  const dearer = bidding.dearer(withdrawal.versions, facts, false);
  return intend(turn, approval, account, withdrawal.slot, above + 1, dearer, { tipAllowedUnits });
}

/**
 * A tip above the ceiling is a person's. The next version must be dearer still, by the least step,
 * or there could be none.
 */
function tipAllowed(fees: Fees, bidding: Bidding, newest: Version, maxUnits: bigint): bigint {
  return newest.facts !== null && fees.tipOf(newest.facts) > maxUnits ? bidding.leastTip([newest]) : 0n;
}
