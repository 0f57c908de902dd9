/**
 * A replacement on the slot of a withdrawal, built from the same approval with higher fees. On a
 * chain with exclusion by expiry, it follows only after all earlier versions are dead (waiting.ts).
 * Touches nothing; the INTENT record and the vault's work go through the `Turn`.
 */

import { invariant, type Refusal, refuse } from "../../../base/fault.ts";
import { firstOf, type Guard } from "../../../base/guard.ts";
import { familyOf, waitingOf } from "../../../chains/families.ts";
import type { Bidding, Facts, Fees } from "../../../chains/family.ts";
import { laneOf } from "../../../protocol/job-mode.ts";
import { versionsMax } from "../../../protocol/payloads.ts";
import { courierVersionsMax, versionsApartMs } from "../../socket/limits.ts";
import { isCancelling, isLate, isOver, type Version, type Withdrawal } from "../state/withdrawal.ts";
import { intend, type Prepared, recorded } from "./intent.ts";
import { closedGate, pausedBy, type Turn } from "./run.ts";
import { prepareNext, stillAlive } from "./waiting.ts";

/** A replacement that the courier asks for. */
interface Asked {
  readonly turn: Turn;
  readonly one: Withdrawal;
  readonly above: number; // the newest version
  readonly claimed: Facts;
  readonly isCancel: boolean; // an operator cancelled the withdrawal
  readonly made: Version | undefined; // the version after `above`
  readonly newest: Version | undefined;
  readonly ageMs: number; // of the newest; a version from a recovery was signed long ago
}

/** The answers without a new version on a chain with nonces, in order. */
export const replaceGuards: readonly Guard<Asked, Prepared>[] = [
  ["held", ({ one, isCancel }) => one.state === "quarantined" && !isCancel, ({ one }) => refuse("WITHDRAWAL_HELD", one.code)],
  ["signed", ({ made }) => made !== undefined && made.txHash !== "", () => ({ ok: true, work: null })],
  ["over", ({ one }) => isOver(one), ({ one }) => refuse("WITHDRAWAL_CLOSED", one.state)],
  ["paused", ({ turn, isCancel }) => !isCancel && pausedBy(turn) !== null, ({ turn }) => pausedBy(turn) as Refusal],
  ["cancelled since", ({ made, isCancel }) => made?.isCancel === !isCancel, () => refuse("WITHDRAWAL_CANCELLING")],
  ["recorded too early", ({ made, one }) => made !== undefined && isLate(one), ({ one }) => stillAlive(one)],
  ["recorded", ({ made }) => made !== undefined, ({ turn, one, made }) => recorded(turn, one, made as Version)],
  [
    "not the newest",
    ({ newest }) => !newest,
    ({ above }) => refuse("WITHDRAWAL_VERSION_UNKNOWN", `there is no version ${above}`),
  ],
  ["not released", ({ newest }) => newest?.released !== true, () => refuse("WITHDRAWAL_NOT_RELEASED")],
  ["in a block", ({ one }) => one.state === "included", () => refuse("WITHDRAWAL_INCLUDED")],
  ["last version", ({ above }) => above >= versionsMax, () => refuse("WITHDRAWAL_TOO_MANY_VERSIONS")],
  ["excluded by expiry", ({ one }) => waitingOf(one.job.network) !== null, (asked) => next(asked)],
  [
    "an operator's",
    ({ above }) => above >= courierVersionsMax,
    ({ above }) => refuse("WITHDRAWAL_WAITS_FOR_PERSON", count(above)),
  ],
  ["too soon", ({ ageMs }) => ageMs < versionsApartMs, ({ ageMs }) => refuse("WITHDRAWAL_TOO_SOON", ageWords(ageMs))],
];

const count = (above: number): string => `${above} versions are made`;
const ageWords = (ageMs: number): string => `${ageMs} ms after the one before`;
const next = ({ turn, one, above, claimed }: Asked): Prepared =>
  prepareNext(turn, one, above, claimed, above < courierVersionsMax);

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
  const [newest, made] = [withdrawal.versions[above - 1], withdrawal.versions[above]];
  const ageMs = turn.nowMs - (newest?.signedAt ?? 0);
  const decided = firstOf(replaceGuards, { turn, one: withdrawal, above, claimed, isCancel, made, newest, ageMs });
  if (decided !== null) return decided;
  invariant(newest !== undefined, "a replacement follows a version");
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
