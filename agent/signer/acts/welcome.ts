/**
 * The gateway greets this run: it says what it holds of our ledger and of the jobs. Where that shows that the ledger or the gateway
 * went back in time, the signer records it and signs nothing. Touches nothing: records leave through the turn. Source:
 * docs/protocol.md section 4.
 */
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import type { Welcome } from "../../../protocol/messages.ts";
import { skewMaxMs } from "../state/ledger-time.ts";
import { release } from "./ack.ts";
import { foreignTo, holdEcho, otherWallet, skewOf } from "./echo.ts";
import { resume } from "./request.ts";
import { type Admitted, alarm, hearTime, lock, type Turn } from "./run.ts";

/** Clocks apart by more are an alarm; by more than `skewMaxMs`, nothing is taken: a limit per day is worth what the clock is. */
const skewAlarmMs = 60_000;

export function admitWelcome(turn: Turn, welcome: Welcome): Admitted {
  const { core, run } = turn;
  const foreign = foreignTo(turn, welcome) ?? otherWallet(turn, welcome.wallet);
  if (foreign !== null) return foreign;
  if (welcome.answers !== run.nonce) return refuse("WELCOME_OTHER_RUN");
  // A locked signer still reports, so the link may stand; it is greeted by no one. But a gateway that lacks what it was told before
  // hears of it; and what fits is heard: it goes on reporting from there, and may call lost what was.
  if (core.locked !== null) {
    const isBehind = lacks(turn, welcome);
    run.echoed = !isBehind && holdEcho(turn, welcome.echo) === null ? (welcome.echo?.seq ?? 0) : null;
    return isBehind ? refuse("GATEWAY_BEHIND") : { ok: true, touched: [] };
  }
  const isOld = welcome.at <= run.gatewayAt;
  // Against the ledger as it stands, before anything is written: an alarm of now would take the place of a record that was forgotten.
  const echoed = holdEcho(turn, welcome.echo);
  if (echoed !== null && echoed !== "stale") return echoed;
  const skewed = skewOf(turn, welcome);
  if (!isOld) alarmOfSkew(turn, welcome);
  if (skewed !== null) {
    // Time stands until the clocks agree again, and nothing is signed; an old greeting shown again says nothing about the clocks.
    if (!isOld) run.greeted = false;
    return skewed;
  }
  const behind = (detail: string): Refusal => {
    // A courier may show an older greeting of this very run again; only the newest word tells that the gateway went back.
    if (isOld) return refuse("WELCOME_STALE");
    run.greeted = false;
    run.behindAt = Math.max(run.behindAt, welcome.at);
    alarm(turn, "GATEWAY_BEHIND", detail);
    return refuse("GATEWAY_BEHIND", detail);
  };
  if (echoed === "stale") return behind(`the gateway holds the ledger only up to ${welcome.echo?.seq ?? 0}`);
  const { sequence, hash } = welcome.jobs;
  if (sequence < core.chain.sequence) return behind(`the gateway's newest job is ${sequence}, ours is ${core.chain.sequence}`);
  if (sequence === core.chain.sequence && hash !== core.chain.hash) {
    return lock(turn, "GATEWAY_FORKED", `job ${sequence} has another hash at the gateway`);
  }
  if (welcome.at <= run.behindAt) return refuse("WELCOME_STALE");
  hearTime(turn, welcome.at);
  run.greeted = true;
  run.greeting = welcome.challenge;
  resume(turn);
  // The echo is the same word as an acknowledgement, and the only one that comes again when that was lost on the way.
  return { ok: true, touched: welcome.echo === null ? [] : release(turn, welcome.echo) };
}

/** The gateway's database holds less than it has acknowledged, or fewer jobs than it has given out. */
function lacks({ core }: Turn, { echo, jobs }: Welcome): boolean {
  return (echo?.seq ?? 0) < core.heads.acked.seq || jobs.sequence < core.chain.sequence;
}

function alarmOfSkew(turn: Turn, { at }: Welcome): void {
  const skewMs = Math.abs(at - turn.localMs);
  const aheadMs = turn.core.heads.at - at;
  if (skewMs > skewAlarmMs) alarm(turn, "CLOCK_SKEW", `the gateway's clock is ${skewMs} ms away from the local one`);
  else if (aheadMs > skewMaxMs) alarm(turn, "CLOCK_SKEW", `the ledger's time stands, ${aheadMs} ms ahead of the gateway's clock`);
}
