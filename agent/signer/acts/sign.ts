/**
 * The first version of a withdrawal: the next slot of its account is bound to it for life. Touches
 * nothing: the INTENT record and the work for the vault leave through the turn.
 */
import { familyOf, saySlot } from "../../../chains/families.ts";
import type { Facts } from "../../../chains/family.ts";
import { invariant, type Refusal, refuse } from "../../../protocol/fault.ts";
import { type Account, pendingPerAccountMax } from "../state/accounts.ts";
import { isFinal, step } from "../state/machine.ts";
import type { Withdrawal } from "../state/withdrawal.ts";
import { beginsAgain, begunAccount } from "./adopt.ts";
import { intend, type Prepared, recorded } from "./intent.ts";
import { closedGate, countKey, pausedBy, type Turn } from "./run.ts";
import { offered } from "./waiting.ts";

/**
 * The first version of an approved withdrawal. Twice is harmless: a bound one is never bound again,
 * its recorded bytes are signed whatever the facts now say.
 * @throws AgentError TRANSACTION_FIELD when the facts are out of range; nothing is recorded then
 * @public
 */
export function prepareSign(turn: Turn, transactionId: string, facts: Facts): Prepared {
  const closed = closedGate(turn);
  if (closed !== null) return closed;
  const { core, nowMs } = turn;
  const withdrawal = core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (withdrawal.state === "quarantined") return refuse("WITHDRAWAL_HELD", withdrawal.code);
  const first = withdrawal.versions[0];
  if (first !== undefined && first.txHash !== "") return { ok: true, work: null };
  const stopped = pausedBy(turn);
  if (stopped !== null) return stopped;
  if (first !== undefined) return waitingBelow(core, placeOf(withdrawal)) ?? recorded(turn, withdrawal, first);
  if (withdrawal.state === "held") return refuse("WITHDRAWAL_HELD", withdrawal.code);
  if (step(withdrawal.state, "intent") === null) return refuse("WITHDRAWAL_CLOSED", withdrawal.state);
  if (withdrawal.slot === "" && nowMs > withdrawal.job.expiresAt) {
    turn.commit([{ kind: "EXPIRED", transactionId }]);
    return refuse("JOB_EXPIRED");
  }
  const approval = core.policy.approval(transactionId);
  invariant(approval !== undefined, "an approved withdrawal has its approval");
  const isBound = withdrawal.slot !== "";
  const payer = core.policy.payer(withdrawal.job);
  if (payer === null) return refuse("JOB_DEPOSIT_ADDRESS");
  const account = begunAccount(turn, approval.network, payer.account);
  if (account === undefined) return refuse("ACCOUNT_NOT_ADOPTED", approval.chain);
  if (!isBound && beginsAgain(turn, account)) return refuse("ACCOUNT_NOT_ADOPTED", "it begins again behind an ended sweep");
  const offer = offered(turn, account, facts);
  if (!offer.ok) return offer;
  // An opened ledger keeps its slot for it, and nothing was signed there.
  if (isBound) return waitingBelow(core, placeOf(withdrawal)) ?? intend(turn, approval, account, withdrawal.slot, 1, offer.facts);
  const behind = waitingBelow(core, { ...account, slot: account.next }) ?? overtaken(turn, account);
  if (behind !== null) return behind;
  if (core.accounts.isEnded(account.network, account.account, account.next))
    return refuse("ACCOUNT_WAITS", `${saySlot(account.network, account.next)} is of a sweep that was ended`);
  if (account.pending >= pendingPerAccountMax) return refuse("ACCOUNT_FULL", `${account.pending} in no block yet`);
  return intend(turn, approval, account, account.next, 1, offer.facts);
}

/**
 * What was bound and never signed, because a process died or the gate was closed in between: lowest
 * slot first, each with its own recorded bytes. Whoever signs these before anything new keeps
 * signatures in the order of their slots, so that the gateway, once it holds the signature of one
 * slot, holds those of all below it: a ledger put back to before them leaves no slot that nobody
 * knows. Each is judged again: what policy would not let through is quarantined on its slot. What
 * is there unsigned waits for facts or a yes, and what lies above it waits with it. Twice is
 * harmless.
 * @public
 */
export function prepareBound(turn: Turn): readonly { readonly transactionId: string; readonly prepared: Prepared }[] {
  if (turn.core.book.count("intent") === 0 || (closedGate(turn) ?? pausedBy(turn)) !== null) return [];
  const bound = [...turn.core.book.open()].filter(({ state }) => state === "intent").sort(inOrderOfSlots);
  const found: { readonly transactionId: string; readonly prepared: Prepared }[] = [];
  for (const withdrawal of bound) {
    const [first] = withdrawal.versions;
    // One by one: what is held on its slot here stops those above it.
    if (first === undefined || waitingBelow(turn.core, placeOf(withdrawal)) !== null) continue;
    found.push({ transactionId: withdrawal.transactionId, prepared: recorded(turn, withdrawal, first) });
  }
  return found;
}

/**
 * What has a slot and no signature, kept by an opened ledger or held by policy: no block takes a
 * slot above it before it is signed. Signed and let out now, those above would be all that the
 * gateway knows, and a ledger put back to before them would forget the one below for good.
 */
function waitingBelow({ book }: Turn["core"], { network, account, slot }: Place): Refusal | null {
  if (book.count("quarantined") + book.count("intent") === 0 || !familyOf(network).slots.blocksLater) return null;
  for (const one of book.open()) {
    const isUnsigned =
      one.state === "quarantined" ? one.versions.every(({ txHash }) => txHash === "") : one.versions.length === 0;
    if (one.slot === "" || !isUnsigned || isFinal(one.state)) continue;
    const isBelow = one.job.network === network && one.account === account && familyOf(network).slots.compare(one.slot, slot) < 0;
    if (isBelow) return refuse("ACCOUNT_WAITS", `${saySlot(network, one.slot)} is ${one.transactionId}'s`);
  }
  return null;
}

/**
 * The chain's final count is past the next slot: what lies between went to transactions that this
 * ledger does not know. Perhaps they are its own, of a time that ledger and gateway were both put
 * back to before; then what is asked for now may be paid already, and a slot above them would pay
 * it again. It locks when it stays (`checkChainCount`).
 */
function overtaken(turn: Turn, { network, account, next }: Account): Refusal | null {
  const { first, compare, isCounted } = familyOf(network).slots;
  if (!isCounted) return null;
  const count = turn.run.counts.get(countKey(turn, network, account)) ?? first;
  return compare(count, next) <= 0
    ? null
    : refuse("ACCOUNT_BEHIND", `the chain counts ${count} transactions, the ledger ${next}`);
}

/** A slot of an account, given already or next. */
interface Place {
  readonly network: string;
  readonly account: string;
  readonly slot: string;
}

/** Of one account by its slots; accounts one after the other. */
function inOrderOfSlots(a: Withdrawal, b: Withdrawal): number {
  const [one, two] = [placeOf(a), placeOf(b)];
  if (one.network === two.network && one.account === two.account) return familyOf(one.network).slots.compare(one.slot, two.slot);
  return `${one.network} ${one.account}` < `${two.network} ${two.account}` ? -1 : 1;
}

function placeOf({ job, account, slot }: Withdrawal): Place {
  return { network: job.network, account, slot };
}
