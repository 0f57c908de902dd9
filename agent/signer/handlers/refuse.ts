/**
 * An operator refuses a withdrawal. A refusal states that no attempt was ever signed, and a
 * restored ledger may have forgotten a signature. So the signer records a refusal only after the
 * handshake. Touches nothing; records go through the `RequestContext`.
 */

import { refuse } from "../../../base/fault.ts";
import { saySlot } from "../../../chains/families.ts";
import { isFinal, nextState } from "../state/machine.ts";
import { type ActResult, type RequestContext, refuseIfGateClosed } from "./context.ts";
import { refusalRecordsOf } from "./top-up.ts";

/**
 * Records an operator's refusal, which is possible only before the withdrawal has a slot. A repeat
 * is harmless.
 */
export function refuseByOperator(
  context: RequestContext,
  transactionId: string,
  approver: string,
): ActResult {
  const closed = refuseIfGateClosed(context);
  if (closed !== null) return closed;
  const withdrawal = context.core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (withdrawal.state === "refused") return { ok: true, withdrawal };
  if (isFinal(withdrawal.state)) return refuse("WITHDRAWAL_CLOSED", withdrawal.state);
  if (nextState(withdrawal.state, "refused") === null)
    return refuse("WITHDRAWAL_HAS_SLOT", saySlot(withdrawal.job.network, withdrawal.slot));
  const refused = {
    kind: "REFUSED",
    transactionId,
    by: "operator",
    approver,
    code: "OPERATOR_REFUSED",
  } as const;
  context.commit(refusalRecordsOf(context, withdrawal.job, refused));
  return { ok: true, withdrawal };
}
