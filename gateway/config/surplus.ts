/**
 * How much more than asked for a payment may be before anybody is told: wallets round up, and a
 * refund of less than its own fee is worth nothing to a payer. Pure.
 */
import { parseAmount } from "../../protocol/amount.ts";
import type { GatewayCurrency } from "./config.ts";

/** One part in 200 of the amount: half a percent. */
const partsOfAmount = 200n;

/**
 * The greater of half a percent of the amount and the currency's `surplusTolerance`, in base units;
 * half a percent for a currency that left the configuration.
 */
export function surplusToleranceUnits(
  amountUnits: bigint,
  currency: Pick<GatewayCurrency, "surplusTolerance" | "decimal"> | undefined,
): bigint {
  const least =
    currency === undefined ? null : parseAmount(currency.surplusTolerance, currency.decimal);
  const leastUnits = least?.ok === true ? least.units : 0n;
  const part = amountUnits / partsOfAmount;
  if (part > leastUnits) return part;
  return leastUnits;
}
