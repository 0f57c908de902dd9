/**
 * The settings for sweeping deposit addresses, with bounds and defaults. Reads only its arguments.
 * Source: docs/gateway.md, Sweeps.
 */
import { settings } from "../../base/settings.ts";
import type { Reader } from "../../base/shape.ts";
import { readAmountLater } from "../../chains/settings.ts";

const { boolean, integer, object } = settings;

/** The conditions for sweeping a deposit address's balance to the hot wallet. */
export interface GatewaySweepSettings {
  readonly isAutomatic: boolean; // false: only an operator orders sweeps
  readonly feeMultiple: number; // the amount is at least this many times the fee; of a token only if both prices are known
  readonly least: string; // smallest amount
}

/** As many accounts as an agent's hello has room for, in addition to the hot wallets. */
const sweepsAtOnceMax = 12;
/**
 * This many more sweeps may be stuck, because a recovery offer has room for both together
 * (gateway/recovery/offer.ts).
 */
export const stuckSweepsMax = 20;
export const sweepsAtOnceDefault = 8;
const feeMultipleDefault = 20;
/** A deposit of a token loses at most a tenth of its value to its sweep. */
const feeMultipleOfTokens = 10;

/** The settings in the configuration of a currency. */
export const readSweepSection = object(
  {},
  {
    automatic: boolean(),
    feeMultiple: integer({ min: 1, max: 1_000_000 }),
    least: readAmountLater,
  },
);

export const readSweepsAtOnce: Reader<number> = integer({ min: 1, max: sweepsAtOnceMax });

/** The settings with their defaults; `least` was read before. */
export function sweepSettingsOf(
  entry: ReturnType<typeof readSweepSection> | undefined,
  { least, isCoin }: { readonly least: string; readonly isCoin: boolean },
): GatewaySweepSettings {
  const usual = isCoin ? feeMultipleDefault : feeMultipleOfTokens;
  return { isAutomatic: entry?.automatic ?? true, feeMultiple: entry?.feeMultiple ?? usual, least };
}
