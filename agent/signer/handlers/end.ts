/**
 * An operator ends a sweep whose slot the chain's final count cannot reach. Two sides must confirm
 * that. The courier's nodes count below the slot, and no withdrawal here fills the gap. The
 * gateway, with its own nodes, has named the sweep in this run, or has reported the sweep's end.
 * The slot belongs to the sweep permanently, because the signed bytes may still use it. Those bytes
 * pay the hot wallet. Touches nothing; records go through the `RequestContext`.
 */

import { type Refusal, refuse } from "../../../base/fault.ts";
import { familyOf, saySlot } from "../../../chains/families.ts";
import type { EndPlan } from "../../socket/stuck.ts";
import { isEndedByOperator, isOver, type Withdrawal } from "../state/withdrawal.ts";
import { closedGate, countKey, type RequestContext } from "./context.ts";

/** Returns the plan of `end`; records nothing. */
export function planEnd(
  context: RequestContext,
  transactionId: string,
): { readonly ok: true; readonly withdrawal: Withdrawal; readonly plan: EndPlan } | Refusal {
  const closed = closedGate(context);
  if (closed !== null) return closed;
  const withdrawal = context.core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  const { slot, job, state, account } = withdrawal;
  if (isOver(withdrawal)) return refuse("WITHDRAWAL_CLOSED", state);
  if (slot === "") return refuse("REPLACEMENT_NO_SLOT");
  const { slots } = familyOf(job.network);
  if (job.mode !== "sweep" || !slots.isCounted) return refuse("REPLACEMENT_REACHABLE", "only a sweep on a chain that counts");
  if (state === "intent" || state === "signed") return refuse("WITHDRAWAL_NOT_RELEASED");
  const counted = context.run.counts.get(countKey(context, job.network, account));
  if (counted === undefined) return refuse("REPLACEMENT_REACHABLE", "the courier's nodes have not agreed on a count in this run");
  if (slots.compare(counted, slot) >= 0)
    return refuse("REPLACEMENT_REACHABLE", `the nodes count ${counted}, it has ${saySlot(job.network, slot)}`);
  const filler = ownerOf(context, withdrawal, counted);
  if (filler !== undefined) return refuse("REPLACEMENT_REACHABLE", `${saySlot(job.network, counted)} is ${filler}'s`);
  // A ledger restored from a backup may have forgotten an end that the gateway holds.
  if (!context.run.unreachable.has(transactionId) && !withdrawal.isEnded)
    return refuse("REPLACEMENT_REACHABLE", "the gateway has not said so in this run");
  return { ok: true, withdrawal, plan: { slot, counted } };
}

/**
 * Ends the sweep under the name of the operator who saw the plan. A repeat is harmless. Refuses as
 * `planEnd`, and with REPLACEMENT_OTHER_PLAN if the sweep has another slot.
 */
export function endUnreachable(
  context: RequestContext,
  transactionId: string,
  slot: string,
  approver: string,
): { readonly ok: true; readonly withdrawal: Withdrawal; readonly plan: EndPlan } | Refusal {
  const known = context.core.book.find(transactionId);
  if (known !== undefined && isEndedByOperator(known) && known.slot === slot)
    return { ok: true, withdrawal: known, plan: { slot, counted: "" } };
  const planned = planEnd(context, transactionId);
  if (!planned.ok) return planned;
  if (planned.plan.slot !== slot) return refuse("REPLACEMENT_OTHER_PLAN");
  context.commit([
    { kind: "MANUAL_REPLACEMENT", transactionId, act: "end", approver },
    { kind: "EXPIRED", transactionId },
  ]);
  return planned;
}

/** Returns the open withdrawal that has this slot of the same account. */
function ownerOf({ core }: RequestContext, { account, job }: Withdrawal, slot: string): string | undefined {
  for (const one of core.book.open()) {
    const isThere = one.account === account && one.job.network === job.network && one.slot === slot;
    if (isThere && !isOver(one)) return one.transactionId;
  }
  return undefined;
}
