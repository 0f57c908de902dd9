/**
 * The first sums of a recovered ledger, and the withdrawals that its limits allow to be signed
 * without an operator. A withdrawal whose signed bytes are not here is checked against hour and day
 * like a job, because its next signature is the first one that anybody can prove. Pure. Source:
 * docs/protocol.md section 8.
 */

import type { Code } from "../../../base/codes.ts";
import { familyOf } from "../../../chains/families.ts";
import { formatAmount, parseAmount } from "../../../protocol/amount.ts";
import { limitGroupOf } from "../../../protocol/job-mode.ts";
import { parseJob } from "../../../protocol/payloads.ts";
import type { UnknownSumView } from "../../socket/recovery-plan.ts";
import type { Limits } from "../policy/rules.ts";
import { findExceededLimit, LimitSums, largerOf, type SumsEntries } from "../policy/sums.ts";
import { countAssigned, forgetAmounts, sumAssignedWithout, sumsEntries } from "./policy-state.ts";
import type { RecoveryOrder } from "./recovered-terms.ts";
import { isOver, type Withdrawal } from "./withdrawal.ts";

/** A withdrawal that the new ledger keeps, and how far the old ledger knew it. */
export interface KeptWithdrawal {
  readonly kept: Withdrawal;
  readonly isUnknown: boolean; // the old ledger had no record of it
  readonly wasApproved: boolean; // the old ledger checked it against the sums of approved amounts
  readonly isContested: boolean;
}

/** The input for the sums. */
export interface RecoveredSumsInput {
  readonly windows: SumsEntries; // the old ledger's windows
  readonly open: readonly Withdrawal[]; // the old ledger's open withdrawals
  readonly order: Pick<RecoveryOrder, "order" | "spent" | "ended">;
  readonly each: readonly KeptWithdrawal[];
  readonly nowMs: number; // ledger time
  readonly decimalOf: (limitGroup: string) => number | undefined;
  readonly limitsOf: (limitGroup: string) => Limits | undefined;
}

/** The sums, and the withdrawals above a limit: the code by transactionId. */
export interface RecoveredSums {
  readonly windows: SumsEntries;
  readonly above: ReadonlyMap<string, Code>;
  readonly unknown: readonly UnknownSumView[]; // one for each limit group, ordered by name
}

/**
 * Computes the sums. Assigned amounts count, amounts without a slot do not; for a forgotten day,
 * the gateway's sum counts. An amount above a limit counts too, because it may have been paid.
 */
export function sumRecovered(weighing: RecoveredSumsInput): RecoveredSums {
  const { each, nowMs } = weighing;
  const sums = new LimitSums(weighing.windows);
  forgetUnassigned(sums, weighing);
  countForgottenDay(sums, weighing);
  const count = ({ kept }: KeptWithdrawal): void => {
    const feesUnits = kept.attempts.map(({ feeMax }) => BigInt(feeMax)).reduce(largerOf, 0n);
    const amount = {
      id: kept.transactionId,
      currency: limitGroupOf(kept.job),
      units: unitsOf(kept, weighing),
      feesUnits,
    };
    countAssigned(sums, amount, nowMs);
  };
  const weighed = each.filter(isWeighed).sort((a, b) => bySlot(a.kept, b.kept));
  for (const one of each) if (!isWeighed(one)) count(one);
  const above = new Map<string, Code>();
  const late: KeptWithdrawal[] = [];
  // One by one, lowest slot first: each takes room in the hour and the day from the next.
  for (const one of weighed) {
    const code = codeOf(sums, one, weighing);
    if (code === null) count(one);
    else {
      above.set(one.kept.transactionId, code);
      late.push(one);
    }
  }
  for (const one of late) count(one);
  return { windows: sumsEntries(sums, nowMs), above, unknown: unknownSums(weighing, above) };
}

/** True unless this ledger has bytes of it, or the chain decides: those may be signed again. */
function isWeighed({ kept, isContested }: KeptWithdrawal): boolean {
  return !isContested && kept.attempts.every(({ raw }) => raw === "");
}

/**
 * Returns why only an operator can have it signed; null if the limits allow it. An amount of the
 * old ledger that still counts has its room; one that has left a window needs it again.
 */
