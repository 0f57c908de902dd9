/**
 * The times from which an attempt counts against the limits on a chain with nonces. Nobody can pay
 * bytes without a signature, so the window begins with SIGNED. From INTENT until then the attempt
 * counts however long that takes, because a restart, a closed gate or a recovery can lie between
 * the two. So the amounts that count are at no moment below those that this ledger signed within
 * the window. Touches nothing.
 */
import { expiryExclusionOf } from "../../../chains/families.ts";
import { limitGroupOf } from "../../../protocol/job-mode.ts";
import type { LedgerRecord } from "../../ledger/records.ts";
import { largerOf, type Sums } from "../policy/sums.ts";
import type { Withdrawal } from "./withdrawal.ts";

/**
 * Counts an attempt's INTENT or SIGNED, after `Sums.apply`; other records change nothing. The
 * amount counts with the first attempt whose bytes this ledger has, the fee with each.
 */
export function countAttempt(sums: Sums, withdrawal: Withdrawal, record: LedgerRecord): void {
  if (record.kind !== "INTENT" && record.kind !== "SIGNED") return;
  const { transactionId: id, job, attempts, amountUnits } = withdrawal;
  const made = attempts[record.attempt - 1];
  if (made === undefined || expiryExclusionOf(job.network) !== null) return;
  const { hourAssigned, dayAssigned, fees } = sums.of(limitGroupOf(job));
  const isFirst = !made.isCancel && attempts.every((one) => one === made || one.raw === "");
  for (const window of isFirst ? [hourAssigned, dayAssigned, fees] : [fees]) {
    const units = window === fees ? BigInt(made.feeMax) : BigInt(amountUnits);
    if (record.kind === "INTENT") window.stand(id, "payable", { atMs: record.at, units });
    else window.replace(id, record.at, largerOf(units, window.unitsOf(id, record.at)));
  }
}

/**
 * Has an intent that is never signed count no longer than the window. A repeat is harmless, and so
 * is a withdrawal whose bytes are all signed.
 */
export function spendUnsigned(sums: Sums, { transactionId, job }: Withdrawal): void {
  if (expiryExclusionOf(job.network) !== null) return;
  const { hourAssigned, dayAssigned, fees } = sums.of(limitGroupOf(job));
  for (const window of [hourAssigned, dayAssigned, fees])
    window.stand(transactionId, "spent", { atMs: 0, units: 0n });
}
