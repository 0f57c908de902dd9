/**
 * The end of a payment with a slot below the first that its account ever had, on a chain whose
 * accounts begin late. No ledger takes such a payment, now or later, so its renewal owes nothing:
 *
 * - An account begins at the number of the ledger in which it was made, and its sequence only rises
 *   from there. A ledger takes a transaction at the account's sequence alone (tefPAST_SEQ below
 *   it). One that is deleted and made again begins at a later ledger's number, which is higher.
 * - No ledger from before the account has the payment either: the account did not exist in a ledger
 *   that closed before the order was made.
 *
 * Both sides' nodes must show that by themselves: the courier's with its newest count in this run,
 * and the gateway's, which then names the payment. Touches nothing. Sources: xrpl.org, amendment
 * DeletableAccounts; tef codes.
 */
import { type Refusal, refuse } from "../../../base/fault.ts";
import { familyOf, saySlot } from "../../../chains/families.ts";
import type { EndPlan } from "../../socket/stuck.ts";
import { isInNoBlock, type Withdrawal } from "../state/withdrawal.ts";
import { countKey, type RequestContext } from "./context.ts";

/** Returns the plan, or why the payment may still be paid. */
export function planBelowEnd(
  context: RequestContext,
  withdrawal: Withdrawal,
): { readonly ok: true; readonly plan: EndPlan } | Refusal {
  const { run } = context;
  const { transactionId, slot, job, account, isEnded } = withdrawal;
  const { compare } = familyOf(job.network).slots;
  // A courier that does not know the beginning calls the slot used by another transaction.
  if (!isInNoBlock(withdrawal)) return reachable("the courier's nodes show it in a ledger");
  const key = countKey(context, job.network, account);
  const [counted, began] = [run.counts.get(key), run.began.get(key)];
  if (counted === undefined)
    return reachable("the courier's nodes have not agreed on a count in this run");
  if (compare(counted, slot) <= 0)
    return reachable(`the nodes count ${counted}, it has ${saySlot(job.network, slot)}`);
  if (began === undefined)
    return reachable("the courier's nodes have not shown where its account began");
  if (compare(began.slot, slot) <= 0)
    return reachable(`its account began at ${began.slot}, it has ${saySlot(job.network, slot)}`);
  if (began.absentMs >= job.issuedAt)
    return reachable("its account was made after the order: an earlier one may have paid it");
  // A ledger restored from a backup may have forgotten an end that the gateway holds.
  if (!run.unreachable.has(transactionId) && !isEnded)
    return reachable("the gateway has not said so in this run");
  return { ok: true, plan: { slot, counted, began: began.slot } };
}

const reachable = (detail: string): Refusal => refuse("REPLACEMENT_REACHABLE", detail);
