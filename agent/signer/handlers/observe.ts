/**
 * The courier reports a transaction on chain. The signer takes the report as a claim, which moves a
 * state forward but never changes a slot or an amount. Touches nothing; records go through the
 * `RequestContext`.
 */

import { type Refusal, refuse } from "../../../base/fault.ts";
import { answerOfFirstGuard, type Guard } from "../../../base/guard.ts";
import { expiryExclusionOf, pinExclusionOf, saySlot } from "../../../chains/families.ts";
import type { RecordBody } from "../../ledger/records.ts";
import type { CourierRequests } from "../../socket/verbs.ts";
import { isFinal, nextState, observedStep } from "../state/machine.ts";
import { contestedCode } from "../state/slot-assignments.ts";
import { type Attempt, isOver, pinOf, type Withdrawal } from "../state/withdrawal.ts";
import { type ActResult, lockSigner, type RequestContext, raiseAlarm } from "./context.ts";
import { observeVoid, warnVoidIncluded } from "./expiry-exclusion.ts";

/**
 * The most observations of one withdrawal apart from its first end. No honest courier reports so
 * many changes of a chain.
 */
const observationsMax = 200;

/** An observation of a withdrawal, and the attempt of ours that it names. */
interface AttemptObservation {
  readonly context: RequestContext;
  readonly claim: CourierRequests["observed"];
  readonly withdrawal: Withdrawal;
  readonly ours: Attempt | undefined; // the released attempt with this hash
}

const wrong = (detail: string): Refusal => refuse("WITHDRAWAL_OBSERVATION", detail);

/** The reasons why an observation is no record, in order. */
export const observeGuards: readonly Guard<AttemptObservation, ActResult>[] = [
  [
    "an attempt is void",
    ({ claim }) => claim.stage === "void",
    ({ context, withdrawal, claim }) => observeVoid(context, withdrawal, claim),
  ],
  [
    "a quorum of something else",
    ({ claim }) => claim.quorum !== undefined,
    () => wrong("a quorum belongs to a void attempt"),
  ],
  [
    "an outcome without an end, or an end without one",
    ({ claim: { stage, outcome } }) => (stage === "final") === (outcome === ""),
    () => wrong("an outcome belongs to a final stage"),
  ],
  [
    "taken by another transaction, where none can",
    ({ claim: { outcome }, withdrawal }) =>
      (outcome === "conflicted" || outcome === "cancelled") &&
      expiryExclusionOf(withdrawal.job.network) !== null,
    () => wrong("no other transaction takes the place of this one there"),
  ],
  [
    "the same end again",
    ({ claim: { stage, outcome, txHash }, withdrawal }) =>
      stage === "final" && outcome === withdrawal.state && txHash === withdrawal.observed?.txHash,
    ({ withdrawal }) => ({ ok: true, withdrawal }),
  ],
  [
    // An end may be reported again until the gateway has confirmed one, because an earlier report
    // may have been a lie.
    "after the end",
    ({ claim, withdrawal }) =>
      isOver(withdrawal) || (isFinal(withdrawal.state) && claim.stage !== "final"),
    ({ withdrawal }) => refuse("WITHDRAWAL_CLOSED", withdrawal.state),
  ],
  [
    "before a release",
    ({ claim: { stage, outcome }, withdrawal }) =>
      stage === "void" ||
      !withdrawal.attempts.some(({ released }) => released) ||
      nextState(withdrawal.state, observedStep(stage, outcome)) === null,
    () => refuse("WITHDRAWAL_NOT_RELEASED"),
  ],
  [
    "a foreign transaction",
    ({ claim, ours }) => ours === undefined && claim.outcome !== "conflicted",
    ({ claim }) => refuse("WITHDRAWAL_OTHER_TRANSACTION", claim.txHash),
  ],
  [
    "a payment cancelled, or a cancel paid",
    ({ claim: { outcome }, ours }) =>
      (outcome === "cancelled" && ours?.isCancel !== true) ||
      (outcome === "paid" && ours?.isCancel === true),
    () => wrong("cancelled is the end by a cancel, and by nothing else"),
  ],
  [
    "the same stage again",
    ({ claim: { stage, txHash, block }, withdrawal: { observed: last } }) =>
      stage !== "final" &&
      last?.stage === stage &&
      last.txHash === txHash &&
      (last.block === block || stage === "broadcast"),
    ({ withdrawal }) => ({ ok: true, withdrawal }),
  ],
  [
    // The first end is always accepted, or nothing would ever end. An exception is an attempt that
    // was called void: otherwise end and void could alternate without limit.
    "too many observations",
    ({ claim, withdrawal, ours }) =>
      !(claim.stage === "final" && !isFinal(withdrawal.state) && ours?.voidBy === undefined) &&
      withdrawal.observations >= observationsMax,
    () => refuse("WITHDRAWAL_TOO_MANY_OBSERVATIONS"),
  ],
];

