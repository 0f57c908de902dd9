/**
 * An operator ends a withdrawal that no block takes: a sweep whose slot the chain's final count
 * cannot reach, a payment below its account's first slot, or a payment or sweep whose pin no
 * node shows. Two sides must confirm that. For a slot, the courier's
 * nodes count below it, and no withdrawal here fills the gap; the gateway, with its own nodes, has
 * named the sweep in this run, or has reported its end. The slot belongs to the withdrawal
 * permanently, because the signed bytes may still use it. A sweep's bytes pay the hot wallet.
 * Touches nothing; records go through the `RequestContext`.
 */
import { type Refusal, refuse } from "../../../base/fault.ts";
import { familyOf, isFirstSlotOnChain, pinExclusionOf, saySlot } from "../../../chains/families.ts";
import { isInternalMode, limitGroupOf } from "../../../protocol/job-mode.ts";
import type { EndPlan } from "../../socket/stuck.ts";
import { owedWithdrawalsMax } from "../state/owed-coins.ts";
import { amountUnitsOf } from "../state/view.ts";
import {
  isEndedByOperator,
  isInNoBlock,
  isOver,
  pinOf,
  type Withdrawal,
} from "../state/withdrawal.ts";
import { isSameOperator } from "./approve.ts";
import { explainCoinNotGone } from "./coin-looks.ts";
import { accountCountKey, type RequestContext, refuseIfGateClosed } from "./context.ts";

/*
 * The end of a withdrawal whose pin no node shows. Gateway and courier must both have seen nothing
 * of the transaction that made it for a day of chain time, in blocks and mempools. The signed bytes
 * stay good if that coin appears after all. An attempt of a payment that spends it alone could then
 * pay only money that is not in the wallet today; where an attempt has coins beside it, the renewal
 * has to spend one of each such attempt, named by the gateway in this run (`OwedCoins`). Touches
 * nothing.
 */

/** Returns the plan, or why the withdrawal may still be paid. */
function planCoinEnd(
  context: RequestContext,
  withdrawal: Withdrawal,
): { readonly ok: true; readonly plan: EndPlan } | Refusal {
  const { run, core } = context;
  const { transactionId, slot } = withdrawal;
  if (!isInNoBlock(withdrawal))
    return refuse("REPLACEMENT_REACHABLE", "the courier's nodes show it in a block");
  // A ledger restored from a backup may have forgotten an end that the gateway holds.
  if (!run.endable.has(transactionId) && !withdrawal.isEnded)
    return refuse(
      "REPLACEMENT_REACHABLE",
      "the gateway's nodes have not missed its coin for 24 hours",
    );
  const shown = explainCoinNotGone(context, withdrawal);
  if (shown !== null) return refuse("REPLACEMENT_REACHABLE", shown);
  const owed = isInternalMode(withdrawal.job.mode)
    ? { ok: true as const, coins: [] }
    : owedBy(context, withdrawal);
  if (!owed.ok) return owed;
  if (core.owed.size >= owedWithdrawalsMax)
    return refuse(
      "REPLACEMENT_REACHABLE",
      `${owedWithdrawalsMax} renewals of such payments are to come first`,
    );
  return { ok: true, plan: { slot, counted: "", pin: pinOf(withdrawal), owed: owed.coins } };
}

/**
 * The coins that the renewal has to spend: one of each attempt that spends others beside the pin,
 * the fewest found. The chain shows whether a named one is spent, and none else is known to exist.
 */
function owedBy(
  { run }: RequestContext,
  { job, account, attempts }: Withdrawal,
): { readonly ok: true; readonly coins: readonly string[] } | Refusal {
  const exclusion = pinExclusionOf(job.network);
  const coins: string[] = [];
  const paying = attempts.filter(({ txHash, isCancel }) => txHash !== "" && !isCancel);
  for (const { attempt, txParams } of paying) {
    if (txParams === null)
      return refuse(
        "REPLACEMENT_REACHABLE",
        `the coins of attempt ${attempt} are not known since the recovery`,
      );
    const [, ...others] = exclusion?.coins(txParams) ?? [];
    if (others.length === 0 || others.some((coin) => coins.includes(coin))) continue;
    const named = others.filter((coin) =>
      run.sightings.names({ network: job.network, account }, coin),
    );
    const found =
      named.find((coin) => paying.every((one) => isIn(one.txParams, coin, job.network))) ??
      named[0];
    if (found === undefined)
      return refuse(
        "REPLACEMENT_REACHABLE",
        `the gateway has named none of the coins beside it in attempt ${attempt} in this run`,
      );
    coins.push(found);
  }
  return { ok: true, coins };
}

/** True if an attempt spends the coin, or no other coin than the pin. */
function isIn(
  txParams: Withdrawal["attempts"][number]["txParams"],
  coin: string,
  network: string,
): boolean {
  const [, ...others] =
    txParams === null ? [""] : (pinExclusionOf(network)?.coins(txParams) ?? [""]);
  return others.length === 0 || others.includes(coin);
}

/*
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

/** Returns the plan, or why the payment may still be paid. */
function planBelowEnd(
  context: RequestContext,
  withdrawal: Withdrawal,
): { readonly ok: true; readonly plan: EndPlan } | Refusal {
  const { run } = context;
  const { transactionId, slot, job, account, isEnded } = withdrawal;
  const { compare } = familyOf(job.network).slots;
  // A courier that does not know the beginning calls the slot used by another transaction.
  if (!isInNoBlock(withdrawal)) return reachable("the courier's nodes show it in a ledger");
  const key = accountCountKey(context, job.network, account);
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

type EndResult =
  | { readonly ok: true; readonly withdrawal: Withdrawal; readonly plan: EndPlan }
  | Refusal;

/** Returns the plan of `end`; records nothing. */
export function planEnd(
  context: RequestContext,
  transactionId: string,
  approver: string,
): EndResult {
  const closed = refuseIfGateClosed(context);
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
  const isFirst = needsTwo(context, withdrawal) && isSameOperator(firstEnd, approver);
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
  return isFirstSlotOnChain(job.network) ? planBelowEnd : null;
}

/** A sweep, on a chain that counts. */
function planSlotEnd(
  context: RequestContext,
  withdrawal: Withdrawal,
): { readonly ok: true; readonly plan: EndPlan } | Refusal {
  const { transactionId, slot, job, account } = withdrawal;
  const { slots } = familyOf(job.network);
  const counted = context.run.counts.get(accountCountKey(context, job.network, account));
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
    !isInternalMode(job.mode) &&
    policy.needsTwoToEnd(limitGroupOf(job), BigInt(amountUnitsOf(withdrawal, policy) || "0"))
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
