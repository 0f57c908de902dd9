/**
 * The gateway's welcome for this run, with the ledger head and the jobs in the gateway's database.
 * The signer locks if they show that the ledger was restored from a backup. A rolled-back gateway
 * gets a resync first, and the handshake is done once it has everything. Touches nothing; records
 * go through the `RequestContext`. Source: docs/protocol.md section 4.
 */
import { type Refusal, refuse } from "../../../base/fault.ts";
import type { Welcome } from "../../../protocol/messages.ts";
import { skewMaxMs } from "../state/ledger-time.ts";
import {
  type AdmissionResult,
  keepGatewayTime,
  lockSigner,
  type RequestContext,
  raiseAlarm,
} from "./context.ts";
import {
  checkGatewayHead,
  refuseIfClockSkewed,
  refuseIfOtherAgentOrEpoch,
  refuseIfOtherWallet,
} from "./gateway-head.ts";
import { releaseAttemptsUpTo } from "./release.ts";
import { decideUndecidedWithdrawals } from "./request.ts";

/**
 * Clocks further apart raise an alarm; beyond `skewMaxMs` nothing is taken, because a daily limit
 * is only as good as the clock.
 */
const skewAlarmMs = 60_000;

export function admitWelcome(context: RequestContext, welcome: Welcome): AdmissionResult {
  const { core, run } = context;
  const foreign =
    refuseIfOtherAgentOrEpoch(context, welcome) ?? refuseIfOtherWallet(context, welcome.wallet);
  if (foreign !== null) return foreign;
  if (welcome.answers !== run.runId) return refuse("WELCOME_OTHER_RUN");
  const isOld = welcome.at <= run.gatewayAt;
  // Compared with the ledger before anything is written: a new alarm would take the place of a
  // forgotten record.
  const wasLocked = core.locked !== null;
  const headCheck =
    parted(context, welcome.gatewayHead) ?? checkGatewayHead(context, welcome.gatewayHead);
  // A locked signer still reports, so the link may stand, but it completes no handshake. If the
  // gateway's head fits, the signer goes on reporting from there and may accept the observation
  // "conflicted".
  if (wasLocked) {
    const fits = headCheck === null || headCheck === "stale";
    run.gatewayHeadSeq = fits && !isOld ? (welcome.gatewayHead?.seq ?? 0) : null;
    if (fits && !isOld) beginResync(context, welcome);
    return { ok: true, touched: [] };
  }
  if (headCheck !== null && headCheck !== "stale") return headCheck;
  const skewed = refuseIfClockSkewed(context, welcome);
  if (!isOld) alarmOfSkew(context, welcome);
  if (skewed !== null) {
    // Ledger time stands until the clocks agree again, and nothing is signed. A repeated old
    // welcome says nothing about the clocks.
    if (!isOld) run.handshakeDone = false;
    return skewed;
  }
  if (isOld && (lacks(context, welcome) || welcome.at <= run.behindAt))
    return refuse("WELCOME_STALE");
  const { sequence, hash } = welcome.jobs;
  if (sequence === core.chain.sequence && hash !== core.chain.hash) {
    return lockSigner(context, "LEDGER_FORKED", `job ${sequence} has another hash at the gateway`);
  }
  if (!isOld && beginResync(context, welcome)) {
    keepGatewayTime(context, welcome.at);
    run.handshakeDone = false;
    run.behindAt = welcome.at;
    return { ok: true, touched: [] };
  }
  run.resync = null;
  return { ok: true, touched: completeHandshake(context, welcome) };
}

/**
 * Completes the handshake: the gateway has everything. The head in its welcome counts as an
 * acknowledgement, and only the welcome comes again if an acknowledgement was lost on its way.
 */
export function completeHandshake(
  context: RequestContext,
  { at, challenge, gatewayHead }: Pick<Welcome, "at" | "challenge" | "gatewayHead">,
): readonly string[] {
  const { run } = context;
  keepGatewayTime(context, at);
  run.handshakeDone = true;
  run.handshake = challenge;
  decideUndecidedWithdrawals(context);
  return gatewayHead === null ? [] : releaseAttemptsUpTo(context, gatewayHead);
}

/**
 * Locks if the gateway's head is below our acknowledged head and not a record of this ledger: the
 * gateway holds another ledger.
 */
function parted(context: RequestContext, gatewayHead: Welcome["gatewayHead"]): Refusal | null {
  if (
    gatewayHead === null ||
    gatewayHead.seq >= context.core.heads.acked.seq ||
    context.hashAt(gatewayHead.seq) === gatewayHead.hash
  )
    return null;
  return lockSigner(
    context,
    "LEDGER_FORKED",
    `record ${gatewayHead.seq} has another hash at the gateway`,
  );
}

/**
 * Begins a resync from the gateway's head if the gateway lacks something; returns whether it does.
 */
function beginResync(context: RequestContext, welcome: Welcome): boolean {
  const { run, core } = context;
  const to = core.heads.head.seq;
  run.resync = lacks(context, welcome)
    ? { from: welcome.gatewayHead?.seq ?? 0, to, challenge: welcome.challenge }
    : null;
  if (run.resync !== null) run.voidReceived.clear();
  return run.resync !== null;
}

/**
 * True if the gateway's database holds less than it has acknowledged, has fewer jobs than it has
 * issued, or does not know this recovered ledger yet.
 */
function lacks({ core }: RequestContext, { gatewayHead, jobs }: Welcome): boolean {
  const held = gatewayHead?.seq ?? 0;
  return (
    held < core.heads.acked.seq ||
    jobs.sequence < core.chain.sequence ||
    held < (core.recovered?.seq ?? 0)
  );
}

function alarmOfSkew(context: RequestContext, { at }: Welcome): void {
  const skewMs = Math.abs(at - context.localMs);
  const aheadMs = context.core.heads.at - at;
  if (skewMs > skewAlarmMs)
    raiseAlarm(
      context,
      "CLOCK_SKEW",
      `the gateway's clock is ${skewMs} ms away from the local one`,
    );
  else if (aheadMs > skewMaxMs)
    raiseAlarm(
      context,
      "CLOCK_SKEW",
      `the ledger's time stands, ${aheadMs} ms ahead of the gateway's clock`,
    );
}
