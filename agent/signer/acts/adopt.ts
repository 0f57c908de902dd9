/**
 * The first counter of an account, and the chain's own count beside it. Both are the courier's
 * claims: the first begins an account once, the second raises an alarm and a lock. Touches nothing:
 * records leave through the turn.
 */
import { familyOf, networkOf } from "../../../chains/families.ts";
import type { ConfiguredChain } from "../../../chains/family.ts";
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import type { Job } from "../../../protocol/messages.ts";
import { type Account, isBegun } from "../state/accounts.ts";
import { isFinal } from "../state/machine.ts";
import { isOver } from "../state/withdrawal.ts";
import { alarm, closedToNew, countKey, lock, type Turn } from "./run.ts";

/** A chain's count ahead of ours for so long is no lagging node. */
const aheadLockMs = 60_000;
/** Other first counters than the one recorded, in one run: nodes settle on one long before. */
const adoptionsMax = 100;
/**
 * A claim of fewer nodes says nothing for so long after one of more. Without an end to that, a
 * courier that once made nodes up would silence every honest one after it.
 */
const witnessesMs = 120_000;
/** Witnesses enough for a claim about the chain, where so many are known. */
export const witnessesWanted = 2;

/**
 * What the courier says that so many nodes count.
 * @public
 */
export interface FirstSlot {
  readonly slot: string;
  readonly witnesses: number;
  readonly address?: string | undefined; // for deposits; the hot account unless told
}

/**
 * The first slot of a chain's account, on the courier's word: the family's first alone, any other
 * needs a person as well. The same one again is harmless; another replaces it until it is bound, so
 * that a wrong one does no lasting harm, and is refused from then on. A higher one replaces it only
 * in the run that recorded the first: a ledger put back to before its first payment, together with
 * the gateway, must not take its own payments for where it begins.
 * @public
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
  // One that is too high holds up every payment for good: only nothing at all is taken on the
  // courier's word.
  if (slot !== familyOf(network).slots.first) return refuse("ACCOUNT_FIRST_SLOT", `the nodes count ${slot}`);
  return begin(turn, network, hot, slot);
}

/**
 * The first counter of an address for deposits that an open sweep empties. The courier's word is
 * enough for the family's first alone; any other is what the gateway says as well, in the job that
 * it signed, or wants a person. One that has given a slot answers as it is, unless it begins again.
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
 * Whether an address for deposits is to begin again: its newest slot or its next one is of a sweep
 * that a person ended, and nothing else is open there.
 * @public
 */
export function beginsAgain({ core }: Pick<Turn, "core">, account: Account): boolean {
  if (!core.accounts.isAtEnd(account)) return false;
  for (const one of core.book.open()) {
    const isThere = one.slot !== "" && one.account === account.account && one.job.network === account.network;
    if (isThere && !isOver(one)) return false;
  }
  return true;
}

/** The job of an open sweep of the address. */
function sweepOf({ core }: Turn, network: string, address: string): Job | undefined {
  for (const { job, state } of core.book.open()) {
    if (job.mode !== "sweep" || job.network !== network || isFinal(state)) continue;
    if (core.policy.payer(job)?.account === address) return job;
  }
  return undefined;
}

/**
 * A person's yes to the first slot that the nodes count, as the courier told it in this run: both
 * must say the same number.
 * @public
 */
export function adoptByPerson(
  turn: Turn,
  chain: ConfiguredChain,
  slot: string,
  address: string, // of the account; one for deposits only while a sweep of it is open
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
 * The account that pays, begun here where the chain counts none: nobody but this ledger gives such
 * an account's slots, so nobody is asked where they begin.
 */
export function begunAccount(turn: Turn, network: string, address: string): Account | undefined {
  const known = turn.core.accounts.find(network, address);
  const { isCounted, first } = familyOf(network).slots;
  if (known !== undefined || isCounted) return known;
  turn.commit([{ kind: "ADOPTED", network, account: address, slot: first }]);
  return turn.core.accounts.find(network, address);
}

/** The next slot, past those whose ended sweeps may have used them up. */
function explainedTo({ core }: Turn, { network, account, next }: Account): string {
  let slot = next;
  while (core.accounts.isEnded(network, account, slot)) slot = familyOf(network).slots.next(slot);
  return slot;
}

/** The most nodes that agreed lately, these among them. */
export function mostWitnesses({ run, monotonicMs }: Turn, chain: string, witnesses: number): number {
  const heard = run.witnesses.get(chain);
  if (heard !== undefined && heard.most > witnesses && monotonicMs - heard.atMs < witnessesMs) return heard.most;
  run.witnesses.set(chain, { most: witnesses, atMs: monotonicMs });
  return witnesses;
}

/**
 * The chain's own final transaction count for our account. One above ours means that somebody else
 * signs with our key: an alarm at once, a lock when it stays. Never changes which slot comes next.
 * @public
 */
export function checkChainCount(
  turn: Turn,
  chain: ConfiguredChain & { readonly name: string },
  count: string, // the slot that the chain would take next
  witnesses: number,
  deposit?: string, // another address than the hot one
): { readonly ok: true } | Refusal {
  const { core, run, monotonicMs } = turn;
  const network = networkOf(chain);
  if (!familyOf(network).slots.isCounted) return { ok: true };
  const address = deposit ?? turn.accountOn(network);
  const key = countKey(turn, network, address);
  const account = core.accounts.find(network, address);
  if (key !== network && account === undefined) return refuse("ACCOUNT_NOT_ADOPTED", address);
  const known = mostWitnesses(turn, chain.name, witnesses);
  // What a recovery shows and takes as a floor; nothing else goes by it.
  if (witnesses >= Math.min(witnessesWanted, known)) run.counts.set(key, count);
  if (!run.greeted) return refuse("SIGNER_NOT_GREETED");
  if (account === undefined || core.locked !== null || witnesses < Math.min(witnessesWanted, known)) return { ok: true };
  if (familyOf(network).slots.compare(count, explainedTo(turn, account)) <= 0) {
    run.aheadSince.delete(key);
    return { ok: true };
  }
  const detail = `${network}: the chain counts ${count} transactions of ${address}, the ledger ${account.next}`;
  // By the clock that only goes on: ledger time may stand for minutes after another clock had
  // jumped.
  const since = run.aheadSince.get(key);
  if (since === undefined) {
    run.aheadSince.set(key, monotonicMs);
    alarm(turn, "CHAIN_SLOT_AHEAD", detail);
    return { ok: true };
  }
  return monotonicMs - since < aheadLockMs ? { ok: true } : lock(turn, "CHAIN_SLOT_FOREIGN", detail);
}
