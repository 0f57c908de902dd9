/**
 * An operator stops new signatures or allows them again. The record goes to the gateway until the
 * gateway has acknowledged it. Touches nothing; the record goes through the `RequestContext`.
 */
import type { Refusal } from "../../../base/fault.ts";
import { closedGate, type RequestContext } from "./context.ts";

/**
 * Stops every new payment and every replacement of a payment; signed transactions go on. Only the
 * end of a pause needs the handshake. A repeat is harmless.
 */
export function pause(
  context: RequestContext,
  isPaused: boolean,
  approver: string,
): { readonly ok: true; readonly paused: boolean } | Refusal {
  const closed = isPaused ? null : closedGate(context);
  if (closed !== null) return closed;
  if ((context.core.paused !== null) !== isPaused) context.commit([{ kind: "PAUSED", paused: isPaused, approver }]);
  return { ok: true, paused: isPaused };
}
