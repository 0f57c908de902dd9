/**
 * Records a verified job: REQUESTED and the decision in one write, or REPEATED if its order is here
 * already. An impossible job is recorded as refused, so that the jobs never jam. Touches nothing;
 * records go through the `RequestContext`.
 */
import { deriveOrderTransactionId } from "../../../protocol/identity.ts";
import { operationOf } from "../../../protocol/job-mode.ts";
import type { Job } from "../../../protocol/messages.ts";
import type { RecordBody } from "../../ledger/records.ts";
import { contentDifferenceOf, contentHashesOf } from "../state/content.ts";
import { unsignedEnds } from "../state/machine.ts";
import { isUnjudged } from "../state/withdrawal.ts";
import type { RequestContext } from "./context.ts";
import { decisionBody } from "./decide.ts";
import { isRecalled, recallRefusal } from "./recall.ts";
import { judgeKept } from "./restored-slots.ts";
import { openSweepOfTopUp, refusalRecordsOf } from "./top-up.ts";

/** The next job in the sequence, with its exact text. */
export interface FreshJob {
  readonly job: Job;
  readonly hash: string;
  readonly text: string;
  readonly signature: string;
}

/** Records one job at its number. */
export function recordRequest(
  context: RequestContext,
  { job, hash, text, signature }: FreshJob,
): void {
  const { core } = context;
  const { transactionId, sequence } = job;
  const place = { transactionId, sequence, jobHash: hash };
  const known = core.book.contentOf(transactionId);
  // An id that does not follow from its own order contradicts the known withdrawal with the same
  // id.
  const code =
    known === undefined
      ? ""
      : differenceIn(context, known, job) || (isOwnId(context, job) ? "" : "JOB_ID_MISMATCH");
  if (known === undefined) {
    const decision = decide(context, job, context.nowMs);
    const decided =
      decision.kind === "REFUSED" ? refusalRecordsOf(context, job, decision) : [decision];
    context.commit([{ kind: "REQUESTED", ...place, job: text, signature }, ...decided], job);
    return;
  }
  const repeated: RecordBody = { kind: "REPEATED", ...place, code };
  if (code === "") context.commit([repeated]);
  else
    context.commit([
      repeated,
      { kind: "ALARM", code, detail: `job ${sequence} contradicts withdrawal ${transactionId}` },
    ]);
}

/**
 * Decides withdrawals left without a decision by a crash, and withdrawals that a recovered ledger
 * keeps. Done only after the handshake, because a restored ledger may have forgotten a decision and
 * more. Harmless if there are none.
 */
export function decideUndecidedWithdrawals(context: RequestContext): void {
  const open = [...context.core.book.open()];
  for (const { job, requestedAt } of open.filter(({ state }) => state === "requested")) {
    context.commit([decide(context, job, requestedAt)]);
  }
  for (const withdrawal of open.filter(isUnjudged))
    context.commit([judgeKept(context, withdrawal)]);
}

function decide(context: RequestContext, job: Job, requestedAt: number): RecordBody {
  const { transactionId } = job;
  if (!isOwnId(context, job))
    return { kind: "REFUSED", transactionId, by: "policy", approver: "", code: "JOB_ID_MISMATCH" };
  // If ledger and gateway were both restored, this job may have been paid under other limits:
  // policy does not decide, an operator does.
  if (context.core.isOfRecovery(job)) return { kind: "HELD", transactionId, code: "RECOVERY_HOLD" };
  if (!mayRenew(context, job))
    return { kind: "REFUSED", transactionId, by: "policy", approver: "", code: "JOB_RENEWAL" };
  if (isRecalled(context, job)) return recallRefusal(transactionId);
  const judged = decisionBody(
    transactionId,
    context.core.policy.judge(job, requestedAt, context.nowMs),
  );
  if (judged.kind === "REFUSED" || job.mode !== "topup" || openSweepOfTopUp(context, job) !== null)
    return judged;
  return { kind: "REFUSED", transactionId, by: "policy", approver: "", code: "JOB_TOPUP_SWEEP" };
}

/**
 * Returns the difference between a repeated order and the known one. An order without an address
 * may come again with an address, given by an operator at a copy of this ledger. If it ended here
 * unsigned, that end is the answer.
 */
function differenceIn(
  { core }: RequestContext,
  known: string,
  job: Job,
): ReturnType<typeof contentDifferenceOf> {
  const state = core.book.stateOf(job.transactionId);
  const isUnsigned = state !== undefined && unsignedEnds.has(state);
  return isUnsigned && known === contentHashesOf({ ...job, address: "" })
    ? ""
    : contentDifferenceOf(known, contentHashesOf(job));
}

/**
 * True if the id is derived from the order. So a gateway without its database cannot ask for one
 * order under two ids.
 */
function isOwnId({ core }: RequestContext, job: Job): boolean {
  const { merchant } = core.paired;
  const { mode, orderId, renews, transactionId } = job;
  return (
    transactionId ===
    deriveOrderTransactionId({ merchant, operation: operationOf(mode), orderId, renews })
  );
}

/**
 * True for a first order, and for one that follows a withdrawal which this ledger knows as refused
 * or expired. The gateway says so too; this is the second, independent brake against paying twice.
 */
function mayRenew({ core }: RequestContext, { renews, network }: Job): boolean {
  if (renews === undefined) return true;
  const state = core.book.stateOf(renews);
  // Only on the network of the coins that it will owe can it spend them.
  if ((core.owed.networkOf(renews) ?? network) !== network) return false;
  return state !== undefined && unsignedEnds.has(state);
}
