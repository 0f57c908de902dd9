/** The limits in force as operators see them, with the used part of each. Only types. */

/**
 * The limits of a currency in force and their used parts. Decimal strings of the currency, fees in
 * the native coin; "" if there is no such limit. Used: the larger sum of approved and assigned
 * amounts within the last 60 minutes or 24 hours.
 */
export interface LimitView {
  readonly currency: string;
  readonly network: string; // CAIP-2
  readonly contract: string; // "" for the native coin
  readonly maxPerWithdrawal: string;
  readonly maxPerHour: string;
  readonly maxPerDay: string;
  readonly holdAbove: string;
  readonly twoApproversAbove: string;
  readonly manualReplaceAbove: string;
  // 0 for no delay
  readonly newDestination: { readonly holdAbove: string; readonly delayMinutes: number };
  readonly maxFee: string;
  readonly maxFeePerDay: string;
  readonly maxTip: string;
  readonly tipUnit: string; // unit of maxTip, such as gwei; "" if the chain has no tip
  readonly allow: number; // destinations on the list, 0 for no list
  readonly deny: number;
  readonly usedInHour: string;
  readonly usedInDay: string;
  readonly usedFeesInDay: string;
  readonly sweeps: SweepLimitView | null; // null if sweeps are not allowed
}

/**
 * The limits of a currency's sweeps and their top-ups, with the used parts; decimal strings of the
 * native coin. The fee ceilings apply to each of the two kinds separately.
 */
export interface SweepLimitView {
  readonly maxFee: string;
  readonly maxFeePerDay: string;
  readonly usedFeesInDay: string;
  readonly maxTopUp: string;
  readonly maxTopUpPerDay: string;
  readonly usedTopUpsInDay: string;
  readonly usedTopUpFeesInDay: string;
}
