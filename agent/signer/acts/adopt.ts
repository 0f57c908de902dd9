/**
 * The first slot of an account, and the check of the chain's own count. Both numbers are claims of
 * the courier: the first one begins an account once, and the second one raises an alarm and a lock.
 * Touches nothing; records go through the `Turn`.
 */

import { type Refusal, refuse } from "../../../base/fault.ts";
import { familyOf, networkOf } from "../../../chains/families.ts";
import type { ConfiguredChain } from "../../../chains/family.ts";
import type { Job } from "../../../protocol/messages.ts";
import { type Account, isBegun } from "../state/accounts.ts";
import { isFinal } from "../state/machine.ts";
import { isOver } from "../state/withdrawal.ts";
import { alarm, closedToNew, countKey, lock, type Turn } from "./run.ts";

/** A lagging node does not explain a count that is ahead of ours for so long. */
const aheadLockMs = 60_000;
/** Limits the changes of a recorded first slot in one run; honest nodes agree long before. */
const adoptionsMax = 100;
/**
 * A claim of fewer nodes is ignored for so long after a claim of more nodes. Without such an end, a
 * courier that once invented nodes could silence all honest couriers afterwards.
 */
const witnessesMs = 120_000;
/** The nodes that must agree on a claim about the chain, if so many are known. */
export const witnessesWanted = 2;

/** The courier's claim that so many nodes count this slot. */
export interface FirstSlot {
  readonly slot: string;
  readonly witnesses: number;
  readonly address?: string | undefined; // a deposit address; default: the hot wallet
}

/**
 * Begins the hot wallet's account on a chain at the slot that the courier claims. Only the family's
 * first slot is taken on the courier's claim; any other slot needs an operator as well.
 *
 * The same slot again is harmless. Another slot replaces a recorded one until a withdrawal uses the
 * account, so a wrong claim does no lasting harm; afterwards it is refused. A higher slot replaces
 * a recorded one only in the run that recorded the first. A ledger and a gateway that were both
 * restored from a backup older than the first payment must not begin the account behind their own
 * payments.
 */
export function adopt(
  turn: Turn,
  chain: ConfiguredChain & { readonly name: string },
  claim: FirstSlot,
): { readonly ok: true; readonly account: Account } | Refusal {
  const closed = closedToNew(turn);
  if (closed !== null) return closed;
  const { core, run } = turn;
  const { slot, witnesses } = claim;
  const network = networkOf(chain);
  const hot = turn.accountOn(network);
  const { address = hot } = claim;
  if (address !== hot) return adoptDeposit(turn, chain, { slot, witnesses, address });
  run.firstSlots.set(network, { slot, witnesses });
  const known = core.accounts.find(network, hot);
  if (known?.adopted === slot) return { ok: true, account: known };
  // A slot that is too high would hold up every payment permanently, so the courier's claim is
  // enough only for an unused account.
  if (slot !== familyOf(network).slots.first) return refuse("ACCOUNT_FIRST_SLOT", `the nodes count ${slot}`);
  return begin(turn, network, hot, slot);
}

/**
 * Begins the account of a deposit address that an open sweep empties. The courier's claim is enough
 * for the family's first slot. Any other slot must also stand in the sweep's signed job, or an
 * operator must confirm it. An account with a given slot stays as it is, unless it begins again.
 */
function adoptDeposit(
  turn: Turn,
  chain: ConfiguredChain & { readonly name: string },
  { slot, witnesses, address }: Required<FirstSlot> & { readonly address: string },
): { readonly ok: true; readonly account: Account } | Refusal {
  const network = networkOf(chain);
  const { isCounted, first } = familyOf(network).slots;
  if (!isCounted && slot !== first) return refuse("ACCOUNT_FIRST_SLOT", "the chain counts none");
  const known = turn.core.accounts.find(network, address);
  const isKept = known !== undefined && (isBegun(known) || known.adopted === slot) && !beginsAgain(turn, known);
  if (isKept) return { ok: true, account: known };
  const sweep = sweepOf(turn, network, address);
  if (sweep === undefined) return refuse("ACCOUNT_NOT_ADOPTED", address);
  const wanted = Math.min(witnessesWanted, mostWitnesses(turn, chain.name, witnesses));
  if (witnesses < wanted) return refuse("ACCOUNT_FIRST_SLOT", `${witnesses} nodes count ${slot}`);
  turn.run.firstSlots.set(countKey(turn, network, address), { slot, witnesses });
  const depositNext = isCounted ? (sweep.depositNext ?? first) : first;
  if (slot === depositNext) return begin(turn, network, address, slot);
  return refuse("ACCOUNT_FIRST_SLOT", `the nodes count ${slot} of ${address}, the gateway ${depositNext}`);
}

/**
 * True if a deposit address is to begin again: an operator ended the sweep of its newest or next
 * slot, and no other withdrawal is open there.
 */
export function beginsAgain({ core }: Pick<Turn, "core">, account: Account): boolean {
  if (!core.accounts.isAtEnd(account)) return false;
  for (const one of core.book.open()) {
    const isThere = one.slot !== "" && one.account === account.account && one.job.network === account.network;
    if (isThere && !isOver(one)) return false;
  }
  return true;
}

/** Returns the job of an open sweep of the address. */
function sweepOf({ core }: Turn, network: string, address: string): Job | undefined {
  for (const { job, state } of core.book.open()) {
    if (job.mode !== "sweep" || job.network !== network || isFinal(state)) continue;
    if (core.policy.payer(job)?.account === address) return job;
  }
  return undefined;
}

