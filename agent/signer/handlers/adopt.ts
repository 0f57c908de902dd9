/**
 * The first slot of an account, and the check of the chain's own count. The courier's claim alone
 * begins no account: the gateway's own nodes must show the same slot, or an operator says yes. The
 * count is a claim of the courier too, and raises an alarm and a lock. Touches nothing; records go
 * through the `RequestContext`.
 */

import { type Refusal, refuse } from "../../../base/fault.ts";
import { familyOf, networkOf } from "../../../chains/families.ts";
import type { ConfiguredChain } from "../../../chains/family.ts";
import type { Job } from "../../../protocol/messages.ts";
import type { AskedAccount } from "../../../protocol/sightings.ts";
import type { AccountBeginning } from "../../socket/first-slot.ts";
import { type Account, isBegun } from "../state/accounts.ts";
import { isFinal } from "../state/machine.ts";
import { slotBelowFirstCode } from "../state/out-of-reach.ts";
import { isOver } from "../state/withdrawal.ts";
import {
  accountCountKey,
  lockSigner,
  type RequestContext,
  raiseAlarm,
  refuseIfClosedOrFull,
} from "./context.ts";

/** A lagging node does not explain a count that is ahead of ours for so long. */
const aheadLockMs = 60_000;
/** Limits the changes of a recorded first slot in one run; honest nodes agree long before. */
const adoptionsMax = 100;
/**
 * A claim of fewer nodes is ignored for so long after a claim of more nodes. Without such an end, a
 * courier that once invented nodes could silence all honest couriers afterwards.
 */
const quorumMs = 120_000;
/** The nodes that must agree on a claim about the chain, if so many are known. */
export const claimQuorumMin = 2;

/** The courier's claim that so many nodes count this slot. */
export interface CourierFirstSlotClaim {
  readonly slot: string;
  readonly quorum: number;
  readonly address?: string | undefined; // a deposit address; default: the hot wallet
}

/**
 * Begins the hot wallet's account on a chain at the slot that the courier claims, if the gateway
 * names the same slot in this run and calls the account unused. Any other account needs an
 * operator: after a restore of ledger and gateway only that yes stands between a forgotten payment
 * and its repeat. The courier never lowers a slot that is recorded.
 *
 * The same slot again is harmless. Another slot replaces a recorded one until a withdrawal uses the
 * account, so a wrong claim does no lasting harm; afterwards it is refused. A higher slot replaces
 * a recorded one only in the run that recorded the first. A ledger and a gateway that were both
 * restored from a backup older than the first payment must not begin the account behind their own
 * payments.
 */
export function adoptSlot(
  context: RequestContext,
  chain: ConfiguredChain & { readonly name: string },
  claim: CourierFirstSlotClaim,
): { readonly ok: true; readonly account: Account } | Refusal {
  const closed = refuseIfClosedOrFull(context);
  if (closed !== null) return closed;
  const { core, run } = context;
  const { slot, quorum } = claim;
  const network = networkOf(chain);
  const hotWallet = context.accountOn(network);
  const { address = hotWallet } = claim;
  if (address !== hotWallet) return adoptDeposit(context, chain, { slot, quorum, address });
  run.firstSlots.set(network, { slot, quorum });
  const known = core.accounts.find(network, hotWallet);
  if (known?.adopted === slot) return { ok: true, account: known };
  if (known !== undefined && familyOf(network).slots.compare(slot, known.adopted) < 0)
    return refuse("ACCOUNT_FIRST_SLOT", `began at ${known.adopted}, and the nodes count ${slot}`);
  return (
    unagreed(context, { network, account: hotWallet }, slot) ??
    begin(context, network, hotWallet, slot)
  );
}

/**
 * Returns why two words do not begin an account at this slot, or null. A slot that is too high
 * would hold up every payment permanently, and one below the account's first makes payments that no
 * block ever takes.
 */
function unagreed(
  { run, monotonicMs }: RequestContext,
  account: AskedAccount,
  slot: string,
): Refusal | null {
  const told = run.sightings.next(account, monotonicMs);
  if (told === undefined)
    return refuse(
      "ACCOUNT_FIRST_UNNAMED",
      `the nodes count ${slot}, and the gateway named no slot`,
    );
  if (told.slot !== slot)
    return refuse("ACCOUNT_FIRST_SLOT", `the nodes count ${slot}, the gateway ${told.slot}`);
  return told.isUnused
    ? null
    : refuse("ACCOUNT_FIRST_SLOT", `the nodes count ${slot}, and the account was used before`);
}

