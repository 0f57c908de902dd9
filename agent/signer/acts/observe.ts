/**
 * The courier tells of a transaction on chain. The signer takes it as a claim: it moves a state
 * forward, never a slot or an amount. Touches nothing: records leave through the turn.
 */
import { saySlot, waitingOf } from "../../../chains/families.ts";
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import type { CourierRequests } from "../../socket/verbs.ts";
import { contestedCode } from "../state/bindings.ts";
import { isFinal, observedStep, step } from "../state/machine.ts";
import { isOver, type Withdrawal } from "../state/withdrawal.ts";
import { alarm, type Done, lock, type Turn } from "./run.ts";
import { observeDead, warnDeadIncluded } from "./waiting.ts";

/**
 * Observations of one withdrawal beside its first end; a chain that moves it more often is a
 * courier that lies.
 */
const observationsMax = 200;

/**
 * What the courier saw on chain. Stages go forward, but for a reorganisation; only another end
 * takes the place of an end, and none once the gateway has said that there is one; the transaction
 * must be one of ours, and "lost", which says that it is not, stops the account. Twice is harmless.
 * @public
 */
export function observe(turn: Turn, claim: CourierRequests["observed"]): Done {
  const { core } = turn;
  const { transactionId, stage, outcome, txHash, block } = claim;
  const withdrawal = core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (stage === "dead") return observeDead(turn, withdrawal, claim);
  if (claim.witnesses !== undefined) return refuse("WITHDRAWAL_OBSERVATION", "witnesses belong to what is dead");
  if ((stage === "final") === (outcome === "")) return refuse("WITHDRAWAL_OBSERVATION", "an outcome belongs to a final stage");
  if ((outcome === "lost" || outcome === "cancelled") && waitingOf(withdrawal.job.network) !== null)
    return refuse("WITHDRAWAL_OBSERVATION", "no other transaction takes the place of this one there");
  const isSame = stage === "final" && outcome === withdrawal.state && txHash === withdrawal.observed?.txHash;
  if (isSame) return { ok: true, withdrawal };
  // An end may be told anew until the gateway has said that it is one: whoever told of it before
  // may have lied.
  if (isOver(withdrawal) || (isFinal(withdrawal.state) && stage !== "final"))
    return refuse("WITHDRAWAL_CLOSED", withdrawal.state);
  const isOut = withdrawal.versions.some((version) => version.released);
  if (!isOut || step(withdrawal.state, observedStep(stage, outcome)) === null) return refuse("WITHDRAWAL_NOT_RELEASED");
  const ours = withdrawal.versions.find((version) => version.released && version.txHash === txHash);
  if (ours === undefined && outcome !== "lost") return refuse("WITHDRAWAL_OTHER_TRANSACTION", txHash);
  if ((outcome === "cancelled" && ours?.isCancel !== true) || (outcome === "paid" && ours?.isCancel === true))
    return refuse("WITHDRAWAL_OBSERVATION", "cancelled is the end by a cancel, and by nothing else");
  const last = withdrawal.observed;
  const isRepeat =
    stage !== "final" && last?.stage === stage && last.txHash === txHash && (last.block === block || stage === "broadcast");
  if (isRepeat) return { ok: true, withdrawal };
  // The first end is taken from whomever, or nothing would ever end; not of a version that somebody
  // called dead, or end and death could take turns for ever.
  const isFirstEnd = stage === "final" && !isFinal(withdrawal.state) && ours?.dead === undefined;
  if (!isFirstEnd && withdrawal.observations >= observationsMax) return refuse("WITHDRAWAL_TOO_MANY_OBSERVATIONS");
  const unheard = outcome === "lost" && withdrawal.code !== contestedCode ? stopForLoss(turn, withdrawal) : null;
  if (unheard !== null) return unheard;
  if (stage !== "broadcast") warnDeadIncluded(turn, withdrawal, txHash);
  turn.commit([{ kind: "OBSERVED", transactionId, stage, outcome, txHash, block }]);
  return { ok: true, withdrawal };
}

/**
 * A nonce that the ledger bound went to a transaction that is none of its own: somebody else signs
 * with the key, and takes nonces that the count never shows. An alarm and a lock, in front of the
 * end itself, so that no torn write keeps that without them. Where ledger and gateway went back the
 * alarm is all: the transaction may be a payment of ours that neither side remembers. A contested
 * slot went to the other withdrawal. The greeting comes first, and no other lock may be there: a
 * restored ledger may have forgotten the very version that was mined, and learns of it by its
 * recovery.
 */
function stopForLoss(turn: Turn, { transactionId, job, account, slot }: Withdrawal): Refusal | null {
  const { core, run } = turn;
  if (core.locked !== null && core.locked.code !== "CHAIN_SLOT_FOREIGN") return refuse("SIGNER_LOCKED", core.locked.code);
  if (!run.greeted && run.echoed === null) return refuse("SIGNER_NOT_GREETED");
  const detail = `${job.network}: ${saySlot(job.network, slot)} of ${account} was bound to ${transactionId} and used by a foreign transaction`;
  alarm(turn, "CHAIN_SLOT_LOST", detail);
  if (!core.isHolding) lock(turn, "CHAIN_SLOT_FOREIGN", detail);
  return null;
}
