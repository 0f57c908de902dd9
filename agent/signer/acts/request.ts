/**
 * Records a verified job: REQUESTED and the decision in one write, or REPEATED if its order is here
 * already. An impossible job is recorded as refused, so that the jobs never jam. Touches nothing;
 * records go through the `Turn`.
 */
import { transactionIdOf } from "../../../protocol/identity.ts";
import { operationOf } from "../../../protocol/job-mode.ts";
import type { Job } from "../../../protocol/messages.ts";
import type { RecordBody } from "../../ledger/records.ts";
import { contentOf, differenceOf } from "../state/content.ts";
import { step, unsignedEnds } from "../state/machine.ts";
import { isUnjudged } from "../state/withdrawal.ts";
import { decisionBody } from "./decide.ts";
import { judgeKept } from "./kept.ts";
import type { Turn } from "./run.ts";
import { sweepOf } from "./top-up.ts";

/** The next job in the sequence, with its exact text. */
export interface FreshJob {
  readonly job: Job;
  readonly hash: string;
  readonly text: string;
  readonly signature: string;
}

/** Records one job at its number. */
export function record(turn: Turn, { job, hash, text, signature }: FreshJob): void {
  const { core } = turn;
  const { transactionId, sequence } = job;
  const place = { transactionId, sequence, jobHash: hash };
  const known = core.book.contentOf(transactionId);
  // An id that does not follow from its own order contradicts the known withdrawal with the same
  // id.
  const code = known === undefined ? "" : differenceIn(turn, known, job) || (isOwnId(turn, job) ? "" : "JOB_ID_MISMATCH");
  if (known === undefined) {
    const decision = decide(turn, job, turn.nowMs);
    turn.commit([{ kind: "REQUESTED", ...place, job: text, signature }, decision, ...sweepEnds(turn, job, decision)], job);
    return;
  }
  const repeated: RecordBody = { kind: "REPEATED", ...place, code };
  if (code === "") turn.commit([repeated]);
  else turn.commit([repeated, { kind: "ALARM", code, detail: `job ${sequence} contradicts withdrawal ${transactionId}` }]);
}

/**
 * Decides withdrawals left without a decision by a crash, and withdrawals that a recovered ledger
 * keeps. Done only after the handshake, because a restored ledger may have forgotten a decision and
 * more. Harmless if there are none.
 */
export function resume(turn: Turn): void {
  const open = [...turn.core.book.open()];
  for (const { job, requestedAt } of open.filter(({ state }) => state === "requested")) {
    turn.commit([decide(turn, job, requestedAt)]);
  }
  for (const withdrawal of open.filter(isUnjudged)) turn.commit([judgeKept(turn, withdrawal)]);
}

function decide(turn: Turn, job: Job, requestedAt: number): RecordBody {
  const { transactionId } = job;
  if (!isOwnId(turn, job)) return { kind: "REFUSED", transactionId, by: "policy", approver: "", code: "JOB_ID_MISMATCH" };
  // If ledger and gateway were both restored, this job may have been paid under other limits:
  // policy does not decide, an operator does.
  if (turn.core.isOfRecovery(job)) return { kind: "HELD", transactionId, code: "RECOVERY_HOLD" };
  const judged = decisionBody(transactionId, turn.core.policy.judge(job, requestedAt, turn.nowMs));
  if (judged.kind === "REFUSED" || job.mode !== "topup" || sweepOf(turn, job) !== null) return judged;
  return { kind: "REFUSED", transactionId, by: "policy", approver: "", code: "JOB_TOPUP_SWEEP" };
}

/**
 * Ends a sweep whose top-up is refused, because it gets no coins; the gateway may then order
 * another one.
 */
function sweepEnds(turn: Turn, job: Job, { kind, ...decision }: RecordBody): readonly RecordBody[] {
  if (kind !== "REFUSED" || job.mode !== "topup" || !("code" in decision)) return [];
  const sweep = sweepOf(turn, job);
  if (sweep === null || step(sweep.state, "refused") === null) return [];
  const { transactionId } = sweep;
  return [{ kind, transactionId, by: "policy", approver: "", code: String(decision.code) }];
}

/**
 * Returns the difference between a repeated order and the known one. An order without an address
 * may come again with an address, given by an operator at a copy of this ledger. If it ended here
 * unsigned, that end is the answer.
 */
function differenceIn({ core }: Turn, known: string, job: Job): ReturnType<typeof differenceOf> {
  const state = core.book.stateOf(job.transactionId);
  const isUnsigned = state !== undefined && unsignedEnds.has(state);
  return isUnsigned && known === contentOf({ ...job, address: "" }) ? "" : differenceOf(known, contentOf(job));
}

/**
 * True if the id is derived from the order. So a gateway without its database cannot ask for one
 * order under two ids.
 */
function isOwnId({ core }: Turn, job: Job): boolean {
  const { merchant } = core.paired;
  return job.transactionId === transactionIdOf({ merchant, operation: operationOf(job.mode), orderId: job.orderId });
}
