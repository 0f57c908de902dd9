/**
 * The first attempt of a withdrawal: it takes the next slot of its account permanently. Touches
 * nothing; the INTENT record and the vault's work go through the `RequestContext`.
 */

import { invariant, type Refusal, refuse } from "../../../base/fault.ts";
import { familyOf, saySlot } from "../../../chains/families.ts";
import type { AccountSlot } from "../../../chains/family.ts";
import { pendingPerAccountMax } from "../../socket/limits.ts";
import type { CourierOffer } from "../../socket/offered.ts";
import { type Account, isAwaitingInclusion } from "../state/accounts.ts";
import { isFinal, nextState } from "../state/machine.ts";
import type { Withdrawal } from "../state/withdrawal.ts";
import { findOrBeginAccount, mayAccountBeginAgain } from "./adopt.ts";
import { refuseIfUncleared } from "./cleared.ts";
import {
  accountCountKey,
  type RequestContext,
  refuseIfGateClosed,
  refuseIfPaused,
} from "./context.ts";
import { checkAndTimestampTxParams } from "./expiry-exclusion.ts";
import { refuseIfFirstAttemptStopped } from "./foreign.ts";
import { type PreparedAttempt, prepareRecordedIntent, recordIntent } from "./intent.ts";

/**
 * Prepares the first attempt of an approved withdrawal. A repeat is harmless: a withdrawal with a
 * slot never gets another, and its recorded bytes are signed whatever parameters the courier sends
 * now. Long: the checks, in the order in which a refusal names them.
 * @throws AgentError TRANSACTION_FIELD if the parameters are out of range; nothing is recorded then
 */
export function prepareSign(
  context: RequestContext,
  transactionId: string,
  { txParams, evidence }: CourierOffer,
): PreparedAttempt {
  const closed = refuseIfGateClosed(context);
  if (closed !== null) return closed;
  const { core, nowMs } = context;
  const withdrawal = core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (withdrawal.state === "quarantined") return refuse("WITHDRAWAL_HELD", withdrawal.code);
  const first = withdrawal.attempts[0];
  if (first !== undefined && first.txHash !== "") return { ok: true, work: null };
  const stopped = refuseIfPaused(context) ?? refuseIfFirstAttemptStopped(context, withdrawal.job);
  if (stopped !== null) return stopped;
  if (first !== undefined)
    return (
      waitingBelow(core, placeOf(withdrawal)) ?? prepareRecordedIntent(context, withdrawal, first)
    );
  if (withdrawal.state === "held") return refuse("WITHDRAWAL_HELD", withdrawal.code);
  if (nextState(withdrawal.state, "intent") === null)
    return refuse("WITHDRAWAL_CLOSED", withdrawal.state);
  if (withdrawal.slot === "" && nowMs > withdrawal.job.expiresAt) {
    context.commit([{ kind: "EXPIRED", transactionId }]);
    return refuse("JOB_EXPIRED");
  }
  const approval = core.policy.approval(transactionId);
  invariant(approval !== undefined, "an approved withdrawal has its approval");
  const isAssigned = withdrawal.slot !== "";
  const sender = core.policy.sender(withdrawal.job);
  if (sender === null) return refuse("JOB_DEPOSIT_ADDRESS");
  const account = findOrBeginAccount(context, approval.network, sender.account);
  if (account === undefined) return refuse("ACCOUNT_NOT_ADOPTED", approval.chain);
  if (!isAssigned && mayAccountBeginAgain(context, account))
    return refuse("ACCOUNT_NOT_ADOPTED", "it begins again behind an ended sweep");
  const offer =
    refuseIfUncleared(context, withdrawal) ?? checkAndTimestampTxParams(context, account, txParams);
  if (!offer.ok) return offer;
  const next = { withdrawal, approval, account, attempt: 1, txParams: offer.txParams, evidence };
  // A recovered ledger keeps a slot for this withdrawal, and nothing was signed on that slot.
  if (isAssigned)
    return (
      waitingBelow(core, placeOf(withdrawal)) ??
      recordIntent(context, { ...next, slot: withdrawal.slot })
    );
  const behind =
    waitingBelow(core, { ...account, slot: account.next }) ?? overtaken(context, account);
  if (behind !== null) return behind;
  if (core.accounts.isEnded(account.network, account.account, account.next))
    return refuse(
      "ACCOUNT_WAITS",
      `${saySlot(account.network, account.next)} is of a sweep that was ended`,
    );
  const waiting = account.pending - outOfReach(context, account);
  if (waiting >= pendingPerAccountMax) return refuse("ACCOUNT_FULL", `${waiting} in no block yet`);
  return recordIntent(context, { ...next, slot: account.next });
}

