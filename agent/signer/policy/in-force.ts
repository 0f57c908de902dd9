/** The limits of this run and their used parts, for an operator. Touches nothing. */

import { invariant } from "../../../base/fault.ts";
import { isNodesOfGateway } from "../../../chains/families.ts";
import { formatAmount } from "../../../protocol/amount.ts";
import { laneOf } from "../../../protocol/job-mode.ts";
import type { LimitView, SweepLimitView } from "../../socket/verbs.ts";
import type { Policy } from "./policy.ts";

/**
 * Returns one row for each currency with a policy, in the order of config.json. `nowMs` is ledger
 * time.
 */
export function limitsInForce(policy: Policy, nowMs: number): readonly LimitView[] {
  return [...policy.currencies].map(([currency, limits]) => {
    const asset = policy.asset(currency);
    invariant(asset !== undefined, "a currency with limits is in the table");
    const amount = (units: bigint | null): string => (units === null ? "" : formatAmount(units, asset.decimal));
    const { fees } = asset.family;
    const fee = (units: bigint): string => formatAmount(units, fees.decimal);
    const used = policy.usedAt(currency, nowMs);
    return {
      currency,
      maxPerWithdrawal: amount(limits.maxPerWithdrawalUnits),
      maxPerHour: amount(limits.maxPerHourUnits),
      maxPerDay: amount(limits.maxPerDayUnits),
      holdAbove: amount(limits.holdAboveUnits),
      twoApproversAbove: amount(limits.twoApproversAboveUnits),
      resignAbove: amount(limits.resignAboveUnits),
      newDestination: {
        holdAbove: amount(limits.newDestination?.holdAboveUnits ?? null),
        delayMinutes: (limits.newDestination?.delayMs ?? 0) / 60_000,
      },
      maxFee: fee(limits.maxFeeUnits),
      maxFeePerDay: fee(limits.maxFeePerDayUnits),
      maxTip: fees.tipUnit === "" ? "" : formatAmount(limits.maxTipUnits, fees.tipDecimal),
      tipUnit: fees.tipUnit,
      allow: limits.allow.size,
      deny: limits.deny.size,
      usedInHour: amount(used.hourUnits),
      usedInDay: amount(used.dayUnits),
      usedFeesInDay: fee(used.feesUnits),
      sweeps: sweepsInForce(policy, currency, fee, nowMs),
    };
  });
}

/**
 * Returns the chains of these currencies whose nodes come from the gateway's service, each once.
 */
export function nodesOfGateway(policy: Policy): readonly string[] {
  const assets = [...policy.currencies].flatMap(([currency]) => policy.asset(currency) ?? []);
  return [...new Set(assets.filter((asset) => isNodesOfGateway(asset.chainSettings)).map(({ chain }) => chain))];
}

function sweepsInForce(policy: Policy, currency: string, fee: (units: bigint) => string, nowMs: number): SweepLimitView | null {
  const sweepLane = laneOf({ mode: "sweep", currency });
  const topUpLane = laneOf({ mode: "topup", currency });
  const sweep = policy.limitsOf(sweepLane);
  const topUp = policy.limitsOf(topUpLane);
  if (sweep === undefined || topUp === undefined) return null;
  const topUpsUsed = policy.usedAt(topUpLane, nowMs);
  return {
    maxFee: fee(sweep.maxFeeUnits),
    maxFeePerDay: fee(sweep.maxFeePerDayUnits),
    usedFeesInDay: fee(policy.usedAt(sweepLane, nowMs).feesUnits),
    maxTopUp: fee(topUp.maxPerWithdrawalUnits),
    maxTopUpPerDay: fee(topUp.maxPerDayUnits),
    usedTopUpsInDay: fee(topUpsUsed.dayUnits),
    usedTopUpFeesInDay: fee(topUpsUsed.feesUnits),
  };
}
