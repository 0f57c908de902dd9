/**
 * Where no slot keeps a second payment out, and a version only ends by waiting: what a version may
 * offer, when another one may follow, and when there is none any more. Another one, and the end
 * without a payment, need two words in the ledger, that every version is dead: the gateway's signed
 * one and the courier's. No clock takes the place of either. Touches nothing: records leave through
 * the turn.
 */
import { familyOf, waitingOf } from "../../../chains/families.ts";
import type { Facts } from "../../../chains/family.ts";
import { invariant, type Refusal, refuse } from "../../../protocol/fault.ts";
import { laneOf } from "../../../protocol/job-mode.ts";
import type { CourierRequests } from "../../socket/verbs.ts";
import type { Account } from "../state/accounts.ts";
import { endsUnpaid, isCancelling, isDead, isOver, isPastEnd, type Withdrawal } from "../state/withdrawal.ts";
import { mostWitnesses, witnessesWanted } from "./adopt.ts";
import { intend, type Prepared } from "./intent.ts";
import { alarm, type Done, type Turn } from "./run.ts";

/**
 * A version may end so much later than the longest life from now. Whoever asks whether it is dead
 * looks back from its end that far, two minutes more, and no farther (chains/tron/node-dead.ts):
 * one that ended later could be in a block before.
 */
const aheadMaxMs = 60_000;

/**
 * The offer that a version is made with: stamped above every version that the account ever had, so
 * that two equal payments are two transactions, and of no longer life than is allowed. The stamp
 * is the courier's word, so the gateway's time bounds the end from above. Where a slot excludes,
 * the facts as they are.
 * @throws AgentError JSON_SHAPE for facts that are none
 */
export function offered(
  turn: Turn,
  { network, lastStamp }: Account,
  facts: Facts,
): { readonly ok: true; readonly facts: Facts } | Refusal {
  const waiting = waitingOf(network);
  if (waiting === null) return { ok: true, facts };
  const stamped = waiting.stamped(familyOf(network).fees.read(facts), lastStamp);
  const until = waiting.untilMs(stamped);
  const isTooLong = until > Number(waiting.stamp(stamped)) + waiting.lifeMsMax;
  const { run, monotonicMs } = turn;
  const aheadMs = Math.ceil(until - (run.gatewayAt + monotonicMs - run.heardAt));
  if (isTooLong || aheadMs > waiting.lifeMsMax + aheadMaxMs) return refuse("TRANSACTION_LIFE", `it would end in ${aheadMs} ms`);
  return { ok: true, facts: stamped };
}

/**
 * The version after `above`, which is the newest and was let out. `isCouriers`: no person has to
 * order one of this number.
 */
export function prepareNext(turn: Turn, withdrawal: Withdrawal, above: number, claimed: Facts, isCouriers: boolean): Prepared {
  const { core } = turn;
  const { transactionId, job, slot, ordered, state } = withdrawal;
  if (isCancelling(withdrawal)) return refuse("WITHDRAWAL_CANCELLING");
  if (withdrawal.isEnded && !withdrawal.isKept) return refuse("WITHDRAWAL_CLOSED", state);
  if (!isDead(withdrawal)) return stillAlive(withdrawal);
  if (!isHeardDead(turn, withdrawal)) return refuse("WITHDRAWAL_ALIVE", "the gateway has not said so in this run");
  if (hasRunOut(turn, withdrawal)) {
    turn.commit([{ kind: "EXPIRED", transactionId }]);
    return refuse("JOB_EXPIRED");
  }
  // One that policy holds may be called ended by the courier, and got no yes by that.
  const approval = core.policy.approval(transactionId);
  if (approval === undefined) return refuse("WITHDRAWAL_HELD", withdrawal.code);
  const isOrdered = ordered?.act === "replace" && ordered.versions === above;
  if (!isOrdered && !isCouriers) return refuse("WITHDRAWAL_WAITS_FOR_PERSON", `${above} versions are made`);
  if (!isOrdered && core.policy.isPersonsToResign(approval)) return refuse("WITHDRAWAL_WAITS_FOR_PERSON", "above resignAbove");
  const account = core.accounts.find(job.network, withdrawal.account);
  invariant(account !== undefined, "a bound slot has its account");
  const offer = offered(turn, account, claimed);
  return offer.ok ? intend(turn, approval, account, slot, above + 1, offer.facts) : offer;
}

/** Names the versions that are not dead yet, and whose word is missing. */
export function stillAlive({ versions }: Withdrawal): Refusal {
  const missing = versions
    .filter(({ txHash, dead }) => txHash !== "" && dead !== "both")
    .map(({ version, dead, until }) => {
      const whose = dead === "courier" ? "the gateway has not" : dead === "gateway" ? "the courier has not" : "nobody has";
      return `version ${version}${endWords(until)}: ${whose} called it dead`;
    });
  return refuse("WITHDRAWAL_ALIVE", missing.join(", "));
}

/** A gateway's order may tell of a time that no date holds; then the end stays unsaid. */
function endWords(until: number | undefined): string {
  const at = new Date(until ?? Number.NaN);
  return Number.isNaN(at.getTime()) ? "" : ` ends at ${at.toISOString()} by the chain's own time`;
}

