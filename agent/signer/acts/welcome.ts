/**
 * The gateway greets this run: it says what it holds of our ledger and of the jobs. Where that
 * shows that the ledger went back in time, the signer locks; a gateway that went back is told again
 * what it lost, and greets when it has all of it. Touches nothing: records leave through the turn.
 * Source: docs/protocol.md section 4.
 */
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import type { Welcome } from "../../../protocol/messages.ts";
import { skewMaxMs } from "../state/ledger-time.ts";
import { foreignTo, holdEcho, otherWallet, skewOf } from "./echo.ts";
import { release } from "./release.ts";
import { resume } from "./request.ts";
import { type Admitted, alarm, hearTime, lock, type Turn } from "./run.ts";

/**
 * Clocks apart by more are an alarm; by more than `skewMaxMs`, nothing is taken: a limit per day is
 * worth what the clock is.
 */
const skewAlarmMs = 60_000;

export function admitWelcome(turn: Turn, welcome: Welcome): Admitted {
  const { core, run } = turn;
  const foreign = foreignTo(turn, welcome) ?? otherWallet(turn, welcome.wallet);
  if (foreign !== null) return foreign;
  if (welcome.answers !== run.runId) return refuse("WELCOME_OTHER_RUN");
  const isOld = welcome.at <= run.gatewayAt;
  // Against the ledger as it stands, before anything is written: an alarm of now would take the
  // place of a record that was forgotten.
  const wasLocked = core.locked !== null;
  const echoed = parted(turn, welcome.echo) ?? holdEcho(turn, welcome.echo);
  // A locked signer still reports, so the link may stand; it is greeted by no one. Where the echo
  // fits, the signer goes on reporting from there, and may call lost what was.
  if (wasLocked) {
    const fits = echoed === null || echoed === "stale";
    run.echoed = fits && !isOld ? (welcome.echo?.seq ?? 0) : null;
    if (fits && !isOld) tellAgain(turn, welcome);
    return { ok: true, touched: [] };
  }
  if (echoed !== null && echoed !== "stale") return echoed;
  const skewed = skewOf(turn, welcome);
  if (!isOld) alarmOfSkew(turn, welcome);
  if (skewed !== null) {
    // Time stands until the clocks agree again, and nothing is signed; an old greeting shown again
    // says nothing about the clocks.
    if (!isOld) run.greeted = false;
    return skewed;
  }
  if (isOld && (lacks(turn, welcome) || welcome.at <= run.behindAt)) return refuse("WELCOME_STALE");
  const { sequence, hash } = welcome.jobs;
  if (sequence === core.chain.sequence && hash !== core.chain.hash) {
    return lock(turn, "LEDGER_FORKED", `job ${sequence} has another hash at the gateway`);
  }
  if (!isOld && tellAgain(turn, welcome)) {
    hearTime(turn, welcome.at);
    run.greeted = false;
    run.behindAt = welcome.at;
    return { ok: true, touched: [] };
  }
  run.telling = null;
  return { ok: true, touched: greet(turn, welcome) };
}

/**
 * The gateway has everything: from here it greets this run. Its echo is the same word as an
 * acknowledgement, and the only one that comes again when that was lost on the way.
 */
export function greet(turn: Turn, { at, challenge, echo }: Pick<Welcome, "at" | "challenge" | "echo">): readonly string[] {
  const { run } = turn;
  hearTime(turn, at);
  run.greeted = true;
  run.greeting = challenge;
  resume(turn);
  return echo === null ? [] : release(turn, echo);
}

/** A gateway that went back has a place in this very ledger, or it holds another one. */
function parted(turn: Turn, echo: Welcome["echo"]): Refusal | null {
  if (echo === null || echo.seq >= turn.core.heads.acked.seq || turn.hashAt(echo.seq) === echo.hash) return null;
  return lock(turn, "LEDGER_FORKED", `record ${echo.seq} has another hash at the gateway`);
}

/** A gateway that lacks something is told again from where it stands; gives whether it is. */
function tellAgain(turn: Turn, welcome: Welcome): boolean {
  const { run, core } = turn;
  const to = core.heads.head.seq;
  run.telling = lacks(turn, welcome) ? { from: welcome.echo?.seq ?? 0, to, challenge: welcome.challenge } : null;
  if (run.telling !== null) run.deadHeard.clear();
  return run.telling !== null;
}

/**
 * The gateway's database holds less than it has acknowledged, or fewer jobs than it has given out;
 * or it does not know of this ledger yet, which was opened.
 */
function lacks({ core }: Turn, { echo, jobs }: Welcome): boolean {
  const held = echo?.seq ?? 0;
  return held < core.heads.acked.seq || jobs.sequence < core.chain.sequence || held < (core.opened?.seq ?? 0);
}

function alarmOfSkew(turn: Turn, { at }: Welcome): void {
  const skewMs = Math.abs(at - turn.localMs);
  const aheadMs = turn.core.heads.at - at;
  if (skewMs > skewAlarmMs) alarm(turn, "CLOCK_SKEW", `the gateway's clock is ${skewMs} ms away from the local one`);
  else if (aheadMs > skewMaxMs) alarm(turn, "CLOCK_SKEW", `the ledger's time stands, ${aheadMs} ms ahead of the gateway's clock`);
}
