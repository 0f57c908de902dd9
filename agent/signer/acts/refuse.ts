/**
 * A person says no. A refusal says "nothing was ever signed", which a restored ledger may have
 * forgotten; so only a signer that the gateway has greeted records it. Touches nothing: records
 * leave through the turn.
 */
import { saySlot } from "../../../chains/families.ts";
import { refuse } from "../../../protocol/fault.ts";
import { isFinal, step } from "../state/machine.ts";
import { closedGate, type Done, type Turn } from "./run.ts";

/**
 * A person's no, before a slot is bound. Twice is harmless.
 * @public
 */
export function refuseByOperator(turn: Turn, transactionId: string, approver: string): Done {
  const closed = closedGate(turn);
  if (closed !== null) return closed;
  const withdrawal = turn.core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (withdrawal.state === "refused") return { ok: true, withdrawal };
  if (isFinal(withdrawal.state)) return refuse("WITHDRAWAL_CLOSED", withdrawal.state);
  if (step(withdrawal.state, "refused") === null)
    return refuse("WITHDRAWAL_BOUND", saySlot(withdrawal.job.network, withdrawal.slot));
  turn.commit([{ kind: "REFUSED", transactionId, by: "operator", approver, code: "OPERATOR_REFUSED" }]);
  return { ok: true, withdrawal };
}
