/**
 * The gateway's welcome for this run, with the ledger head and the jobs in the gateway's database.
 * The signer locks if they show that the ledger was restored from a backup. A rolled-back gateway
 * gets a resync first, and the handshake is done once it has everything. Touches nothing; records
 * go through the `Turn`. Source: docs/protocol.md section 4.
 */
import { type Refusal, refuse } from "../../../base/fault.ts";
import type { Welcome } from "../../../protocol/messages.ts";
import { skewMaxMs } from "../state/ledger-time.ts";
import { foreignTo, holdEcho, otherWallet, skewOf } from "./echo.ts";
import { release } from "./release.ts";
import { resume } from "./request.ts";
import { type Admitted, alarm, hearTime, lock, type Turn } from "./run.ts";

/**
 * Clocks further apart raise an alarm; beyond `skewMaxMs` nothing is taken, because a daily limit
 * is only as good as the clock.
 */
const skewAlarmMs = 60_000;

export function admitWelcome(turn: Turn, welcome: Welcome): Admitted {
  const { core, run } = turn;
  const foreign = foreignTo(turn, welcome) ?? otherWallet(turn, welcome.wallet);
  if (foreign !== null) return foreign;
  if (welcome.answers !== run.runId) return refuse("WELCOME_OTHER_RUN");
  const isOld = welcome.at <= run.gatewayAt;
  // Compared with the ledger before anything is written: a new alarm would take the place of a
  // forgotten record.
  const wasLocked = core.locked !== null;
  const echoed = parted(turn, welcome.echo) ?? holdEcho(turn, welcome.echo);
  // A locked signer still reports, so the link may stand, but it completes no handshake. If the
  // gateway's head fits, the signer goes on reporting from there and may accept the observation
  // "lost".
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
    // Ledger time stands until the clocks agree again, and nothing is signed. A repeated old
    // welcome says nothing about the clocks.
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
 * Completes the handshake: the gateway has everything. The head in its welcome counts as an
 * acknowledgement, and only the welcome comes again if an acknowledgement was lost on its way.
 */
export function greet(turn: Turn, { at, challenge, echo }: Pick<Welcome, "at" | "challenge" | "echo">): readonly string[] {
  const { run } = turn;
  hearTime(turn, at);
  run.greeted = true;
  run.greeting = challenge;
  resume(turn);
  return echo === null ? [] : release(turn, echo);
}

/**
 * Locks if the gateway's head is below our acknowledged head and not a record of this ledger: the
 * gateway holds another ledger.
 */
function parted(turn: Turn, echo: Welcome["echo"]): Refusal | null {
  if (echo === null || echo.seq >= turn.core.heads.acked.seq || turn.hashAt(echo.seq) === echo.hash) return null;
  return lock(turn, "LEDGER_FORKED", `record ${echo.seq} has another hash at the gateway`);
}

/**
 * Begins a resync from the gateway's head if the gateway lacks something; returns whether it does.
 */
function tellAgain(turn: Turn, welcome: Welcome): boolean {
  const { run, core } = turn;
  const to = core.heads.head.seq;
  run.telling = lacks(turn, welcome) ? { from: welcome.echo?.seq ?? 0, to, challenge: welcome.challenge } : null;
  if (run.telling !== null) run.deadHeard.clear();
  return run.telling !== null;
}

/**
 * True if the gateway's database holds less than it has acknowledged, has fewer jobs than it has
 * issued, or does not know this recovered ledger yet.
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