/**
 * Begins an account at the slot that an operator confirms. The courier must have claimed the same
 * slot in this run.
 */
export function adoptByPerson(
  turn: Turn,
  chain: ConfiguredChain,
  slot: string,
  address: string, // the account's; a deposit address only while a sweep of it is open
): { readonly ok: true; readonly account: Account } | Refusal {
  const closed = closedToNew(turn);
  if (closed !== null) return closed;
  const network = networkOf(chain);
  const known = turn.core.accounts.find(network, address);
  if (known?.adopted === slot) return { ok: true, account: known };
  const told = turn.run.firstSlots.get(countKey(turn, network, address));
  if (told === undefined) return refuse("ACCOUNT_NOT_ADOPTED", "the courier's nodes have not agreed on a count yet");
  if (told.slot !== slot) return refuse("ACCOUNT_FIRST_SLOT", `the nodes count ${told.slot}, not ${slot}`);
  return begin(turn, network, address, slot);
}

function begin(
  turn: Turn,
  network: string,
  address: string,
  slot: string,
): { readonly ok: true; readonly account: Account } | Refusal {
  const { core, run } = turn;
  const key = countKey(turn, network, address);
  const known = core.accounts.find(network, address);
  const { compare } = familyOf(network).slots;
  if (core.accounts.isEnded(network, address, slot))
    return refuse("ACCOUNT_FIRST_SLOT", `slot ${slot} of ${address} is of a sweep that was ended`);
  const isAgain = known !== undefined && beginsAgain(turn, known);
  const isLater = known !== undefined && compare(slot, known.adopted) > 0 && !run.adopted.has(key);
  const isFixed = known !== undefined && !isAgain && (isBegun(known) || isLater || run.adoptions >= adoptionsMax);
  if (isFixed) return refuse("ACCOUNT_ADOPTED", `began at ${known.adopted}`);
  if (key === network || (known !== undefined && !isAgain)) run.adoptions += 1;
  if (known === undefined) run.adopted.add(key);
  turn.commit([{ kind: "ADOPTED", network, account: address, slot }]);
  const account = core.accounts.find(network, address);
  return account === undefined ? refuse("ACCOUNT_NOT_ADOPTED", network) : { ok: true, account };
}

/**
 * Returns the account that pays. If the chain counts no transactions, begins the account at the
 * family's first slot, because only this ledger gives out the slots.
 */
export function begunAccount(turn: Turn, network: string, address: string): Account | undefined {
  const known = turn.core.accounts.find(network, address);
  const { isCounted, first } = familyOf(network).slots;
  if (known !== undefined || isCounted) return known;
  turn.commit([{ kind: "ADOPTED", network, account: address, slot: first }]);
  return turn.core.accounts.find(network, address);
}

/** Returns the next slot, past the slots that ended sweeps may have used. */
function explainedTo({ core }: Turn, { network, account, next }: Account): string {
  let slot = next;
  while (core.accounts.isEnded(network, account, slot)) slot = familyOf(network).slots.next(slot);
  return slot;
}

/** Returns the most nodes that agreed lately, including this claim. */
export function mostWitnesses({ run, monotonicMs }: Turn, chain: string, witnesses: number): number {
  const heard = run.witnesses.get(chain);
  if (heard !== undefined && heard.most > witnesses && monotonicMs - heard.atMs < witnessesMs) return heard.most;
  run.witnesses.set(chain, { most: witnesses, atMs: monotonicMs });
  return witnesses;
}

/**
 * Checks the final transaction count that the nodes report for one of our accounts. A count above
 * ours shows that another program signs with our key: an alarm at once, a lock if the count stays.
 * The check never changes the next slot.
 */
export function checkChainCount(
  turn: Turn,
  chain: ConfiguredChain & { readonly name: string },
  count: string, // the slot that the chain would take next
  witnesses: number,
  deposit?: string, // an address other than the hot wallet
): { readonly ok: true } | Refusal {
  const { core, run, monotonicMs } = turn;
  const network = networkOf(chain);
  if (!familyOf(network).slots.isCounted) return { ok: true };
  const address = deposit ?? turn.accountOn(network);
  const key = countKey(turn, network, address);
  const account = core.accounts.find(network, address);
  if (key !== network && account === undefined) return refuse("ACCOUNT_NOT_ADOPTED", address);
  const known = mostWitnesses(turn, chain.name, witnesses);
  // A recovery shows the counts and uses them as a floor; `end` and the check of a new slot use
  // them too.
  if (witnesses >= Math.min(witnessesWanted, known)) run.counts.set(key, count);
  if (!run.greeted) return refuse("SIGNER_NOT_GREETED");
  if (account === undefined || core.locked !== null || witnesses < Math.min(witnessesWanted, known)) return { ok: true };
  if (familyOf(network).slots.compare(count, explainedTo(turn, account)) <= 0) {
    run.aheadSince.delete(key);
    return { ok: true };
  }
  const detail = `${network}: the chain counts ${count} transactions of ${address}, the ledger ${account.next}`;
  // The monotonic clock measures the delay: ledger time may stand for minutes after another clock
  // has jumped.
  const since = run.aheadSince.get(key);
  if (since === undefined) {
    run.aheadSince.set(key, monotonicMs);
    alarm(turn, "CHAIN_SLOT_AHEAD", detail);
    return { ok: true };
  }
  return monotonicMs - since < aheadLockMs ? { ok: true } : lock(turn, "CHAIN_SLOT_FOREIGN", detail);
}
