/**
 * A person ends a sweep whose slot the chain's final count cannot reach. Two words have to say so:
 * the courier's nodes count below the slot and nothing here fills the gap, and the gateway has
 * named it in this run by its own nodes, or has said that it ended. The slot stays the sweep's for
 * good, since its bytes may still use it; they pay the wallet's own hot account. Touches nothing:
 * records leave through the turn.
 */
import { familyOf, saySlot } from "../../../chains/families.ts";
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import type { EndPlan } from "../../socket/stuck.ts";
import { isEndedByPerson, isOver, type Withdrawal } from "../state/withdrawal.ts";
import { closedGate, countKey, type Turn } from "./run.ts";

/**
 * The plan of `end`; records nothing.
 * @public
 */
export function planEnd(
  turn: Turn,
  transactionId: string,
): { readonly ok: true; readonly withdrawal: Withdrawal; readonly plan: EndPlan } | Refusal {
  const closed = closedGate(turn);
  if (closed !== null) return closed;
  const withdrawal = turn.core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  const { slot, job, state, account } = withdrawal;
  if (isOver(withdrawal)) return refuse("WITHDRAWAL_CLOSED", state);
  if (slot === "") return refuse("UNSTICK_UNBOUND");
  const { slots } = familyOf(job.network);
  if (job.mode !== "sweep" || !slots.isCounted) return refuse("UNSTICK_REACHABLE", "only a sweep on a chain that counts");
  if (state === "intent" || state === "signed") return refuse("WITHDRAWAL_NOT_RELEASED");
  const counted = turn.run.counts.get(countKey(turn, job.network, account));
  if (counted === undefined) return refuse("UNSTICK_REACHABLE", "the courier's nodes have not agreed on a count in this run");
  if (slots.compare(counted, slot) >= 0)
    return refuse("UNSTICK_REACHABLE", `the nodes count ${counted}, it has ${saySlot(job.network, slot)}`);
  const filler = ownerOf(turn, withdrawal, counted);
  if (filler !== undefined) return refuse("UNSTICK_REACHABLE", `${saySlot(job.network, counted)} is ${filler}'s`);
  // A ledger that was put back may have forgotten an end that the gateway holds.
  if (!turn.run.unreachable.has(transactionId) && !withdrawal.isEnded)
    return refuse("UNSTICK_REACHABLE", "the gateway has not said so in this run");
  return { ok: true, withdrawal, plan: { slot, counted } };
}

/**
 * Ends it, under the name of whoever saw the plan. Twice is harmless. Refuses as `planEnd`, and
 * UNSTICK_OTHER_PLAN for another slot than it has.
 * @public
 */
export function endUnreachable(
  turn: Turn,
  transactionId: string,
  slot: string,
  approver: string,
): { readonly ok: true; readonly withdrawal: Withdrawal; readonly plan: EndPlan } | Refusal {
  const known = turn.core.book.find(transactionId);
  if (known !== undefined && isEndedByPerson(known) && known.slot === slot)
    return { ok: true, withdrawal: known, plan: { slot, counted: "" } };
  const planned = planEnd(turn, transactionId);
  if (!planned.ok) return planned;
  if (planned.plan.slot !== slot) return refuse("UNSTICK_OTHER_PLAN");
  turn.commit([
    { kind: "UNSTUCK", transactionId, act: "end", approver },
    { kind: "EXPIRED", transactionId },
  ]);
  return planned;
}

/** The open withdrawal that has a slot of the same account. */
function ownerOf({ core }: Turn, { account, job }: Withdrawal, slot: string): string | undefined {
  for (const one of core.book.open()) {
    const isThere = one.account === account && one.job.network === job.network && one.slot === slot;
    if (isThere && !isOver(one)) return one.transactionId;
  }
  return undefined;
}
