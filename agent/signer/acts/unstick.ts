/**
 * A manual replacement: an operator helps a withdrawal whose slot does not come into a block.
 * `replace` makes a version with higher fees, and `cancel` makes a zero payment to the account
 * itself on the same slot. The chain takes one of all versions, so no verb here can pay twice. On a
 * chain with exclusion by expiry, the operator's order is only recorded, and nothing is signed here
 * (waiting.ts). The operator sees the plan first and then orders exactly that plan. Touches
 * nothing; records and the vault's work go through the `Turn`.
 */

import { invariant, type Refusal, refuse } from "../../../base/fault.ts";
import { familyOf, saySlot } from "../../../chains/families.ts";
import type { Bidding, Facts, Fees } from "../../../chains/family.ts";
import { versionsMax } from "../../../protocol/payloads.ts";
import type { UnstickPlan, UnstickWish } from "../../socket/verbs.ts";
import type { Account } from "../state/accounts.ts";
import { isCancelling, isOver, type Version, type Withdrawal } from "../state/withdrawal.ts";
import { clear, intend, type Next, type Prepared, recorded } from "./intent.ts";
import { closedGate, pausedBy, type Turn } from "./run.ts";
import { cannotOrder, order } from "./waiting.ts";

/** The sources of a plan; `made` is a version that was recorded but not signed yet. */
interface Found {
  readonly ok: true;
  readonly withdrawal: Withdrawal;
  readonly account: Account;
  readonly act: "replace" | "cancel"; // a replacement of a cancelled withdrawal is a cancel
  readonly made: Version | null;
}

/**
 * Returns the plan of `replace` or `cancel`; records nothing. Without fees from the operator, both
 * fees are twice the newest version's. If twice is above the limits, they rise by an eighth, which
 * nodes ask of a replacement.
 * @throws AgentError TRANSACTION_FIELD if the given numbers are out of range
 */
export function planUnstick(
  turn: Turn,
  wish: UnstickWish,
): { readonly ok: true; readonly withdrawal: Withdrawal; readonly plan: UnstickPlan } | Refusal {
  const found = find(turn, wish);
  if (!found.ok) return found;
  const { withdrawal, made, act } = found;
  if (made !== null) return { ok: true, withdrawal, plan: planOf(found, made.version, made.facts ?? {}) };
  const bidding = biddingOf(withdrawal);
  if (bidding === null) {
    readWish(withdrawal, wish.facts);
    const refused = cannotOrder(withdrawal, wish.act);
    return refused ?? { ok: true, withdrawal, plan: { act: wish.act, version: withdrawal.versions.length + 1, facts: {} } };
  }
  const facts = bidding.unstick(withdrawal.versions, act === "cancel", readWish(withdrawal, wish.facts));
  if (!facts.ok) return facts;
  let first: Refusal | null = null;
  for (const each of facts.facts) {
    const cleared = clear(turn, nextOf(turn, found, each));
    if (cleared.ok) return { ok: true, withdrawal, plan: planOf(found, withdrawal.versions.length + 1, each) };
    first ??= cleared;
  }
  return first ?? refuse("UNSTICK_FEES");
}

/**
 * Records the version that an operator saw as a plan, under the operator's name, and returns the
 * vault's work. A repeat is harmless: the existing version is the answer.
 * @throws AgentError TRANSACTION_FIELD as `planUnstick`
 */
export function prepareUnstick(turn: Turn, wish: UnstickWish, plan: UnstickPlan, approver: string): Prepared {
  const known = turn.core.book.find(wish.transactionId)?.versions[plan.version - 1];
  if (known !== undefined && known.txHash !== "") {
    return known.isCancel === (plan.act === "cancel") ? { ok: true, work: null } : refuse("UNSTICK_OTHER_PLAN");
  }
  const found = find(turn, wish);
  if (!found.ok) return found;
  const { withdrawal, made, act } = found;
  const version = withdrawal.versions.length + (made === null ? 1 : 0);
  const bidding = biddingOf(withdrawal);
  if (bidding === null && made === null) {
    if (version !== plan.version || wish.act !== plan.act) return refuse("UNSTICK_OTHER_PLAN");
    return cannotOrder(withdrawal, wish.act) ?? order(turn, withdrawal, wish.act, approver);
  }
  if (act !== plan.act || version !== plan.version) return refuse("UNSTICK_OTHER_PLAN");
  if (made !== null) return recorded(turn, withdrawal, made);
  invariant(bidding !== null, "what ends by waiting was ordered above");
  const facts = bidding.unstick(withdrawal.versions, act === "cancel", feesOf(withdrawal).read(plan.facts));
  if (!facts.ok) return facts;
  const before = [{ kind: "UNSTUCK", transactionId: wish.transactionId, act, approver } as const];
  return intend(turn, { ...nextOf(turn, found, plan.facts), before });
}

