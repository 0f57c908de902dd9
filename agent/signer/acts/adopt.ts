/**
 * The first counter of an account, and the chain's own count beside it. Both are the courier's claims: the first begins an account
 * once, the second raises an alarm and a lock. Touches nothing: records leave through the turn.
 */
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import { networkOf } from "../policy/rules.ts";
import { type Account, isBegun } from "../state/accounts.ts";
import { alarm, closedToNew, lock, type Turn } from "./run.ts";

/** A chain's count ahead of ours for so long is no lagging node. */
const aheadLockMs = 60_000;
/** Other first counters than the one recorded, in one run: nodes settle on one long before. */
const adoptionsMax = 100;
/** Witnesses enough for a claim about the chain, where so many are known. */
const witnessesWanted = 2;

/**
 * The first counter of a chain's account. The same one again is harmless; another replaces it until the first token is bound, so
 * that a wrong one does no lasting harm, and is refused from then on. A higher one replaces it only in the run that recorded the
 * first: a ledger put back to before its first payment, together with the gateway, must not take its own payments for where it begins.
 * @public
 */
export function adopt(
  turn: Turn,
  chain: { readonly chainId: number },
  nonce: bigint,
): { readonly ok: true; readonly account: Account } | Refusal {
  const closed = closedToNew(turn);
  if (closed !== null) return closed;
  const { core, run } = turn;
  const network = networkOf(chain.chainId);
  const known = core.accounts.find(network, turn.account);
  if (known?.adopted === nonce) return { ok: true, account: known };
  const isLater = known !== undefined && nonce > known.adopted && !run.adopted.has(network);
  const isFixed = known !== undefined && (isBegun(known) || isLater || run.adoptions >= adoptionsMax);
  if (isFixed) return refuse("ACCOUNT_ADOPTED", `began at ${known.adopted}`);
  run.adoptions += 1;
  if (known === undefined) run.adopted.add(network);
  turn.commit([{ kind: "ADOPTED", network, account: turn.account, nonce: nonce.toString() }]);
  const account = core.accounts.find(network, turn.account);
  return account === undefined ? refuse("ACCOUNT_NOT_ADOPTED", network) : { ok: true, account };
}

/**
 * The chain's own final transaction count for our account. One above ours means that somebody else signs with our key: an alarm
 * at once, a lock when it stays. Never changes which nonce comes next.
 * @public
 */
export function checkChainCount(
  turn: Turn,
  chain: { readonly name: string; readonly chainId: number },
  count: bigint,
  witnesses: number,
): { readonly ok: true } | Refusal {
  const { core, run, monotonicMs } = turn;
  const network = networkOf(chain.chainId);
  const account = core.accounts.find(network, turn.account);
  const known = Math.max(run.witnesses.get(chain.name) ?? 0, witnesses);
  run.witnesses.set(chain.name, known);
  // What a recovery shows and takes as a floor; nothing else goes by it.
  if (witnesses >= Math.min(witnessesWanted, known)) run.counts.set(network, count);
  if (!run.greeted) return refuse("SIGNER_NOT_GREETED");
  if (account === undefined || core.locked !== null || witnesses < Math.min(witnessesWanted, known)) return { ok: true };
  if (count <= account.next) {
    run.aheadSince.delete(network);
    return { ok: true };
  }
  const detail = `${network}: the chain counts ${count} transactions of ${turn.account}, the ledger ${account.next}`;
  // By the clock that only goes on: ledger time may stand for minutes after another clock had jumped.
  const since = run.aheadSince.get(network);
  if (since === undefined) {
    run.aheadSince.set(network, monotonicMs);
    alarm(turn, "CHAIN_NONCE_AHEAD", detail);
    return { ok: true };
  }
  return monotonicMs - since < aheadLockMs ? { ok: true } : lock(turn, "CHAIN_NONCE_FOREIGN", detail);
}
