/**
 * An operator ends a withdrawal that no block takes: a sweep whose slot the chain's final count
 * cannot reach, a payment below its account's first slot (below-end.ts), or a payment or sweep
 * whose pin no node shows (coin-end.ts). Two sides must confirm that. For a slot, the courier's
 * nodes count below it, and no withdrawal here fills the gap; the gateway, with its own nodes, has
 * named the sweep in this run, or has reported its end. The slot belongs to the withdrawal
 * permanently, because the signed bytes may still use it. A sweep's bytes pay the hot wallet.
 * Touches nothing; records go through the `RequestContext`.
 */

import { type Refusal, refuse } from "../../../base/fault.ts";
import { beginsLate, familyOf, pinExclusionOf, saySlot } from "../../../chains/families.ts";
import { isInternal, limitGroupOf } from "../../../protocol/job-mode.ts";
import type { EndPlan } from "../../socket/stuck.ts";
import { unitsOf } from "../state/view.ts";
import { isEndedByOperator, isOver, type Withdrawal } from "../state/withdrawal.ts";
import { isSameName } from "./approve.ts";
import { planBelowEnd } from "./below-end.ts";
import { planCoinEnd } from "./coin-end.ts";
import { closedGate, countKey, type RequestContext } from "./context.ts";

type EndResult =
  | { readonly ok: true; readonly withdrawal: Withdrawal; readonly plan: EndPlan }
  | Refusal;

/** Returns the plan of `end`; records nothing. */
export function planEnd(
  context: RequestContext,
  transactionId: string,
  approver: string,
): EndResult {
  const closed = closedGate(context);
  if (closed !== null) return closed;
  const withdrawal = context.core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  const { slot, state } = withdrawal;
  if (isOver(withdrawal)) return refuse("WITHDRAWAL_CLOSED", state);
  if (slot === "") return refuse("REPLACEMENT_NO_SLOT");
  const plan = planOf(withdrawal);
  if (plan === null)
    return refuse(
      "REPLACEMENT_REACHABLE",
      "only a sweep on a chain that counts, or a chain with coins, or one on which accounts begin late",
    );
  if (state === "intent" || state === "signed") return refuse("WITHDRAWAL_NOT_RELEASED");
  const planned = plan(context, withdrawal);
  if (!planned.ok) return planned;
  // The first operator's yes again changes nothing.
  const { firstEnd = approver } = withdrawal;
  const isFirst = needsTwo(context, withdrawal) && isSameName(firstEnd, approver);
  return {
    ok: true,
    withdrawal,
    plan: isFirst ? { ...planned.plan, isFirstYes: true } : planned.plan,
  };
}

/** The evidence that ends a withdrawal without a block; null if nothing does. */
function planOf({ job }: Withdrawal): typeof planSlotEnd | null {
  if (pinExclusionOf(job.network) !== null) return planCoinEnd;
  if (job.mode === "sweep") return familyOf(job.network).slots.isCounted ? planSlotEnd : null;
  return beginsLate(job.network) ? planBelowEnd : null;
}

/** A sweep, on a chain that counts. */
function planSlotEnd(
  context: RequestContext,
  withdrawal: Withdrawal,
): { readonly ok: true; readonly plan: EndPlan } | Refusal {
  const { transactionId, slot, job, account } = withdrawal;
  const { slots } = familyOf(job.network);
  const counted = context.run.counts.get(countKey(context, job.network, account));
  if (counted === undefined)
    return refuse(
      "REPLACEMENT_REACHABLE",
      "the courier's nodes have not agreed on a count in this run",
    );
  if (slots.compare(counted, slot) >= 0)
    return refuse(
      "REPLACEMENT_REACHABLE",
      `the nodes count ${counted}, it has ${saySlot(job.network, slot)}`,
    );
  const filler = ownerOf(context, withdrawal, counted);
  if (filler !== undefined)
    return refuse("REPLACEMENT_REACHABLE", `${saySlot(job.network, counted)} is ${filler}'s`);
  // A ledger restored from a backup may have forgotten an end that the gateway holds.
  if (!context.run.unreachable.has(transactionId) && !withdrawal.isEnded)
    return refuse("REPLACEMENT_REACHABLE", "the gateway has not said so in this run");
  return { ok: true, plan: { slot, counted } };
}

/** True if the payment is so large that two operators end it. */
function needsTwo({ core: { policy } }: RequestContext, withdrawal: Withdrawal): boolean {
  const { job } = withdrawal;
  return (
    !isInternal(job.mode) &&
    policy.needsTwoToEnd(limitGroupOf(job), BigInt(unitsOf(withdrawal, policy) || "0"))
  );
}

/**
 * Ends the withdrawal under the name of the operator who saw the plan, or records the first yes of
 * two. A repeat is harmless. Refuses as `planEnd`, and with REPLACEMENT_OTHER_PLAN if the
 * withdrawal has another slot.
 */
export function endUnreachable(
  context: RequestContext,
  transactionId: string,
  slot: string,
  approver: string,
): EndResult {
  const known = context.core.book.find(transactionId);
  if (known !== undefined && isEndedByOperator(known) && known.slot === slot)
    return { ok: true, withdrawal: known, plan: { slot, counted: "" } };
  const planned = planEnd(context, transactionId, approver);
  if (!planned.ok) return planned;
  const { plan, withdrawal } = planned;
  if (plan.slot !== slot) return refuse("REPLACEMENT_OTHER_PLAN");
  const yes = { kind: "MANUAL_REPLACEMENT", transactionId, act: "end", approver } as const;
  if (plan.isFirstYes === true) {
    if (withdrawal.firstEnd === undefined) context.commit([{ ...yes, isFirstYes: true }]);
    return planned;
  }
  const { owed = [] } = plan;
  context.commit([
    { ...yes, ...(owed.length === 0 ? {} : { coins: owed }) },
    { kind: "EXPIRED", transactionId },
  ]);
  return planned;
}

/** Returns the open withdrawal that has this slot of the same account. */
function ownerOf(
  { core }: RequestContext,
  { account, job }: Withdrawal,
  slot: string,
): string | undefined {
  for (const one of core.book.open()) {
    const isThere = one.account === account && one.job.network === job.network && one.slot === slot;
    if (isThere && !isOver(one)) return one.transactionId;
  }
  return undefined;
}
