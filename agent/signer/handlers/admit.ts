/**
 * The entry point for envelopes: a welcome, jobs or a recovery offer is taken or refused. The
 * signer accepts only envelopes signed by the pinned gateway key for this agent, wallet and epoch,
 * and checks the signature before parsing. Touches nothing; records go through the
 * `RequestContext`. Source: docs/protocol.md sections 5 to 7.
 */
import { type Refusal, refuse } from "../../../base/fault.ts";
import {
  agentFrameBytesMax,
  openEnvelope,
  verifyJobSignature,
} from "../../../protocol/envelope.ts";
import { jobHashOf } from "../../../protocol/identity.ts";
import type { Jobs } from "../../../protocol/messages.ts";
import { parseJob, parseJobs, parseWelcome } from "../../../protocol/payloads.ts";
import { parseRecoveryPart, type RecoveryPart } from "../../../protocol/recovery.ts";
import type { Core } from "../state/core.ts";
import { skewMaxMs } from "../state/ledger-time.ts";
import { openWithdrawalsMax } from "../state/withdrawals.ts";
import {
  type AdmissionResult,
  keepGatewayTime,
  lockSigner,
  type RequestContext,
  refuseIfDiskFull,
  refuseIfGateClosed,
} from "./context.ts";
import {
  checkGatewayHead,
  refuseIfClockSkewed,
  refuseIfOtherAgentOrEpoch,
  refuseIfOtherWallet,
} from "./gateway-head.ts";
import { type FreshJob, recordRequest } from "./request.ts";
import { admitWelcome } from "./welcome.ts";

/*
 * Checks the jobs of one envelope against the end of our jobs, which are linked by hash. A job is
 * new or known, one may be missing, or the gateway's jobs have forked. An envelope with one unfit
 * job records nothing. Only the newest new job's own signature is checked: each job names the one
 * before it by hash. A fork locks, so before that all of them are. Touches nothing; records go
 * through the `RequestContext`. Source: docs/protocol.md section 5.
 */

function admitJobs(context: RequestContext, envelope: Jobs): AdmissionResult {
  const { core } = context;
  const foreign =
    refuseIfOtherAgentOrEpoch(context, envelope) ?? refuseIfOtherWallet(context, envelope.wallet);
  if (foreign !== null) return foreign;
  const closed = refuseIfGateClosed(context) ?? refuseIfClockSkewed(context, envelope);
  if (closed !== null) return closed;
  const headCheck = checkGatewayHead(context, envelope.gatewayHead);
  if (headCheck === "stale") return refuse("JOB_HEAD_STALE");
  if (headCheck !== null) return headCheck;
  keepGatewayTime(context, envelope.at);
  const read = readJobs(core, envelope);
  if (!read.ok) return "forked" in read ? lockSigner(context, "LEDGER_FORKED", read.forked) : read;
  const full = read.fresh.length > 0 ? refuseIfDiskFull(context) : null;
  if (full !== null) return full;
  if (core.book.openCount + read.fresh.length > openWithdrawalsMax)
    return refuse("JOB_TOO_MANY_OPEN");
  const late = outlived(context, read.fresh, envelope.at);
  if (late !== null) return late;
  for (const fresh of read.fresh) recordRequest(context, fresh);
  return { ok: true, touched: read.touched };
}

/**
 * Refuses new jobs if ledger time was pushed far ahead: such a ledger would end each new job at
 * once, and the gateway would report the order as failed. The jobs wait at the gateway until an
 * operator has begun a new ledger by a recovery.
 */
function outlived(
  { nowMs }: RequestContext,
  fresh: readonly FreshJob[],
  at: number,
): Refusal | null {
  const aheadMs = nowMs - at;
  const isLost = fresh.some(({ job }) => job.expiresAt < nowMs && job.expiresAt > at);
  return aheadMs > skewMaxMs && isLost
    ? refuse("LEDGER_AHEAD", `${aheadMs} ms ahead of the gateway's clock`)
    : null;
}

type ReadJobs =
  | { readonly ok: true; readonly fresh: readonly FreshJob[]; readonly touched: readonly string[] }
  | Refusal
  | { readonly ok: false; readonly forked: string };

