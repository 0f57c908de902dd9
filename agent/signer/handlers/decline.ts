/**
 * The courier gives a withdrawal up before it has a slot. Touches nothing; records go through the
 * `RequestContext`.
 */

import { type Code, codes } from "../../../base/codes.ts";
import { refuse } from "../../../base/fault.ts";
import { saySlot } from "../../../chains/families.ts";
import { isFinal, nextState } from "../state/machine.ts";
import { type ActResult, type RequestContext, refuseIfGateClosed } from "./context.ts";
import { refusalRecordsOf } from "./top-up.ts";

/**
 * Records that the courier will not have this withdrawal signed, for a reason from the table of
 * codes. Possible only before the withdrawal has a slot. A repeat is harmless.
 */
export function declineWithdrawal(
  context: RequestContext,
  transactionId: string,
  code: string,
): ActResult {
  const closed = refuseIfGateClosed(context);
  if (closed !== null) return closed;
  const withdrawal = context.core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (!isCode(code)) return refuse("WITHDRAWAL_OBSERVATION", "a reason is a code of the table");
  if (withdrawal.state === "refused" && withdrawal.code === code) return { ok: true, withdrawal };
  if (withdrawal.state === "held") return refuse("WITHDRAWAL_HELD", withdrawal.code);
  if (isFinal(withdrawal.state)) return refuse("WITHDRAWAL_CLOSED", withdrawal.state);
  if (nextState(withdrawal.state, "refused") === null)
    return refuse("WITHDRAWAL_HAS_SLOT", saySlot(withdrawal.job.network, withdrawal.slot));
  const refused = { kind: "REFUSED", transactionId, by: "courier", approver: "", code } as const;
  context.commit(refusalRecordsOf(context, withdrawal.job, refused));
  return { ok: true, withdrawal };
}

/** True if a text is a code of the table. */
function isCode(text: string): text is Code {
  return Object.hasOwn(codes, text);
}