/**
 * Whether a bound withdrawal ends without a payment now: a person cancelled it, or its job ran out,
 * and every version is dead. Time ends nothing in a recovery, nor what an opened ledger kept or
 * policy holds: those are a person's. What an opened ledger kept ends as well where the gateway
 * knows that it has: then this ledger went back behind that end.
 */
export function hasRunOut(turn: Turn, withdrawal: Withdrawal): boolean {
  if (!endsUnpaid(withdrawal) || !isHeardDead(turn, withdrawal)) return false;
  if (isCancelling(withdrawal) || (withdrawal.isKept && withdrawal.isEnded)) return true;
  const isPersons = turn.core.isHolding || withdrawal.isKept || withdrawal.state === "quarantined";
  return !isPersons && turn.nowMs > withdrawal.job.expiresAt;
}

/**
 * Whether the gateway has called every version dead in this run, and since it was told again: a
 * database that was put back takes nothing that builds on a word it has forgotten.
 */
function isHeardDead({ run }: Turn, { versions }: Withdrawal): boolean {
  return versions.every(({ txHash }) => txHash === "" || run.deadHeard.has(txHash));
}

/**
 * A person's word on a withdrawal whose versions end by waiting: another version may be made, or
 * none any more. What is dead already ends with the cancel. Twice is harmless.
 */
export function order(turn: Turn, withdrawal: Withdrawal, act: "replace" | "cancel", approver: string): Prepared {
  const { transactionId, ordered, versions } = withdrawal;
  const isSaid = ordered?.act === act && (act === "cancel" || ordered.versions === versions.length);
  if (!isSaid) turn.commit([{ kind: "UNSTUCK", transactionId, act, approver }]);
  if (hasRunOut(turn, withdrawal)) turn.commit([{ kind: "EXPIRED", transactionId }]);
  return { ok: true, work: null };
}

/** Why a person's word would change nothing, or null. */
export function cannotOrder(withdrawal: Withdrawal, act: "replace" | "cancel"): Refusal | null {
  if (act === "cancel") return null;
  if (isCancelling(withdrawal)) return refuse("WITHDRAWAL_CANCELLING");
  return isDead(withdrawal) ? null : stillAlive(withdrawal);
}

/**
 * The courier says that a version is dead, on its own nodes' word: as many of them as a claim about
 * the chain needs anywhere.
 */
export function observeDead(turn: Turn, withdrawal: Withdrawal, claim: CourierRequests["observed"]): Done {
  const { core } = turn;
  const { job, state, versions, observed } = withdrawal;
  const { transactionId, outcome, txHash, block, witnesses } = claim;
  if (waitingOf(job.network) === null) return refuse("WITHDRAWAL_OBSERVATION", "a slot excludes there, and nothing is dead");
  if (outcome !== "" || witnesses === undefined) return refuse("WITHDRAWAL_OBSERVATION", "dead is said with witnesses alone");
  const ours = versions.find((version) => version.txHash === txHash && txHash !== "");
  if (ours === undefined) return refuse("WITHDRAWAL_OTHER_TRANSACTION", txHash);
  if (ours.dead === "courier" || ours.dead === "both") return { ok: true, withdrawal };
  if (isOver(withdrawal)) return refuse("WITHDRAWAL_CLOSED", state);
  if (!ours.released) return refuse("WITHDRAWAL_NOT_RELEASED");
  if (state === "included" && observed?.txHash === txHash) return refuse("WITHDRAWAL_INCLUDED");
  if (!isPastEnd(job.network, ours, turn.nowMs)) return refuse("WITHDRAWAL_ALIVE", `its end is not past${endWords(ours.until)}`);
  const chain = core.policy.asset(laneOf(job))?.chain ?? job.network;
  const wanted = Math.min(witnessesWanted, mostWitnesses(turn, chain, witnesses));
  if (witnesses < wanted) return refuse("WITHDRAWAL_ALIVE", `${witnesses} of ${wanted} nodes say that it is dead`);
  turn.commit([{ kind: "OBSERVED", transactionId, stage: "dead", outcome: "", txHash, block }]);
  return { ok: true, withdrawal };
}

/** A block has what two words called dead: another version may be on its way, or paid as well. */
export function warnDeadIncluded(turn: Turn, { transactionId, versions }: Withdrawal, txHash: string): void {
  const risen = versions.find((version) => version.txHash === txHash && version.dead === "both");
  if (risen !== undefined)
    alarm(
      turn,
      "CHAIN_DEAD_INCLUDED",
      `version ${risen.version} of ${transactionId}, ${txHash}, was called dead and is in a block`,
    );
}

/**
 * The gateway says that these are dead: recorded of each that was let out and is past its own end
 * by ledger time, once. The word on any other is not taken, and the gateway says it again. Gives
 * the withdrawals.
 */
export function recordDead({ core, run, nowMs, commit }: Turn, said: readonly string[]): readonly string[] {
  if (said.length === 0) return [];
  const named = new Set(said);
  const past = [...core.book.open()].flatMap(({ job, versions }) =>
    versions.filter((one) => named.has(one.txHash) && isPastEnd(job.network, one, nowMs)).map(({ txHash }) => txHash),
  );
  for (const txHash of past) run.deadHeard.add(txHash);
  const alive = core.book.alive(new Set(past));
  if (alive.size > 0) commit([{ kind: "DEAD", txHashes: [...alive.values()].flat() }]);
  return [...alive.keys()];
}
