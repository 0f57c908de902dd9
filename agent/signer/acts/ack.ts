/**
 * The gateway acknowledges our ledger: its database durably holds it up to a head, and so the
 * signed bytes below may leave. Beside it the gateway says which withdrawals the chain has ended:
 * bytes are forgotten on that word and on nobody else's; which transactions are dead; which sweeps
 * the chain cannot reach; and how far addresses for deposits may have left soon. Touches nothing:
 * records leave through the turn. Source: docs/protocol.md sections 6.5, 6.6 and 7.
 */
import { agentFrameBytesMax, openEnvelope } from "../../../protocol/envelope.ts";
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import type { Ack } from "../../../protocol/messages.ts";
import { parseAck } from "../../../protocol/payloads.ts";
import { foreignTo, holdEcho, skewOf } from "./echo.ts";
import { release } from "./release.ts";
import { type Admitted, closedGate, hearTime, type Telling, type Turn } from "./run.ts";
import { recordDead } from "./waiting.ts";
import { greet } from "./welcome.ts";

/**
 * Takes an ack envelope: the gateway's database durably holds the ledger up to its head. Gives the
 * withdrawals whose bytes it releases and those that it ends; an older or repeated one releases
 * none, and what it calls ended has ended all the same.
 * @throws AgentError ENVELOPE_*, JSON_* as `admit`
 * @public
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
  // An older word of it, told once more, says nothing.
  if (held === null && ack.at >= turn.run.gatewayAt) turn.run.unreachable = new Set(ack.unreachable ?? []);
  if (held === null) hearTime(turn, ack.at);
  const ended = end(turn, ack.ended);
  const released = held === null ? release(turn, ack.head) : [];
  // What this very word lets out may be dead already.
  const dead = recordDead(turn, ack.dead ?? []);
  holdCeiling(turn, ack.ceiling ?? 0);
  return { ok: true, touched: [...new Set([...released, ...ended, ...dead])] };
}

/** Records a higher ceiling than before, which the gateway waits for before its addresses leave. */
function holdCeiling(turn: Turn, ceiling: number): void {
  if (ceiling > turn.core.ceiling && turn.fullDisk() === null) turn.commit([{ kind: "CEILING", ceiling }]);
}

/** Records what is open here, has a slot and is called ended for the first time. */
function end({ core, commit }: Turn, said: readonly string[]): readonly string[] {
  const ended = [...new Set(said)].filter((transactionId) => {
    const withdrawal = core.book.openOne(transactionId);
    return withdrawal !== undefined && !withdrawal.isEnded && withdrawal.slot !== "";
  });
  if (ended.length > 0) commit([{ kind: "ENDED", ended }]);
  return ended;
}

/**
 * A signer that tells the gateway again is not greeted yet; all else that closes the gate does so
 * now.
 */
function toldGate({ core, run }: Turn): Refusal | null {
  if (core.locked !== null) return refuse("SIGNER_LOCKED", core.locked.code);
  return run.orders.isWhole ? refuse("RECOVERY_OFFERED") : null;
}

/**
 * The gateway has been told all that it lost once it holds the ledger up to where that was seen. An
 * older word of it says nothing.
 */
function told(turn: Turn, { to, challenge }: Telling, { head, at }: Ack): Admitted {
  const { run } = turn;
  if (at < run.behindAt || head.seq < to) return { ok: true, touched: [] };
  run.telling = null;
  return { ok: true, touched: greet(turn, { at, challenge, echo: head }) };
}