/**
 * Records the courier's observation of the chain. Stages go forward, except in a reorganisation. An
 * end is replaced only by another end, and by none after the gateway has confirmed an end. The
 * transaction must be one of ours, except with the outcome "conflicted", which stops the account. A
 * repeat is harmless.
 */
export function recordObservation(
  context: RequestContext,
  claim: CourierRequests["observed"],
): ActResult {
  const { transactionId, stage, outcome, txHash, block } = claim;
  const withdrawal = context.core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  const ours = withdrawal.attempts.find((attempt) => attempt.released && attempt.txHash === txHash);
  const decided = answerOfFirstGuard(observeGuards, { context, claim, withdrawal, ours });
  if (decided !== null) return decided;
  const refusal =
    outcome === "conflicted" && withdrawal.code !== contestedCode
      ? stopForLoss(context, withdrawal)
      : null;
  if (refusal !== null) return refusal;
  if (stage !== "broadcast") warnVoidIncluded(context, withdrawal, txHash);
  const stops = outcome === "moved" ? stopCurrency(context, withdrawal, txHash) : [];
  context.commit([...stops, { kind: "OBSERVED", transactionId, stage, outcome, txHash, block }]);
  // A look from before says nothing about a coin that a block with this payment has since.
  if (stage !== "broadcast") context.run.coinLooks.delete(transactionId);
  return { ok: true, withdrawal };
}

/**
 * The stop of a currency in which a final payment moved something else than was asked for: the next
 * one would as well. The courier's word is enough, because a stop only makes payments wait. The
 * records stand in front of the end, so a torn write cannot keep the end without them.
 */
function stopCurrency(
  { core }: RequestContext,
  { transactionId, job }: Withdrawal,
  txHash: string,
): readonly RecordBody[] {
  const { network, currency } = job;
  if (core.stops.on(network, currency) !== null) return [];
  const detail = `${currency}: ${txHash} of ${transactionId} moved something else; no first payment is signed in it`;
  return [
    { kind: "ALARM", code: "CURRENCY_MOVES_OTHERWISE", detail },
    { kind: "PAUSED", paused: true, approver: "courier", network, currency, txHashes: [txHash] },
  ];
}

/**
 * Raises an alarm and a lock because a foreign transaction used a slot that the ledger had given
 * out. Another program signs with the key and takes nonces that the count never shows. Both records
 * stand in front of the end, so a torn write cannot keep the end without them.
 *
 * If ledger and gateway were both restored from a backup, only the alarm is raised: the transaction
 * may be a payment of ours that neither side remembers. A contested slot went to the other
 * withdrawal. The handshake must be done and no other lock may stand, because a restored ledger may
 * have forgotten the very attempt that was mined. The recovery will show that attempt.
 *
 * A coin that another transaction took is an alarm too: it may be one of ours, of a payment that
 * this ledger knows by its pin alone, and no later payment waits for it.
 */
function stopForLoss(context: RequestContext, withdrawal: Withdrawal): Refusal | null {
  const { core, run } = context;
  const { transactionId, job, account, slot } = withdrawal;
  if (core.locked !== null && core.locked.code !== "CHAIN_SLOT_FOREIGN")
    return refuse("SIGNER_LOCKED", core.locked.code);
  if (!run.handshakeDone && run.gatewayHeadSeq === null) return refuse("SIGNER_NO_HANDSHAKE");
  const isPinned = pinExclusionOf(job.network) !== null;
  const bound = isPinned
    ? `the coin ${pinOf(withdrawal)}`
    : `${saySlot(job.network, slot)} of ${account}`;
  const detail = `${job.network}: ${bound} was bound to ${transactionId} and used by a foreign transaction`;
  raiseAlarm(context, "CHAIN_SLOT_CONFLICTED", detail);
  if (!core.isHolding && !isPinned) lockSigner(context, "CHAIN_SLOT_FOREIGN", detail);
  return null;
}