function codeOf(
  sums: LimitSums,
  { kept, wasApproved }: KeptWithdrawal,
  weighing: RecoveredSumsInput,
): Code | null {
  const limitGroup = limitGroupOf(kept.job);
  const limits = weighing.limitsOf(limitGroup);
  // Policy signs nothing for such a limit group.
  if (limits === undefined) return null;
  const { hour, day, hourAssigned, dayAssigned } = sums.of(limitGroup);
  const amount = { key: kept.transactionId, units: unitsOf(kept, weighing) };
  const assigned = findExceededLimit(
    { hour: hourAssigned, day: dayAssigned },
    limits,
    amount,
    weighing.nowMs,
  );
  return (
    assigned ??
    (wasApproved ? null : findExceededLimit({ hour, day }, limits, amount, weighing.nowMs))
  );
}

function forgetUnassigned(sums: LimitSums, { open, each }: RecoveredSumsInput): void {
  const assigned = new Set(each.map(({ kept }) => kept.transactionId));
  for (const one of open)
    if (!assigned.has(one.transactionId) && !isOver(one))
      forgetAmounts(sums, one.transactionId, limitGroupOf(one.job));
}

function countForgottenDay(sums: LimitSums, { each, order, nowMs }: RecoveredSumsInput): void {
  const ended = new Set(order.ended.map(({ job }) => parseJob(job).transactionId));
  // The gateway's sum includes a withdrawal that has ended there, whether it is open here or not.
  const open = each.map(({ kept }) => kept.transactionId).filter((id) => !ended.has(id));
  for (const { currency, units, feesUnits } of order.spent) {
    const counted = sumAssignedWithout(sums, currency, open, nowMs);
    const rest = (all: bigint, known: bigint): bigint => (all > known ? all - known : 0n);
    const lost = {
      units: rest(BigInt(units), counted.units),
      feesUnits: rest(BigInt(feesUnits), counted.feesUnits),
    };
    if (lost.units + lost.feesUnits > 0n)
      countAssigned(sums, { id: `order ${order.order}`, currency, ...lost }, nowMs);
  }
}

function unitsOf(
  { job, amountUnits }: Withdrawal,
  { decimalOf }: Pick<RecoveredSumsInput, "decimalOf">,
): bigint {
  if (amountUnits !== "") return BigInt(amountUnits);
  const decimal = decimalOf(limitGroupOf(job));
  const parsed = decimal === undefined ? null : parseAmount(job.amount, decimal);
  return parsed?.ok ? parsed.units : 0n;
}

/** Sums the withdrawals unknown to the old ledger, by limit group, for the operator who decides. */
function unknownSums(
  weighing: RecoveredSumsInput,
  above: ReadonlyMap<string, Code>,
): readonly UnknownSumView[] {
  const { each, decimalOf, limitsOf } = weighing;
  const byLimitGroup = new Map<string, Withdrawal[]>();
  for (const { kept, isUnknown } of each) {
    const limitGroup = limitGroupOf(kept.job);
    if (isUnknown) byLimitGroup.set(limitGroup, [...(byLimitGroup.get(limitGroup) ?? []), kept]);
  }
  return [...byLimitGroup]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([limitGroup, found]) => {
      const decimal = decimalOf(limitGroup) ?? 0;
      const limits = limitsOf(limitGroup);
      const limit = (units: bigint | null | undefined): string =>
        units == null ? "" : formatAmount(units, decimal);
      const amount = formatAmount(
        found.reduce((sum, one) => sum + unitsOf(one, weighing), 0n),
        decimal,
      );
      return {
        limitGroup,
        count: found.length,
        amount,
        maxPerHour: limit(limits?.maxPerHourUnits),
        maxPerDay: limit(limits?.maxPerDayUnits),
        above: found.filter(({ transactionId }) => above.has(transactionId)).length,
      };
    });
}

function bySlot(a: Withdrawal, b: Withdrawal): number {
  const { network } = a.job;
  if (network === b.job.network && a.account === b.account)
    return familyOf(network).slots.compare(a.slot, b.slot);
  return `${network} ${a.account}` < `${b.job.network} ${b.account}` ? -1 : 1;
}
