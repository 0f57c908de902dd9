/**
 * The way in: envelopes become verified welcomes, jobs and acknowledgements, or are refused. Nothing is believed that the pinned
 * gateway key did not sign, for this agent, wallet and epoch; nothing is parsed before. What shows that ledger or gateway went back
 * in time is recorded and stops signing. Touches nothing: records leave through the turn. Source: docs/protocol.md sections 5 to 7.
 */
import { agentFrameBytesMax, openEnvelope } from "../../../protocol/envelope.ts";
import { invariant, type Refusal, refuse } from "../../../protocol/fault.ts";
import type { Head, Jobs, Welcome } from "../../../protocol/messages.ts";
import { parseAck, parseJobs, parseWelcome } from "../../../protocol/payloads.ts";
import { parseRecovery, type Recovery } from "../../../protocol/recovery.ts";
import type { RecordBody } from "../ledger/records.ts";
import { skewMaxMs } from "../ledger-time.ts";
import { alarm, closedGate, hearTime, lock, type Turn } from "../run.ts";
import { openMax } from "../withdrawal/book.ts";
import { readJobs } from "./jobs.ts";
import { record, resume } from "./request.ts";

/** Clocks apart by more are an alarm; by more than `skewMaxMs`, nothing is taken: a limit per day is worth what the clock is. */
const skewAlarmMs = 60_000;
/** Most versions one RELEASED record names; more go into several. */
const releasedPerRecordMax = 1_000;

/** @public */
export type Admitted = { readonly ok: true; readonly touched: readonly string[] } | Refusal;

/**
 * Takes a welcome, jobs or recovery envelope. Twice is harmless: the same jobs are answered as before.
 * @throws AgentError ENVELOPE_*, JSON_* for a frame that is not the gateway's word; nothing is recorded then
 * @public
 */
export function admit(turn: Turn, frame: Uint8Array): Admitted {
  const { publicKey } = turn.core.paired;
  const kinds = ["welcome", "jobs", "recovery"] as const;
  const { kind, payload } = openEnvelope(frame, { kinds, publicKey, bytesMax: agentFrameBytesMax });
  if (kind === "recovery") return keepOrder(turn, parseRecovery(payload));
  return kind === "welcome" ? admitWelcome(turn, parseWelcome(payload)) : admitJobs(turn, parseJobs(payload));
}

/**
 * A recovery order for this run: only kept, for an operator to look at. Whoever gave it has taken this ledger's epoch away, so
 * nothing is signed under it any more.
 */
function keepOrder(turn: Turn, part: Recovery): Admitted {
  const { core, run } = turn;
  if (part.agent !== core.paired.agent) return refuse("ADMISSION_OTHER_AGENT", part.agent);
  const foreign = otherWallet(turn, part.wallet);
  if (foreign !== null) return foreign;
  if (part.answers !== run.nonce) return refuse("RECOVERY_OTHER_RUN");
  if (part.epoch <= core.paired.epoch)
    return refuse("RECOVERY_OTHER_EPOCH", `${part.epoch}, the ledger has ${core.paired.epoch}`);
  const skewed = skewOf(turn, part);
  if (skewed !== null) return skewed;
  hearTime(turn, part.at);
  run.greeted = false;
  run.echoed = null;
  const taken = run.orders.take(part);
  return taken.ok ? { ok: true, touched: [] } : taken;
}

