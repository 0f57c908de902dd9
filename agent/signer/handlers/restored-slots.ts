/**
 * Judges a withdrawal that a recovered ledger keeps on its slot. Touches nothing; the record goes
 * through the `RequestContext`. Source: docs/protocol.md section 8.
 */
import type { RecordBody } from "../../ledger/records.ts";
import type { Withdrawal } from "../state/withdrawal.ts";
import type { RequestContext } from "./context.ts";

/**
 * Judges a withdrawal that a recovered ledger keeps on its slot like any other job, because the
 * payment is to be signed again. An approval in the ledger stands for exactly the same payment, and
 * no operator is asked again. A refusal ends nothing: the withdrawal waits for an operator.
 */
export function judgeKept({ core, nowMs }: RequestContext, withdrawal: Withdrawal): RecordBody {
  const { transactionId, job, requestedAt, amountUnits, address } = withdrawal;
  const held = (code: string): RecordBody => ({ kind: "HELD", transactionId, code });
  if (amountUnits === "") {
    const judged = core.policy.judge(job, requestedAt, nowMs, true);
    return judged.decision === "approve" ? judged.body : held(judged.code);
  }
  const judged = core.policy.judgeHeld(job, { address, approver: "" }, nowMs, true);
  if (!judged.ok) return held(judged.code);
  return isSameApprovedPayment(withdrawal, judged.body)
    ? judged.body
    : held("POLICY_NOT_AS_APPROVED");
}

/**
 * True if a new approval is for the same payment as before. Existing attempts pay what was approved
 * then, so a new approval cannot be for anything else.
 */
export function isSameApprovedPayment(
  { amountUnits, contract, address, job }: Withdrawal,
  now: {
    readonly amountUnits: string;
    readonly contract: string;
    readonly address: string;
    readonly network: string;
  },
): boolean {
  if (job.network !== now.network) return false;
  return (
    amountUnits === "" ||
    (amountUnits === now.amountUnits && contract === now.contract && address === now.address)
  );
}
