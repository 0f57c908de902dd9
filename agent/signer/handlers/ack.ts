/**
 * Reads the gateway's acknowledgement of our ledger. The gateway's database durably holds the
 * ledger up to a head, so the signed bytes below that head may leave. An acknowledgement also names
 * withdrawals ended by the chain, void transactions, sweeps out of the chain's reach, withdrawals
 * that their shop recalled, and the highest deposit address for the near future. Bytes are
 * forgotten only on the gateway's statement that a withdrawal has ended. Touches nothing; records
 * go through the `RequestContext`. Source: docs/protocol.md sections 6.5, 6.6, 6.7 and 7.
 */

import { type Refusal, refuse } from "../../../base/fault.ts";
import { agentFrameBytesMax, openEnvelope } from "../../../protocol/envelope.ts";
import type { Ack } from "../../../protocol/messages.ts";
import { parseAck } from "../../../protocol/payloads.ts";
import {
  type AdmissionResult,
  keepGatewayTime,
  type RequestContext,
  type Resync,
  refuseIfGateClosed,
} from "./context.ts";
import { recordVoid } from "./expiry-exclusion.ts";
import { stopNetworksOfForeign } from "./foreign.ts";
import {
  checkGatewayHead,
  refuseIfClockSkewed,
  refuseIfOtherAgentOrEpoch,
} from "./gateway-head.ts";
import { refuseRecalled } from "./recall.ts";
import { releaseAttemptsUpTo } from "./release.ts";
import { completeHandshake } from "./welcome.ts";

/**
 * Takes an ack envelope. Returns the released and the ended withdrawals. An older or repeated
 * envelope releases nothing, but the withdrawals that it names as ended have ended.
 * @throws AgentError ENVELOPE_*, JSON_* as `admit`
 */
export function acknowledgeRecords(context: RequestContext, frame: Uint8Array): AdmissionResult {
  const { publicKey } = context.core.paired;
  const ack = parseAck(
    openEnvelope(frame, { kind: "ack", publicKey, bytesMax: agentFrameBytesMax }).payload,
  );
  const foreign = refuseIfOtherAgentOrEpoch(context, ack);
  if (foreign !== null) return foreign;
  const closed =
    (context.run.resync === null ? refuseIfGateClosed(context) : resyncGate(context)) ??
    refuseIfClockSkewed(context, ack);
  if (closed !== null) return closed;
  const held = checkGatewayHead(context, ack.head);
  if (context.run.resync !== null)
    return held === null || held === "stale" ? told(context, context.run.resync, ack) : held;
  if (held !== null && held !== "stale") return held;
  // An older acknowledgement that arrives again changes nothing.
  if (held === null && ack.at >= context.run.gatewayAt) {
    context.run.unreachable = new Set(ack.unreachable ?? []);
    context.run.endable = new Set(ack.endable ?? []);
    context.run.recalled = new Set(ack.recalled ?? []);
  }
  stopNetworksOfForeign(context, ack.foreign ?? [], "gateway");
  if (held === null) keepGatewayTime(context, ack.at);
  const ended = end(context, ack.ended);
  const released = held === null ? releaseAttemptsUpTo(context, ack.head) : [];
  // An attempt released by this acknowledgement may be void already.
  const voided = recordVoid(context, ack.void ?? []);
  holdCeiling(context, ack.ceiling ?? 0);
  const refused = refuseRecalled(context);
  return { ok: true, touched: [...new Set([...released, ...ended, ...voided, ...refused])] };
}

/** Records a ceiling higher than before; the gateway gives out the addresses only after that. */
function holdCeiling(context: RequestContext, ceiling: number): void {
  if (ceiling > context.core.ceiling && context.fullDisk() === null)
    context.commit([{ kind: "CEILING", ceiling }]);
}

/**
 * Records the end of each open withdrawal that has a slot and is named as ended for the first time.
 */
function end({ core, commit }: RequestContext, said: readonly string[]): readonly string[] {
  const ended = [...new Set(said)].filter((transactionId) => {
    const withdrawal = core.book.openOne(transactionId);
    return withdrawal !== undefined && !withdrawal.isEnded && withdrawal.slot !== "";
  });
  if (ended.length > 0) commit([{ kind: "ENDED", ended }]);
  return ended;
}

/**
 * Returns why the gate is closed during a resync. The handshake is not done then, so only a lock
 * and a recovery offer close the gate.
 */
function resyncGate({ core, run }: RequestContext): Refusal | null {
  if (core.locked !== null) return refuse("SIGNER_LOCKED", core.locked.code);
  return run.orders.isWhole ? refuse("RECOVERY_OFFERED") : null;
}

/**
 * Ends a resync once the gateway holds the ledger up to the head at which the loss was seen. An
 * acknowledgement from before the newest welcome changes nothing.
 */
function told(
  context: RequestContext,
  { to, challenge }: Resync,
  { head, at }: Ack,
): AdmissionResult {
  const { run } = context;
  if (at < run.behindAt || head.seq < to) return { ok: true, touched: [] };
  run.resync = null;
  return { ok: true, touched: completeHandshake(context, { at, challenge, gatewayHead: head }) };
}
