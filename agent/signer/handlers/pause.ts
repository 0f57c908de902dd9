/**
 * An operator stops new signatures or allows them again. The record goes to the gateway until the
 * gateway has acknowledged it. Touches nothing; the record goes through the `RequestContext`.
 */
import type { Refusal } from "../../../base/fault.ts";
import type { StopPlace } from "../../socket/stops.ts";
import { type RequestContext, refuseIfGateClosed } from "./context.ts";

/** Returns true if nothing is signed now: everywhere, or first attempts in one place. */
function isStopped({ core }: RequestContext, { network, currency }: Partial<StopPlace>): boolean {
  return network === undefined ? core.paused !== null : core.stops.on(network, currency) !== null;
}

/**
 * Stops every new payment and every replacement of a payment; signed transactions go on. Only the
 * end of a pause needs the handshake. With a place, first attempts there stop or go on, also after
 * a stop by the signer itself. A repeat is harmless.
 */
export function pauseSigning(
  context: RequestContext,
  isPaused: boolean,
  approver: string,
  where: Partial<StopPlace>,
): { readonly ok: true; readonly paused: boolean } | Refusal {
  const closed = isPaused ? null : refuseIfGateClosed(context);
  if (closed !== null) return closed;
  if (isStopped(context, where) !== isPaused)
    context.commit([{ kind: "PAUSED", paused: isPaused, approver, ...where }]);
  return { ok: true, paused: isPaused };
}
