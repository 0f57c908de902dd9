/**
 * Compares an attempt's fee offer with the merchant's ceilings and the chain's floor. Touches
 * nothing.
 */

import { type Refusal, refuse } from "../../../base/fault.ts";
import { familyOf } from "../../../chains/families.ts";
import type { Description } from "../../../chains/family.ts";
import type { Asset, Limits } from "./rules.ts";

/**
 * Refuses with POLICY_FEE_BELOW_FLOOR: an attempt with a lower fee would fail on chain, or never be
 * included.
 */
export function belowFloor(description: Description): Refusal | null {
  const why = familyOf(description.network).fees.tooLittle(description);
  return why === null ? null : refuse("POLICY_FEE_BELOW_FLOOR", why);
}

/**
 * Refuses with POLICY_FEE_UNBOUNDED if the chain charges something that no field of the attempt
 * bounds, and with POLICY_NONE without an asset.
 */
export function refuseUnbounded(
  asset: Asset | undefined,
  { network, txParams }: Description,
): Refusal | null {
  if (asset === undefined) return refuse("POLICY_NONE");
  const why = familyOf(network).fees.unbounded(asset.chainSettings, txParams);
  return why === null ? null : refuse("POLICY_FEE_UNBOUNDED", why);
}

/**
 * Refuses with POLICY_TIP_ABOVE_MAX, unless so much is allowed above the ceiling
 * (`BuiltTransaction`).
 */
export function aboveTip(
  { maxTipUnits }: Limits,
  { network, txParams }: Description,
  tipAllowedUnits = 0n,
): Refusal | null {
  const tip = familyOf(network).fees.tipOf(txParams);
  return tip > maxTipUnits && tip > tipAllowedUnits
    ? refuse("POLICY_TIP_ABOVE_MAX", `${tip} units`)
    : null;
}