/**
 * Begins the account of a deposit address that an open sweep empties. On a chain that counts, the
 * slot must also stand in the sweep's signed job, or an operator must confirm it. An account with a
 * given slot stays as it is, unless it begins again.
 */
function adoptDeposit(
  context: RequestContext,
  chain: ConfiguredChain & { readonly name: string },
  { slot, quorum, address }: Required<CourierFirstSlotClaim> & { readonly address: string },
): { readonly ok: true; readonly account: Account } | Refusal {
  const network = networkOf(chain);
  const { isCounted, first } = familyOf(network).slots;
  if (!isCounted && slot !== first) return refuse("ACCOUNT_FIRST_SLOT", "the chain counts none");
  const known = context.core.accounts.find(network, address);
  const isKept =
    known !== undefined &&
    (isBegun(known) || known.adopted === slot) &&
    !mayAccountBeginAgain(context, known);
  if (isKept) return { ok: true, account: known };
  const sweep = sweepOf(context, network, address);
  if (sweep === undefined) return refuse("ACCOUNT_NOT_ADOPTED", address);
  const wanted = Math.min(claimQuorumMin, keepHighestQuorum(context, chain.name, quorum));
  if (quorum < wanted) return refuse("ACCOUNT_FIRST_SLOT", `${quorum} nodes count ${slot}`);
  context.run.firstSlots.set(accountCountKey(context, network, address), { slot, quorum });
  // On a chain that counts, the job's own word comes from the gateway's nodes.
  const depositNext = isCounted ? sweep.depositNext : first;
  if (slot === depositNext) return begin(context, network, address, slot);
  if (depositNext === undefined)
    return (
      unagreed(context, { network, account: address }, slot) ??
      begin(context, network, address, slot)
    );
  return refuse(
    "ACCOUNT_FIRST_SLOT",
    `the nodes count ${slot} of ${address}, the gateway ${depositNext}`,
  );
}

/**
 * True if a deposit address is to begin again: an operator ended the sweep of its newest or next
 * slot, and no other withdrawal is open there.
 */
export function mayAccountBeginAgain(
  { core }: Pick<RequestContext, "core">,
  account: Account,
): boolean {
  if (!core.accounts.isAtEnd(account)) return false;
  for (const one of core.book.open()) {
    const isThere =
      one.slot !== "" && one.account === account.account && one.job.network === account.network;
    if (isThere && !isOver(one)) return false;
  }
  return true;
}

/** Returns the job of an open sweep of the address. */
function sweepOf({ core }: RequestContext, network: string, address: string): Job | undefined {
  for (const { job, state } of core.book.open()) {
    if (job.mode !== "sweep" || job.network !== network || isFinal(state)) continue;
    if (core.policy.sender(job)?.account === address) return job;
  }
  return undefined;
}

/**
 * Begins an account at the slot that an operator confirms. The courier must have claimed the same
 * slot in this run.
 */
export function adoptByOperator(
  context: RequestContext,
  chain: ConfiguredChain,
  slot: string,
  address: string, // the account's; a deposit address only while a sweep of it is open
): { readonly ok: true; readonly account: Account } | Refusal {
  const closed = refuseIfClosedOrFull(context);
  if (closed !== null) return closed;
  const network = networkOf(chain);
  const known = context.core.accounts.find(network, address);
  if (known?.adopted === slot) return { ok: true, account: known };
  const told = context.run.firstSlots.get(accountCountKey(context, network, address));
  if (told === undefined)
    return refuse("ACCOUNT_NOT_ADOPTED", "the courier's nodes have not agreed on a count yet");
  if (told.slot !== slot)
    return refuse("ACCOUNT_FIRST_SLOT", `the nodes count ${told.slot}, not ${slot}`);
  return begin(context, network, address, slot);
}

function begin(
  context: RequestContext,
  network: string,
  address: string,
  slot: string,
): { readonly ok: true; readonly account: Account } | Refusal {
  const { core, run } = context;
  const key = accountCountKey(context, network, address);
  const known = core.accounts.find(network, address);
  const { compare } = familyOf(network).slots;
  if (core.accounts.isEnded(network, address, slot))
    return refuse("ACCOUNT_FIRST_SLOT", `slot ${slot} of ${address} is of a sweep that was ended`);
  const isAgain = known !== undefined && mayAccountBeginAgain(context, known);
  const isLater = known !== undefined && compare(slot, known.adopted) > 0 && !run.adopted.has(key);
  const isFixed =
    known !== undefined && !isAgain && (isBegun(known) || isLater || run.adoptions >= adoptionsMax);
  if (isFixed) return refuse("ACCOUNT_ADOPTED", `began at ${known.adopted}`);
  if (key === network || (known !== undefined && !isAgain)) run.adoptions += 1;
  if (known === undefined) run.adopted.add(key);
  context.commit([{ kind: "ADOPTED", network, account: address, slot }]);
  const account = core.accounts.find(network, address);
  return account === undefined ? refuse("ACCOUNT_NOT_ADOPTED", network) : { ok: true, account };
}

