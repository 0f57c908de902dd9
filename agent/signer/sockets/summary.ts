/**
 * The signer's summary for the courier, in answer to `tell`, for metrics and alerts: only numbers
 * and data that the courier has already. Touches nothing.
 */
import { parseAmount } from "../../../protocol/amount.ts";
import type { ConfigRead } from "../../socket/config-read.ts";
import type { SignerSummary, SyncSummary } from "../../socket/summary.ts";
import type { LimitView, WithdrawalState } from "../../socket/verbs.ts";
import type { Signer } from "../runtime/signer.ts";
import { limitsInForce } from "../state/in-force.ts";
import { states } from "../state/machine.ts";
import { isOver } from "../state/withdrawal.ts";

/** Data that only the process has. */
export interface SummarySource {
  readonly config: ConfigRead;
  readonly residentBytes: () => number;
  readonly syncs: () => SyncSummary;
}

const millionths = 1_000_000n;
/** The upper bound of a ratio, for any value of the limit. */
const ratioMax = 1_000_000_000n;

export function summaryOf(
  signer: Signer,
  source: SummarySource,
  courierDigest: string,
): SignerSummary {
  const { core, ledger, run } = signer;
  const { nowMs } = signer.context();
  const counts: Partial<Record<WithdrawalState, number>> = {};
  for (const state of states) if (state !== "requested") counts[state] = core.book.count(state);
  const oldest: Partial<Record<WithdrawalState, number>> = {};
  for (const withdrawal of core.book.open()) {
    const { state, changedAt } = withdrawal;
    if (state === "requested" || isOver(withdrawal)) continue;
    oldest[state] = Math.max(oldest[state] ?? 0, nowMs - changedAt);
  }
  return {
    counts: counts as SignerSummary["counts"],
    oldestMs: oldest,
    limits: limitsInForce(core.policy, nowMs).map(usedOf),
    records: core.heads.head.seq,
    acked: core.heads.acked.seq,
    startedAt: run.startedAt,
    freeBytes: ledger.freeBytes(),
    freeBytesMin: ledger.roomBytesMin,
    residentBytes: source.residentBytes(),
    syncs: source.syncs(),
    configDiffers: courierDigest !== source.config.digest,
  };
}

function usedOf(limit: LimitView): SignerSummary["limits"][number] {
  return {
    currency: limit.currency,
    hour: ratio(limit.usedInHour, limit.maxPerHour),
    day: ratio(limit.usedInDay, limit.maxPerDay),
    feesDay: ratio(limit.usedFeesInDay, limit.maxFeePerDay),
  };
}

/** Returns millionths of the limit; -1 without a limit. A limit of zero is used up. */
function ratio(used: string, limit: string): number {
  if (limit === "") return -1;
  const [usedUnits, limitUnits] = [units(used), units(limit)];
  if (limitUnits === 0n) return Number(millionths);
  const found = (usedUnits * millionths) / limitUnits;
  return Number(found > ratioMax ? ratioMax : found);
}

/** Both amounts have the decimals of one currency, at most 36. */
function units(text: string): bigint {
  const parsed = parseAmount(text, 36);
  return parsed.ok ? parsed.units : 0n;
}
