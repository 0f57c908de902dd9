/**
 * The gateway's second word on coins, first slots and withdrawals: what its own nodes show. The
 * signer verifies the gateway's signature itself, because the courier that carries it is untrusted.
 * The word only permits a first attempt; nothing of it is recorded, and it ends with the run whose
 * nonce it repeats. Touches nothing. Source: docs/protocol.md section 6.8.
 */
import { type Refusal, refuse } from "../../../base/fault.ts";
import { agentFrameBytesMax, openEnvelope } from "../../../protocol/envelope.ts";
import { parseSightings, type Sightings } from "../../../protocol/sightings.ts";
import type { RequestContext } from "./context.ts";
import { refuseIfClockSkewed, refuseIfOtherAgentOrEpoch } from "./gateway-head.ts";

/** The named coins, accounts and withdrawals of one frame, or the reason why it did nothing. */
export type SightingsResult =
  | ({ readonly ok: true } & Pick<Sightings, "coins" | "next" | "orders">)
  | Refusal;

/**
 * Keeps what a sightings envelope names. A repeat is harmless.
 * @throws AgentError ENVELOPE_*, JSON_* for a frame that the gateway did not sign or that is
 * malformed
 */
export function keepSightings(context: RequestContext, frame: Uint8Array): SightingsResult {
  const { core, run, monotonicMs } = context;
  const { publicKey } = core.paired;
  const { payload } = openEnvelope(frame, {
    kind: "sightings",
    publicKey,
    bytesMax: agentFrameBytesMax,
  });
  const sightings = parseSightings(payload);
  const foreign = refuseIfOtherAgentOrEpoch(context, sightings);
  if (foreign !== null) return foreign;
  if (sightings.answers !== run.runId) return refuse("SIGHTINGS_OTHER_RUN");
  const skewed = refuseIfClockSkewed(context, sightings);
  if (skewed !== null) return skewed;
  run.sightings.keep(sightings, monotonicMs);
  return { ok: true, coins: sightings.coins, next: sightings.next, orders: sightings.orders };
}