/** @throws AgentError JSON_* when a text is no job */
function readJobs(core: Core, envelope: Jobs): ReadJobs {
  const fresh: FreshJob[] = [];
  const touched: string[] = [];
  let next = core.chain.sequence + 1;
  let previous = core.chain.hash;
  let expected = 0;
  const { signatures, jobs } = envelope;
  const isSigned = (text: string, at: number): boolean =>
    verifyJobSignature(text, signatures[at] ?? "", core.paired.publicKey);
  const fork = (forked: string): ReadJobs =>
    jobs.every(isSigned) ? { ok: false, forked } : refuse("JOB_UNSIGNED");
  for (const [index, text] of jobs.entries()) {
    const job = parseJob(text);
    const hash = jobHashOf(text);
    if (job.agent !== core.paired.agent) return refuse("JOB_OTHER_AGENT");
    if (job.wallet !== core.paired.wallet) return refuse("JOB_OTHER_WALLET");
    if (job.ledgerEpoch > envelope.ledgerEpoch) return refuse("JOB_OTHER_EPOCH");
    if (expected !== 0 && job.sequence !== expected) return refuse("JOB_ORDER");
    expected = job.sequence + 1;
    touched.push(job.transactionId);
    if (job.sequence < next) {
      const known = core.chain.at(job.sequence);
      if (known === undefined) return refuse("JOB_TOO_OLD");
      if (known.hash !== hash) return fork(`job ${job.sequence} came again with another content`);
      continue;
    }
    if (job.sequence > next) return refuse("JOB_GAP", `waits for job ${next}`);
    if (job.previous !== previous) return fork(`job ${job.sequence} does not follow ours`);
    fresh.push({ job, hash, text, signature: signatures[index] ?? "" });
    previous = hash;
    next += 1;
  }
  // The hashes link every new job to the last one, so its signature is about all of them.
  const last = jobs.length - 1;
  if (fresh.length > 0 && !isSigned(jobs[last] ?? "", last)) return refuse("JOB_UNSIGNED");
  return { ok: true, fresh, touched };
}

/**
 * Takes a welcome, jobs or recovery envelope. A repeat is harmless: the same jobs get the same
 * answer.
 * @throws AgentError ENVELOPE_*, JSON_* for a frame that the gateway did not sign or that is
 * malformed; nothing is recorded then
 */
export function admitJobFrame(context: RequestContext, frame: Uint8Array): AdmissionResult {
  const { publicKey } = context.core.paired;
  const kinds = ["welcome", "jobs", "recovery"] as const;
  const { kind, payload } = openEnvelope(frame, { kinds, publicKey, bytesMax: agentFrameBytesMax });
  if (kind === "recovery") return keepOrder(context, parseRecoveryPart(payload));
  return kind === "welcome"
    ? admitWelcome(context, parseWelcome(payload))
    : admitJobs(context, parseJobs(payload));
}

/**
 * Keeps a recovery offer for this run until an operator looks at it. The gateway ends this ledger's
 * epoch before it makes an order, so nothing is signed in the epoch any more.
 */
function keepOrder(context: RequestContext, part: RecoveryPart): AdmissionResult {
  const { core, run } = context;
  if (part.agent !== core.paired.agent) return refuse("ADMISSION_OTHER_AGENT", part.agent);
  const foreign = refuseIfOtherWallet(context, part.wallet);
  if (foreign !== null) return foreign;
  if (part.answers !== run.runId) return refuse("RECOVERY_OFFER", "for another run");
  if (part.ledgerEpoch <= core.paired.ledgerEpoch)
    return refuse(
      "RECOVERY_OFFER",
      `for epoch ${part.ledgerEpoch}, the ledger has ${core.paired.ledgerEpoch}`,
    );
  const skewed = refuseIfClockSkewed(context, part);
  if (skewed !== null) return skewed;
  keepGatewayTime(context, part.at);
  run.handshakeDone = false;
  run.gatewayHeadSeq = null;
  const taken = run.orders.take(part);
  return taken.ok ? { ok: true, touched: [] } : taken;
}