/**
 * Prepares every intent that was never signed because a process died or the gate closed: lowest
 * slot first, each with its own recorded bytes.
 *
 * Signing these before anything new keeps signatures in the order of their slots. So a gateway that
 * holds the signature of one slot also holds all signatures below. After a restored backup, each
 * used slot is known to one side at least. Policy judges each intent again; a refusal quarantines
 * the withdrawal on its slot. Unsigned withdrawals wait for parameters or an approval, and all
 * slots above wait too. A repeat is harmless.
 */
export function prepareUnsignedIntents(
  context: RequestContext,
): readonly { readonly transactionId: string; readonly prepared: PreparedAttempt }[] {
  if (
    context.core.book.count("intent") === 0 ||
    (refuseIfGateClosed(context) ?? refuseIfPaused(context)) !== null
  )
    return [];
  const assigned = [...context.core.book.open()]
    .filter(({ state }) => state === "intent")
    .sort(inOrderOfSlots);
  const found: { readonly transactionId: string; readonly prepared: PreparedAttempt }[] = [];
  for (const withdrawal of assigned) {
    const [first] = withdrawal.attempts;
    // Prepared singly, because a withdrawal that becomes quarantined here stops the slots above.
    if (first === undefined || refuseIfFirstAttemptStopped(context, withdrawal.job) !== null)
      continue;
    if (waitingBelow(context.core, placeOf(withdrawal)) !== null) continue;
    found.push({
      transactionId: withdrawal.transactionId,
      prepared: prepareRecordedIntent(context, withdrawal, first),
    });
  }
  return found;
}

/**
 * Refuses a slot while a lower slot of the account has no signature, because a recovered ledger
 * keeps it or policy holds it. No block takes a higher slot before the lower one is signed. If
 * higher slots were signed and released now, the gateway would know only those. A ledger restored
 * from an older backup would then forget the lower slot permanently.
 */
function waitingBelow(
  { book }: RequestContext["core"],
  { network, account, slot }: AccountSlot,
): Refusal | null {
  if (
    book.count("quarantined") + book.count("intent") === 0 ||
    !familyOf(network).slots.blocksLater
  )
    return null;
  for (const one of book.open()) {
    const isUnsigned =
      one.state === "quarantined"
        ? one.attempts.every(({ txHash }) => txHash === "")
        : one.attempts.length === 0;
    if (one.slot === "" || !isUnsigned || isFinal(one.state)) continue;
    const isBelow =
      one.job.network === network &&
      one.account === account &&
      familyOf(network).slots.compare(one.slot, slot) < 0;
    if (isBelow)
      return refuse("ACCOUNT_WAITS", `${saySlot(network, one.slot)} is ${one.transactionId}'s`);
  }
  return null;
}

/**
 * Refuses a new slot if the chain's final count is past the next slot: transactions that this
 * ledger does not know used the slots between. The transactions may be the ledger's own, from a
 * time that ledger and gateway both lost in a restore. Then this withdrawal may be paid already,
 * and a slot above would pay it again. A count that stays ahead locks the signer
 * (`checkChainCount`).
 */
function overtaken(context: RequestContext, { network, account, next }: Account): Refusal | null {
  const { first, compare, isCounted } = familyOf(network).slots;
  if (!isCounted) return null;
  const count = context.run.counts.get(accountCountKey(context, network, account)) ?? first;
  if (count === null || compare(count, next) <= 0) return null;
  return refuse("ACCOUNT_BEHIND", `the chain counts ${count} transactions, the ledger ${next}`);
}

/**
 * The number of an account's withdrawals that wait for a block and that no block takes, as the
 * gateway says: they take the place of no other.
 */
function outOfReach({ core, run }: RequestContext, { network, account }: Account): number {
  const named = core.book.findEach([...run.unreachable]);
  return named.filter(
    (one) =>
      one.job.network === network && one.account === account && isAwaitingInclusion(one.state),
  ).length;
}

/** Orders withdrawals of one account by slot, and accounts one after the other. */
function inOrderOfSlots(a: Withdrawal, b: Withdrawal): number {
  const [one, two] = [placeOf(a), placeOf(b)];
  if (one.network === two.network && one.account === two.account)
    return familyOf(one.network).slots.compare(one.slot, two.slot);
  return `${one.network} ${one.account}` < `${two.network} ${two.account}` ? -1 : 1;
}

function placeOf({ job, account, slot }: Withdrawal): AccountSlot {
  return { network: job.network, account, slot };
}
