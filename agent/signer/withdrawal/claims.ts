/**
 * What the courier claims about a withdrawal or an account, taken for no more than that: an observation moves a state forward, an
 * adopted counter starts an account, a foreign use of it locks. Nothing here moves a withdrawal to another token.
 * Touches nothing: records leave through the turn.
 */
import { type Code, codes } from "../../../protocol/codes.ts";
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import type { CourierRequests } from "../../socket/verbs.ts";
import { networkOf } from "../policy/rules.ts";
import { alarm, closedGate, closedToNew, lock, type Turn } from "../run.ts";
import { type Account, isBegun } from "./accounts.ts";
import { isFinal, observedStep, step, type Withdrawal } from "./withdrawal.ts";

/** Observations of one withdrawal before its final one; a chain that moves it more often is a courier that lies. */
const observationsMax = 200;
/** A chain's count ahead of ours for so long is no lagging node. */
const aheadLockMs = 60_000;
/** Other first counters than the one recorded, in one run: nodes settle on one long before. */
const adoptionsMax = 100;
/** Witnesses enough for a claim about the chain, where so many are known. */
const witnessesWanted = 2;

type Done = { readonly ok: true; readonly withdrawal: Withdrawal } | Refusal;

/**
 * What the courier saw on chain. Stages go forward, but for a reorganisation; final is final; the transaction must be one of ours,
 * and "lost", which says that it is not, stops the account. Twice is harmless.
 * @public
 */
export function observe(turn: Turn, claim: CourierRequests["observed"]): Done {
  const { core } = turn;
  const { transactionId, stage, outcome, txHash, block } = claim;
  const withdrawal = core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if ((stage === "final") === (outcome === "")) return refuse("WITHDRAWAL_OBSERVATION", "an outcome belongs to a final stage");
  if (isFinal(withdrawal.state)) {
    const isSame = stage === "final" && outcome === withdrawal.state && txHash === withdrawal.observed?.txHash;
    return isSame ? { ok: true, withdrawal } : refuse("WITHDRAWAL_CLOSED", withdrawal.state);
  }
  const isOut = withdrawal.versions.some((version) => version.released);
  if (!isOut || step(withdrawal.state, observedStep(stage, outcome)) === null) return refuse("WITHDRAWAL_NOT_RELEASED");
  const isOurs = withdrawal.versions.some((version) => version.released && version.txHash === txHash);
  if (!isOurs && outcome !== "lost") return refuse("WITHDRAWAL_OTHER_TRANSACTION", txHash);
  const last = withdrawal.observed;
  const isRepeat = last?.stage === stage && last.txHash === txHash && (last.block === block || stage === "broadcast");
  if (isRepeat) return { ok: true, withdrawal };
  if (stage !== "final" && withdrawal.observations >= observationsMax) return refuse("WITHDRAWAL_TOO_MANY_OBSERVATIONS");
  const unheard = outcome === "lost" ? stopForLoss(turn, withdrawal) : null;
  if (unheard !== null) return unheard;
  turn.commit([{ kind: "OBSERVED", transactionId, stage, outcome, txHash, block }]);
  return { ok: true, withdrawal };
}

/**
 * A nonce that the ledger bound went to a transaction that is none of its own: somebody else signs with the key, and takes nonces
 * that the count never shows. An alarm and a lock, in front of the end itself, so that no torn write keeps that without them. In a
 * recovery the alarm is all: the transaction may be a payment of ours that neither side remembers, and each signature has a
 * person's yes there. The greeting comes first, and no other lock may be there: a restored ledger may have forgotten the very version
 * that was mined, and learns of it by its recovery.
 */
function stopForLoss(turn: Turn, { transactionId, job, account, nonce }: Withdrawal): Refusal | null {
  const { core, run } = turn;
  if (core.locked !== null && core.locked.code !== "CHAIN_NONCE_FOREIGN") return refuse("SIGNER_LOCKED", core.locked.code);
  if (!run.greeted && run.echoed === null) return refuse("SIGNER_NOT_GREETED");
  const detail = `${job.network}: nonce ${nonce} of ${account} was bound to ${transactionId} and used by a foreign transaction`;
  alarm(turn, "CHAIN_NONCE_LOST", detail);
  if (core.recovery === null) lock(turn, "CHAIN_NONCE_FOREIGN", detail);
  return null;
}

/**
 * The courier will not have this one signed, for a reason from the table of codes. Only before a token is bound. Twice is harmless.
 * @public
 */
export function decline(turn: Turn, transactionId: string, code: string): Done {
  const closed = closedGate(turn);
  if (closed !== null) return closed;
  const withdrawal = turn.core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (!isCode(code)) return refuse("WITHDRAWAL_OBSERVATION", "a reason is a code of the table");
  if (withdrawal.state === "refused" && withdrawal.code === code) return { ok: true, withdrawal };
  if (withdrawal.state === "held") return refuse("WITHDRAWAL_HELD", withdrawal.code);
  if (isFinal(withdrawal.state)) return refuse("WITHDRAWAL_CLOSED", withdrawal.state);
  if (step(withdrawal.state, "refused") === null) return refuse("WITHDRAWAL_BOUND", `nonce ${withdrawal.nonce}`);
  turn.commit([{ kind: "REFUSED", transactionId, by: "courier", approver: "", code }]);
  return { ok: true, withdrawal };
}

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
export function weighCount(
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

/** Whether a text is a code of the table. */
function isCode(text: string): text is Code {
  return Object.hasOwn(codes, text);
}
