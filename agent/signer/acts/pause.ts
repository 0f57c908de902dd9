/**
 * A person stops new signatures, or lets them go on. The gateway is told by the record, until it
 * has acknowledged that. Touches nothing: the record leaves through the turn.
 */
import type { Refusal } from "../../../protocol/fault.ts";
import { closedGate, type Turn } from "./run.ts";

/**
 * From here on no payment is signed, not a dearer version of one either; what is signed goes on.
 * Stopping needs no greeting, going on does. Twice is harmless.
 * @public
 */
export function pause(
  turn: Turn,
  isPaused: boolean,
  approver: string,
): { readonly ok: true; readonly paused: boolean } | Refusal {
  const closed = isPaused ? null : closedGate(turn);
  if (closed !== null) return closed;
  if ((turn.core.paused !== null) !== isPaused) turn.commit([{ kind: "PAUSED", paused: isPaused, approver }]);
  return { ok: true, paused: isPaused };
}