/**
 * Returns the account that pays. If the chain counts no transactions, begins the account at the
 * family's first slot, because only this ledger gives out the slots.
 */
export function findOrBeginAccount(
  context: RequestContext,
  network: string,
  address: string,
): Account | undefined {
  const known = context.core.accounts.find(network, address);
  const { isCounted, first } = familyOf(network).slots;
  if (known !== undefined || isCounted || first === null) return known;
  context.commit([{ kind: "ADOPTED", network, account: address, slot: first }]);
  return context.core.accounts.find(network, address);
}

/** Returns the next slot, past the slots that ended sweeps may have used. */
function explainedTo({ core }: RequestContext, { network, account, next }: Account): string {
  let slot = next;
  while (core.accounts.isEnded(network, account, slot)) slot = familyOf(network).slots.next(slot);
  return slot;
}

/** Returns the most nodes that agreed lately, including this claim. */
export function keepHighestQuorum(
  { run, monotonicMs }: RequestContext,
  chain: string,
  quorum: number,
): number {
  const received = run.quorum.get(chain);
  if (received !== undefined && received.most > quorum && monotonicMs - received.atMs < quorumMs)
    return received.most;
  run.quorum.set(chain, { most: quorum, atMs: monotonicMs });
  return quorum;
}

/**
 * Checks the final transaction count that the nodes report for one of our accounts. A count above
 * ours shows that another program signs with our key: an alarm at once, a lock if the count stays.
 * The check never changes the next slot.
 *
 * A count at which the account began, above every slot of this ledger, shows no transaction at all:
 * the first slot was stated too low, and no block takes what was signed. That is an alarm of its
 * own and no lock, and nothing more is signed (`overtaken`) before an operator has ended those
 * (`end`) and the account begins again by both words. The courier could as well hide the count.
 */
export function checkChainCount(
  context: RequestContext,
  chain: ConfiguredChain & { readonly name: string },
  claim: CourierFirstSlotClaim & { readonly began?: AccountBeginning | undefined }, // the slot that the chain would take next
): { readonly ok: true } | Refusal {
  const { core, run, monotonicMs } = context;
  const { slot: count, quorum, began } = claim;
  const network = networkOf(chain);
  const { isCounted, compare } = familyOf(network).slots;
  if (!isCounted) return { ok: true };
  const { address = context.accountOn(network) } = claim;
  const key = accountCountKey(context, network, address);
  const account = core.accounts.find(network, address);
  if (key !== network && account === undefined) return refuse("ACCOUNT_NOT_ADOPTED", address);
  const known = keepHighestQuorum(context, chain.name, quorum);
  // A recovery shows the counts and uses them as a floor; `end` and the check of a new slot use
  // them too.
  if (quorum >= Math.min(claimQuorumMin, known)) {
    run.counts.set(key, count);
    if (began === undefined) run.began.delete(key);
    else run.began.set(key, began);
  }
  if (!run.handshakeDone) return refuse("SIGNER_NO_HANDSHAKE");
  if (account === undefined || core.locked !== null || quorum < Math.min(claimQuorumMin, known))
    return { ok: true };
  if (compare(count, explainedTo(context, account)) <= 0) {
    run.aheadSince.delete(key);
    return { ok: true };
  }
  if (began !== undefined && began.slot === count && isBegun(account)) {
    run.aheadSince.delete(key);
    raiseAlarm(
      context,
      slotBelowFirstCode,
      `${network}: ${address} began at ${count}, and the ledger has ${account.adopted} as its first`,
    );
    return { ok: true };
  }
  const detail = `${network}: the chain counts ${count} transactions of ${address}, the ledger ${account.next}`;
  // The monotonic clock measures the delay: ledger time may stand for minutes after another clock
  // has jumped.
  const since = run.aheadSince.get(key);
  if (since === undefined) {
    run.aheadSince.set(key, monotonicMs);
    raiseAlarm(context, "CHAIN_SLOT_AHEAD", detail);
    return { ok: true };
  }
  return monotonicMs - since < aheadLockMs
    ? { ok: true }
    : lockSigner(context, "CHAIN_SLOT_FOREIGN", detail);
}
