/**
 * The way in: an envelope becomes a welcome, jobs or a recovery order, or is refused. The signer
 * believes nothing that the pinned gateway key did not sign, for this agent, wallet and epoch; it
 * parses nothing before. Touches nothing: records leave through the turn. Source: docs/protocol.md
 * sections 5 to 7.
 */
import { agentFrameBytesMax, openEnvelope } from "../../../protocol/envelope.ts";
import { refuse } from "../../../protocol/fault.ts";
import { parseJobs, parseWelcome } from "../../../protocol/payloads.ts";
import { parseRecovery, type Recovery } from "../../../protocol/recovery.ts";
import { otherWallet, skewOf } from "./echo.ts";
import { admitJobs } from "./jobs.ts";
import { type Admitted, hearTime, type Turn } from "./run.ts";
import { admitWelcome } from "./welcome.ts";

/**
 * Takes a welcome, jobs or recovery envelope. Twice is harmless: the same jobs are answered as
 * before.
 * @throws AgentError ENVELOPE_*, JSON_* for a frame that is not the gateway's word; nothing is
 * recorded then
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
 * A recovery order for this run: only kept, for an operator to look at. Whoever gave it has taken
 * this ledger's epoch away, so nothing is signed under it any more.
 */
function keepOrder(turn: Turn, part: Recovery): Admitted {
  const { core, run } = turn;
  if (part.agent !== core.paired.agent) return refuse("ADMISSION_OTHER_AGENT", part.agent);
  const foreign = otherWallet(turn, part.wallet);
  if (foreign !== null) return foreign;
  if (part.answers !== run.runId) return refuse("RECOVERY_ORDER", "for another run");
  if (part.epoch <= core.paired.epoch)
    return refuse("RECOVERY_ORDER", `for epoch ${part.epoch}, the ledger has ${core.paired.epoch}`);
  const skewed = skewOf(turn, part);
  if (skewed !== null) return skewed;
  hearTime(turn, part.at);
  run.greeted = false;
  run.echoed = null;
  const taken = run.orders.take(part);
  return taken.ok ? { ok: true, touched: [] } : taken;
}
