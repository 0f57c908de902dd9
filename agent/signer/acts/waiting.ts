/**
 * Exclusion by expiry, for chains where no slot prevents a second payment (Tron). Decides which
 * parameters a version may have, when another version may follow, and when a withdrawal ends
 * unpaid. Another version and an end both need two statements in the ledger that every version is
 * dead: the gateway's, which is signed, and the courier's. No clock replaces either. Touches
 * nothing; records go through the `Turn`.
 */

import { invariant, type Refusal, refuse } from "../../../base/fault.ts";
import { familyOf, waitingOf } from "../../../chains/families.ts";
import type { Facts } from "../../../chains/family.ts";
import { laneOf } from "../../../protocol/job-mode.ts";
import type { CourierRequests } from "../../socket/verbs.ts";
import type { Account } from "../state/accounts.ts";
import { endsUnpaid, isCancelling, isDead, isOver, isPastEnd, type Withdrawal } from "../state/withdrawal.ts";
import { mostWitnesses, witnessesWanted } from "./adopt.ts";
import { intend, type Prepared } from "./intent.ts";
import { alarm, type Done, type Turn } from "./run.ts";

/**
 * A version may end at most this much later than the longest lifetime from now. A check whether a
 * version is dead looks back from its end by that lifetime plus two minutes
 * (chains/tron/node-dead.ts). A version that ended later could be in an earlier block.
 */
const aheadMaxMs = 60_000;

/**
 * Returns the parameters of a new version with a stamp above every earlier stamp of the account, so
 * that two equal payments are two transactions. The lifetime must be within the limit. The courier
 * chose the stamp, so the gateway's time bounds the end from above. On a chain with nonces, the
 * parameters stay as they are.
 * @throws AgentError JSON_SHAPE for malformed parameters
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
 * Prepares the version after `above`, which is the newest and was released. `isCouriers`: no
 * operator has to order a version of this number.
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
  // The courier may report an end of a withdrawal that policy holds, and such a report is no
  // approval.
  const approval = core.policy.approval(transactionId);
  if (approval === undefined) return refuse("WITHDRAWAL_HELD", withdrawal.code);
  const isOrdered = ordered?.act === "replace" && ordered.versions === above;
  if (!isOrdered && !isCouriers) return refuse("WITHDRAWAL_WAITS_FOR_PERSON", `${above} versions are made`);
  if (!isOrdered && core.policy.isPersonsToResign(approval)) return refuse("WITHDRAWAL_WAITS_FOR_PERSON", "above resignAbove");
  const account = core.accounts.find(job.network, withdrawal.account);
  invariant(account !== undefined, "a bound slot has its account");
  const offer = offered(turn, account, claimed);
  return offer.ok ? intend(turn, { withdrawal, approval, account, slot, version: above + 1, facts: offer.facts }) : offer;
}

/** Names each version that is not dead yet and the side whose statement is missing. */
export function stillAlive({ versions }: Withdrawal): Refusal {
  const missing = versions
    .filter(({ txHash, dead }) => txHash !== "" && dead !== "both")
    .map(({ version, dead, until }) => {
      const whose = dead === "courier" ? "the gateway has not" : dead === "gateway" ? "the courier has not" : "nobody has";
      return `version ${version}${endWords(until)}: ${whose} called it dead`;
    });
  return refuse("WITHDRAWAL_ALIVE", missing.join(", "));
}

/** A recovery order may hold a time that no date can represent; the end is left out then. */
function endWords(until: number | undefined): string {
  const at = new Date(until ?? Number.NaN);
  return Number.isNaN(at.getTime()) ? "" : ` ends at ${at.toISOString()} by the chain's own time`;
}

/**
 * True if a withdrawal with a slot ends without a payment now: every version is dead, and an
 * operator cancelled it or its job ran out. Time ends nothing during the hold of a recovery, and no
 * withdrawal that a recovered ledger keeps or policy holds: an operator decides on those. A
 * withdrawal that a recovered ledger keeps also ends if the gateway knows its end, because the
 * ledger then comes from a backup older than the end.
 */
export function hasRunOut(turn: Turn, withdrawal: Withdrawal): boolean {
  if (!endsUnpaid(withdrawal) || !isHeardDead(turn, withdrawal)) return false;
  if (isCancelling(withdrawal) || (withdrawal.isKept && withdrawal.isEnded)) return true;
  const isPersons = turn.core.isHolding || withdrawal.isKept || withdrawal.state === "quarantined";
  return !isPersons && turn.nowMs > withdrawal.job.expiresAt;
}

/**
 * True if the gateway has called every version dead in this run and since its last resync. A
 * restored database takes nothing that depends on a forgotten statement.
 */
function isHeardDead({ run }: Turn, { versions }: Withdrawal): boolean {
  return versions.every(({ txHash }) => txHash === "" || run.deadHeard.has(txHash));
}

/**
 * Records an operator's order on a chain with exclusion by expiry: another version may be made, or
 * no more. A withdrawal whose versions are all dead ends with the cancel. A repeat is harmless.
 */
export function order(turn: Turn, withdrawal: Withdrawal, act: "replace" | "cancel", approver: string): Prepared {
  const { transactionId, ordered, versions } = withdrawal;
  const isSaid = ordered?.act === act && (act === "cancel" || ordered.versions === versions.length);
  if (!isSaid) turn.commit([{ kind: "UNSTUCK", transactionId, act, approver }]);
  if (hasRunOut(turn, withdrawal)) turn.commit([{ kind: "EXPIRED", transactionId }]);
  return { ok: true, work: null };
}

/** Returns why an operator's order would change nothing, or null. */
export function cannotOrder(withdrawal: Withdrawal, act: "replace" | "cancel"): Refusal | null {
  if (act === "cancel") return null;
  if (isCancelling(withdrawal)) return refuse("WITHDRAWAL_CANCELLING");
  return isDead(withdrawal) ? null : stillAlive(withdrawal);
}

/**
 * Records the courier's statement that a version is dead. As many of its nodes must agree as for
 * any claim about the chain.
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

/**
 * Raises an alarm if a block holds a version that both sides called dead: another version may be on
 * its way or paid as well.
 */
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
 * Records the gateway's statement on dead transactions, once for each released version past its own
 * end by ledger time. Other hashes are ignored, and the gateway sends them again. Returns the
 * withdrawals.
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
