/**
 * The limits of this run and their used parts, and a destination, for an operator. Touches nothing.
 */

import { invariant } from "../../../base/fault.ts";
import { hasGatewayNodes } from "../../../chains/families.ts";
import { formatAmount, parseAmount } from "../../../protocol/amount.ts";
import { limitGroupOf } from "../../../protocol/job-mode.ts";
import type { LimitView, SweepLimitView } from "../../socket/verbs.ts";
import type { LastPayment } from "../policy/destinations.ts";
import { findResembledDestination, isAbove } from "../policy/holds.ts";
import type { JudgedJobFields } from "../policy/job-terms.ts";
import type { Policy } from "../policy/policy.ts";
import type { Limits } from "../policy/rules.ts";
import { limitUseAt } from "./policy-state.ts";

/**
 * Returns one row for each currency with a policy, in the order of config.json. `nowMs` is ledger
 * time.
 */
export function limitsInForce(policy: Policy, nowMs: number): readonly LimitView[] {
  return currencies(policy).map(([currency, limits]) => {
    const asset = policy.asset(currency);
    invariant(asset !== undefined, "a currency with limits is in the table");
    const amount = (units: bigint | null): string =>
      units === null ? "" : formatAmount(units, asset.decimal);
    const { fees } = asset.family;
    const fee = (units: bigint): string => formatAmount(units, fees.decimal);
    const used = limitUseAt(policy, currency, nowMs);
    return {
      currency,
      network: asset.network,
      contract: asset.contract,
      maxPerWithdrawal: amount(limits.maxPerWithdrawalUnits),
      maxPerHour: amount(limits.maxPerHourUnits),
      maxPerDay: amount(limits.maxPerDayUnits),
      holdAbove: amount(limits.holdAboveUnits),
      twoApproversAbove: amount(limits.twoApproversAboveUnits),
      manualReplaceAbove: amount(limits.manualReplaceAboveUnits),
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

/** Returns every currency with limits, without the limit groups of its sweeps and top-ups. */
function currencies({ rules }: Policy): readonly (readonly [string, Limits])[] {
  return [...rules.limits].filter(([limitGroup]) => rules.assets.has(limitGroup));
}

/**
 * Describes a destination for the operator who decides: new or not, and the paid destination that
 * resembles it. `needsTwo` as in `judgeHeld`; false if the currency has no limits.
 */
export function describeDestination(
  { rules, paid }: Policy,
  {
    currency,
    network,
    tag,
    amount,
  }: Pick<JudgedJobFields, "currency" | "network" | "tag" | "amount">,
  address: string,
): {
  readonly isNew: boolean;
  readonly likeness: Omit<LastPayment, "network" | "tag"> | null;
  readonly needsTwo: boolean;
} {
  const limits = rules.limits.get(currency);
  const found = findResembledDestination({ network, address, tag }, limits, paid);
  const parsed = parseAmount(amount, rules.assets.get(currency)?.decimal ?? 0);
  return {
    isNew: address !== "" && paid.isNew({ network, address, tag }),
    likeness:
      found === null
        ? null
        : { address: found.address, at: found.at, amount: found.amount, currency: found.currency },
    needsTwo: parsed.ok && isAbove(parsed.units, limits?.twoApproversAboveUnits ?? null),
  };
}

/**
 * Returns the chains of these currencies whose nodes come from the gateway's service, each once.
 */
export function listPolicyChainsOnGatewayNodes(policy: Policy): readonly string[] {
  const assets = currencies(policy).flatMap(([currency]) => policy.asset(currency) ?? []);
  return [
    ...new Set(
      assets.filter((asset) => hasGatewayNodes(asset.chainSettings)).map(({ chain }) => chain),
    ),
  ];
}

function sweepsInForce(
  policy: Policy,
  currency: string,
  fee: (units: bigint) => string,
  nowMs: number,
): SweepLimitView | null {
  const sweepLimitGroup = limitGroupOf({ mode: "sweep", currency });
  const topUpLimitGroup = limitGroupOf({ mode: "topup", currency });
  const sweep = policy.rules.limits.get(sweepLimitGroup);
  const topUp = policy.rules.limits.get(topUpLimitGroup);
  if (sweep === undefined || topUp === undefined) return null;
  const topUpsUsed = limitUseAt(policy, topUpLimitGroup, nowMs);
  return {
    maxFee: fee(sweep.maxFeeUnits),
    maxFeePerDay: fee(sweep.maxFeePerDayUnits),
    usedFeesInDay: fee(limitUseAt(policy, sweepLimitGroup, nowMs).feesUnits),
    maxTopUp: fee(topUp.maxPerWithdrawalUnits),
    maxTopUpPerDay: fee(topUp.maxPerDayUnits),
    usedTopUpsInDay: fee(topUpsUsed.dayUnits),
    usedTopUpFeesInDay: fee(topUpsUsed.feesUnits),
  };
}