function admitWelcome(turn: Turn, welcome: Welcome): Admitted {
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

function admitJobs(turn: Turn, envelope: Jobs): Admitted {
  const { core } = turn;
  const foreign = foreignTo(turn, envelope) ?? otherWallet(turn, envelope.wallet);
  if (foreign !== null) return foreign;
  const closed = closedGate(turn) ?? skewOf(turn, envelope);
  if (closed !== null) return closed;
  const echoed = holdEcho(turn, envelope.echo);
  if (echoed === "stale") return refuse("JOB_ECHO_STALE");
  if (echoed !== null) return echoed;
  hearTime(turn, envelope.at);
  const read = readJobs(core, envelope);
  if (!read.ok) return "forked" in read ? lock(turn, "JOB_CHAIN_FORKED", read.forked) : read.refusal;
  if (read.fresh.length > 0 && !turn.hasRoom()) return refuse("LEDGER_DISK_FULL");
  if (core.book.openCount + read.fresh.length > openMax) return refuse("JOB_TOO_MANY_OPEN");
  for (const fresh of read.fresh) record(turn, fresh);
  return { ok: true, touched: read.touched };
}

/**
 * Takes an ack envelope: the gateway's database durably holds the ledger up to its head. Gives the withdrawals whose bytes it
 * releases; an older or repeated one gives none.
 * @throws AgentError ENVELOPE_*, JSON_* as `admit`
 * @public
 */
export function acknowledge(turn: Turn, frame: Uint8Array): Admitted {
  const { publicKey } = turn.core.paired;
  const ack = parseAck(openEnvelope(frame, { kind: "ack", publicKey, bytesMax: agentFrameBytesMax }).payload);
  const foreign = foreignTo(turn, ack);
  if (foreign !== null) return foreign;
  const closed = closedGate(turn) ?? skewOf(turn, ack);
  if (closed !== null) return closed;
  const held = holdEcho(turn, ack.head);
  if (held === "stale") return { ok: true, touched: [] };
  if (held !== null) return held;
  hearTime(turn, ack.at);
  return { ok: true, touched: release(turn, ack.head) };
}

/** Opens the gate for whatever the gateway's database covers with `held`, which fits our ledger. Gives the withdrawals released. */
function release(turn: Turn, held: Head): readonly string[] {
  const { book, heads } = turn.core;
  if (held.seq === heads.acked.seq) return [];
  const releasable = book.releasable(held.seq);
  const bodies: RecordBody[] = [];
  for (let from = 0; from < releasable.length; from += releasedPerRecordMax) {
    const part = releasable.slice(from, from + releasedPerRecordMax);
    // Each record but the last acknowledges only what it releases: one lost with a torn write loses nothing that waits.
    const acked = from + part.length === releasable.length ? held : headAt(turn, part.at(-1)?.seq ?? 0);
    const released = part.map(({ transactionId, version }) => ({ transactionId, version }));
    bodies.push({ kind: "RELEASED", acked: { seq: acked.seq, hash: acked.hash }, released });
  }
  if (bodies.length === 0) bodies.push({ kind: "REPORTED", acked: { seq: held.seq, hash: held.hash } });
  turn.commit(bodies);
  return [...new Set(releasable.map((one) => one.transactionId))];
}

function headAt({ core }: Turn, seq: number): Head {
  const hash = core.heads.hashAt(seq);
  invariant(hash !== null, "the hash of what is not acknowledged is kept");
  return { seq, hash };
}

/** The local clock beside the gateway's: ledger time has been held near the gateway's already, and would hide a clock that jumped. */
function skewOf({ localMs }: Turn, { at }: { readonly at: number }): Refusal | null {
  const skewMs = Math.abs(at - localMs);
  return skewMs > skewMaxMs ? refuse("CLOCK_SKEW", `${skewMs} ms`) : null;
}

function alarmOfSkew(turn: Turn, { at }: Welcome): void {
  const skewMs = Math.abs(at - turn.localMs);
  const aheadMs = turn.core.heads.at - at;
  if (skewMs > skewAlarmMs) alarm(turn, "CLOCK_SKEW", `the gateway's clock is ${skewMs} ms away from the local one`);
  else if (aheadMs > skewMaxMs) alarm(turn, "CLOCK_SKEW", `the ledger's time stands, ${aheadMs} ms ahead of the gateway's clock`);
}

function foreignTo({ core }: Turn, envelope: { readonly agent: string; readonly epoch: number }): Refusal | null {
  if (envelope.agent !== core.paired.agent) return refuse("ADMISSION_OTHER_AGENT", envelope.agent);
  return envelope.epoch === core.paired.epoch ? null : refuse("ADMISSION_OTHER_EPOCH", String(envelope.epoch));
}

function otherWallet({ core }: Turn, wallet: string): Refusal | null {
  return wallet === core.paired.wallet ? null : refuse("ADMISSION_OTHER_WALLET", wallet);
}

/**
 * Holds what the gateway says of our ledger against the ledger: null when it fits, "stale" when it is older than what the gateway
 * has acknowledged, a lock when the gateway knows of records we do not have.
 */
function holdEcho(turn: Turn, echo: Head | null): Refusal | "stale" | null {
  const { heads } = turn.core;
  const seq = echo?.seq ?? 0;
  if (seq < heads.acked.seq) return "stale";
  if (echo === null) return null;
  if (seq > heads.head.seq) {
    return lock(turn, "LEDGER_BEHIND_GATEWAY", `the gateway holds record ${seq}, the ledger ends at ${heads.head.seq}`);
  }
  if (heads.hashAt(seq) !== echo.hash) return lock(turn, "LEDGER_FORKED", `record ${seq} has another hash at the gateway`);
  return null;
}
