/**
 * Reads the gateway's acknowledgement of our ledger. The gateway's database durably holds the
 * ledger up to a head, so the signed bytes below that head may leave. An acknowledgement also names
 * withdrawals ended by the chain, dead transactions, sweeps out of the chain's reach, and the
 * highest deposit address for the near future. Bytes are forgotten only on the gateway's statement
 * that a withdrawal has ended. Touches nothing; records go through the `Turn`. Source:
 * docs/protocol.md sections 6.5, 6.6 and 7.
 */

import { type Refusal, refuse } from "../../../base/fault.ts";
import { agentFrameBytesMax, openEnvelope } from "../../../protocol/envelope.ts";
import type { Ack } from "../../../protocol/messages.ts";
import { parseAck } from "../../../protocol/payloads.ts";
import { foreignTo, holdEcho, skewOf } from "./echo.ts";
import { release } from "./release.ts";
import { type Admitted, closedGate, hearTime, type Telling, type Turn } from "./run.ts";
import { recordDead } from "./waiting.ts";
import { greet } from "./welcome.ts";

/**
 * Takes an ack envelope. Returns the released and the ended withdrawals. An older or repeated
 * envelope releases nothing, but the withdrawals that it names as ended have ended.
 * @throws AgentError ENVELOPE_*, JSON_* as `admit`
 */
export function acknowledge(turn: Turn, frame: Uint8Array): Admitted {
  const { publicKey } = turn.core.paired;
  const ack = parseAck(openEnvelope(frame, { kind: "ack", publicKey, bytesMax: agentFrameBytesMax }).payload);
  const foreign = foreignTo(turn, ack);
  if (foreign !== null) return foreign;
  const closed = (turn.run.telling === null ? closedGate(turn) : toldGate(turn)) ?? skewOf(turn, ack);
  if (closed !== null) return closed;
  const held = holdEcho(turn, ack.head);
  if (turn.run.telling !== null) return held === null || held === "stale" ? told(turn, turn.run.telling, ack) : held;
  if (held !== null && held !== "stale") return held;
  // An older acknowledgement that arrives again changes nothing.
  if (held === null && ack.at >= turn.run.gatewayAt) turn.run.unreachable = new Set(ack.unreachable ?? []);
  if (held === null) hearTime(turn, ack.at);
  const ended = end(turn, ack.ended);
  const released = held === null ? release(turn, ack.head) : [];
  // A version released by this acknowledgement may be dead already.
  const dead = recordDead(turn, ack.dead ?? []);
  holdCeiling(turn, ack.ceiling ?? 0);
  return { ok: true, touched: [...new Set([...released, ...ended, ...dead])] };
}

/** Records a ceiling higher than before; the gateway gives out the addresses only after that. */
function holdCeiling(turn: Turn, ceiling: number): void {
  if (ceiling > turn.core.ceiling && turn.fullDisk() === null) turn.commit([{ kind: "CEILING", ceiling }]);
}

/**
 * Records the end of each open withdrawal that has a slot and is named as ended for the first time.
 */
function end({ core, commit }: Turn, said: readonly string[]): readonly string[] {
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
function toldGate({ core, run }: Turn): Refusal | null {
  if (core.locked !== null) return refuse("SIGNER_LOCKED", core.locked.code);
  return run.orders.isWhole ? refuse("RECOVERY_OFFERED") : null;
}

/**
 * Ends a resync once the gateway holds the ledger up to the head at which the loss was seen. An
 * acknowledgement from before the newest welcome changes nothing.
 */
function told(turn: Turn, { to, challenge }: Telling, { head, at }: Ack): Admitted {
  const { run } = turn;
  if (at < run.behindAt || head.seq < to) return { ok: true, touched: [] };
  run.telling = null;
  return { ok: true, touched: greet(turn, { at, challenge, echo: head }) };
}
