/**
 * What an opened ledger keeps on its slot: policy judges it again. Touches nothing: the record
 * leaves through the turn. Source: docs/protocol.md section 8.
 */
import type { RecordBody } from "../../ledger/records.ts";
import type { Withdrawal } from "../state/withdrawal.ts";
import type { Turn } from "./run.ts";

/**
 * Policy judges a withdrawal that an opened ledger keeps on its slot, as any other job: its own
 * payment is to be signed again. Where a yes stands in the ledger, to this payment and no other,
 * nobody is asked again. A no ends nothing: it waits for a person.
 */
export function judgeKept({ core, nowMs }: Turn, withdrawal: Withdrawal): RecordBody {
  const { transactionId, job, requestedAt, amountUnits, address } = withdrawal;
  const held = (code: string): RecordBody => ({ kind: "HELD", transactionId, code });
  if (amountUnits === "") {
    const judged = core.policy.judge(job, requestedAt, nowMs, true);
    return judged.decision === "approve" ? judged.body : held(judged.code);
  }
  const judged = core.policy.judgeHeld(job, { address, approver: "" }, nowMs, true);
  if (!judged.ok) return held(judged.code);
  return isAsBefore(withdrawal, judged.body) ? judged.body : held("POLICY_NOT_AS_APPROVED");
}

/**
 * Versions that were made before pay what was approved then; a new yes cannot be to anything else.
 */
export function isAsBefore(
  { amountUnits, contract, address, job }: Withdrawal,
  now: { readonly amountUnits: string; readonly contract: string; readonly address: string; readonly network: string },
): boolean {
  if (job.network !== now.network) return false;
  return amountUnits === "" || (amountUnits === now.amountUnits && contract === now.contract && address === now.address);
}