/** Returns the withdrawal if a manual replacement is possible, else the reason. */
function find(turn: Turn, { transactionId, act }: UnstickWish): Found | Refusal {
  const closed = closedGate(turn);
  if (closed !== null) return closed;
  const { core } = turn;
  const withdrawal = core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (isOver(withdrawal)) return refuse("WITHDRAWAL_CLOSED", withdrawal.state);
  const newest = withdrawal.versions.at(-1);
  if (withdrawal.slot === "") return refuse("UNSTICK_UNBOUND");
  // The gateway takes no signature for this withdrawal on another's slot, and nothing that follows
  // such a signature.
  const { slot, rival } = withdrawal;
  if (rival !== undefined)
    return refuse("SLOT_CONTESTED", `the gateway has ${saySlot(withdrawal.job.network, slot)} for ${rival}: cancel that one`);
  const isCancel = act === "cancel" || isCancelling(withdrawal);
  const isQuarantined = withdrawal.state === "quarantined";
  // A withdrawal that a recovered ledger keeps may be called ended before policy has judged it.
  const isUnjudged = core.policy.approval(transactionId) === undefined;
  if ((isQuarantined || isUnjudged) && !isCancel) return refuse("WITHDRAWAL_HELD", withdrawal.code);
  const paused = isCancel ? null : pausedBy(turn);
  if (paused !== null) return paused;
  const account = core.accounts.find(withdrawal.job.network, withdrawal.account);
  invariant(account !== undefined, "a bound slot has its account");
  const found = { ok: true, withdrawal, account, act: isCancel ? "cancel" : "replace" } as const;
  const isUnsigned = newest?.txHash === "";
  if (isUnsigned && (newest.version > 1 || newest.isCancel) && newest.isCancel === isCancel) return { ...found, made: newest };
  const isOut = newest?.released === true || (isUnsigned && withdrawal.versions.some(({ released }) => released));
  if (!isOut && !isQuarantined) return refuse("WITHDRAWAL_NOT_RELEASED");
  // On a chain with exclusion by expiry, a cancel makes no version.
  const isLast = withdrawal.versions.length >= versionsMax && (biddingOf(withdrawal) !== null || !isCancel);
  if (isLast) return refuse("WITHDRAWAL_TOO_MANY_VERSIONS");
  return { ...found, made: null };
}

function nextOf({ core }: Turn, { withdrawal, account, act }: Found, facts: Facts): Next {
  const { transactionId, slot, versions } = withdrawal;
  const approval = act === "cancel" ? null : core.policy.approval(transactionId);
  invariant(approval !== undefined, "a withdrawal that is bound and not quarantined has its approval");
  return { withdrawal, approval, account, slot, version: versions.length + 1, facts, tipAllowedUnits: tipAllowed(withdrawal) };
}

/**
 * Returns the tip that is allowed above the ceiling. An operator may go above it by the least step
 * over every earlier version, or no version could help any more.
 */
function tipAllowed(withdrawal: Withdrawal): bigint {
  return biddingOf(withdrawal)?.leastTip(withdrawal.versions) ?? 0n;
}

/**
 * Returns null on a chain with exclusion by expiry, because nobody bids for a place in a block
 * there.
 */
function biddingOf(withdrawal: Withdrawal): Bidding | null {
  return feesOf(withdrawal).bidding;
}

function feesOf({ job }: Withdrawal): Fees {
  return familyOf(job.network).fees;
}

function readWish(withdrawal: Withdrawal, wish: Facts): Facts {
  return feesOf(withdrawal).readWish(wish);
}

function planOf({ act }: Found, version: number, facts: Facts): UnstickPlan {
  return { act, version, facts };
}
