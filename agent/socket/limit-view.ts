/**
 * The limits in force as operators see them, with what is used of each. Types alone.
 */

/**
 * The limits of a currency in force and how much of them is used. Decimal strings of the currency,
 * fees of the chain's own coin; "" where there is no such limit. Used: the larger sum of what was
 * approved and what was bound within the last 60 minutes or 24 hours.
 * @public
 */
export interface LimitView {
  readonly currency: string;
  readonly maxPerWithdrawal: string;
  readonly maxPerHour: string;
  readonly maxPerDay: string;
  readonly holdAbove: string;
  readonly twoApproversAbove: string;
  readonly resignAbove: string;
  // 0 for no delay
  readonly newDestination: { readonly holdAbove: string; readonly delayMinutes: number };
  readonly maxFee: string;
  readonly maxFeePerDay: string;
  readonly maxTip: string;
  readonly tipUnit: string; // of maxTip, such as gwei; "" where the chain knows no tip
  readonly allow: number; // destinations on the list, 0 for no list
  readonly deny: number;
  readonly usedInHour: string;
  readonly usedInDay: string;
  readonly usedFeesInDay: string;
  readonly sweeps: SweepLimitView | null; // null where sweeps are not allowed
}

/**
 * The limits of a currency's sweeps and of the top-ups for them, and how much is used; decimal
 * strings of the chain's own coin. The ceilings of fees hold for each of both kinds apart.
 * @public
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
