/**
 * The entry point for envelopes: a welcome, jobs or a recovery order is taken or refused. The
 * signer accepts only envelopes signed by the pinned gateway key for this agent, wallet and epoch,
 * and checks the signature before parsing. Touches nothing; records go through the `Turn`. Source:
 * docs/protocol.md sections 5 to 7.
 */

import { refuse } from "../../../base/fault.ts";
import { agentFrameBytesMax, openEnvelope } from "../../../protocol/envelope.ts";
import { parseJobs, parseWelcome } from "../../../protocol/payloads.ts";
import { parseRecovery, type Recovery } from "../../../protocol/recovery.ts";
import { otherWallet, skewOf } from "./echo.ts";
import { admitJobs } from "./jobs.ts";
import { type Admitted, hearTime, type Turn } from "./run.ts";
import { admitWelcome } from "./welcome.ts";

/**
 * Takes a welcome, jobs or recovery envelope. A repeat is harmless: the same jobs get the same
 * answer.
 * @throws AgentError ENVELOPE_*, JSON_* for a frame that the gateway did not sign or that is
 * malformed; nothing is recorded then
 */
export function admit(turn: Turn, frame: Uint8Array): Admitted {
  const { publicKey } = turn.core.paired;
  const kinds = ["welcome", "jobs", "recovery"] as const;
  const { kind, payload } = openEnvelope(frame, { kinds, publicKey, bytesMax: agentFrameBytesMax });
  if (kind === "recovery") return keepOrder(turn, parseRecovery(payload));
  return kind === "welcome" ? admitWelcome(turn, parseWelcome(payload)) : admitJobs(turn, parseJobs(payload));
}

/**
 * Keeps a recovery order for this run until an operator looks at it. The gateway ends this ledger's
 * epoch before it makes an order, so nothing is signed in the epoch any more.
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
