/**
 * The entry point for envelopes: a welcome, jobs or a recovery offer is taken or refused. The
 * signer accepts only envelopes signed by the pinned gateway key for this agent, wallet and epoch,
 * and checks the signature before parsing. Touches nothing; records go through the
 * `RequestContext`. Source: docs/protocol.md sections 5 to 7.
 */

import { refuse } from "../../../base/fault.ts";
import { agentFrameBytesMax, openEnvelope } from "../../../protocol/envelope.ts";
import { parseJobs, parseWelcome } from "../../../protocol/payloads.ts";
import { parseRecovery, type Recovery } from "../../../protocol/recovery.ts";
import { type AdmissionResult, hearTime, type RequestContext } from "./context.ts";
import { otherWallet, skewOf } from "./gateway-head.ts";
import { admitJobs } from "./jobs.ts";
import { admitWelcome } from "./welcome.ts";

/**
 * Takes a welcome, jobs or recovery envelope. A repeat is harmless: the same jobs get the same
 * answer.
 * @throws AgentError ENVELOPE_*, JSON_* for a frame that the gateway did not sign or that is
 * malformed; nothing is recorded then
 */
export function admitJobFrame(context: RequestContext, frame: Uint8Array): AdmissionResult {
  const { publicKey } = context.core.paired;
  const kinds = ["welcome", "jobs", "recovery"] as const;
  const { kind, payload } = openEnvelope(frame, { kinds, publicKey, bytesMax: agentFrameBytesMax });
  if (kind === "recovery") return keepOrder(context, parseRecovery(payload));
  return kind === "welcome"
    ? admitWelcome(context, parseWelcome(payload))
    : admitJobs(context, parseJobs(payload));
}

/**
 * Keeps a recovery offer for this run until an operator looks at it. The gateway ends this ledger's
 * epoch before it makes an order, so nothing is signed in the epoch any more.
 */
function keepOrder(context: RequestContext, part: Recovery): AdmissionResult {
  const { core, run } = context;
  if (part.agent !== core.paired.agent) return refuse("ADMISSION_OTHER_AGENT", part.agent);
  const foreign = otherWallet(context, part.wallet);
  if (foreign !== null) return foreign;
  if (part.answers !== run.runId) return refuse("RECOVERY_OFFER", "for another run");
  if (part.ledgerEpoch <= core.paired.ledgerEpoch)
    return refuse(
      "RECOVERY_OFFER",
      `for epoch ${part.ledgerEpoch}, the ledger has ${core.paired.ledgerEpoch}`,
    );
  const skewed = skewOf(context, part);
  if (skewed !== null) return skewed;
  hearTime(context, part.at);
  run.handshakeDone = false;
  run.gatewayHeadSeq = null;
  const taken = run.orders.take(part);
  return taken.ok ? { ok: true, touched: [] } : taken;
}
