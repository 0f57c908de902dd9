/**
 * What a version offers for its way into a block, held against the merchant's ceilings and the
 * chain's floor. Touches nothing.
 */
import { familyOf } from "../../../chains/families.ts";
import type { ConfiguredChain, Description } from "../../../chains/family.ts";
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import type { Built } from "./comparison.ts";
import type { Limits } from "./rules.ts";

/**
 * Refuses with POLICY_FEE_BELOW_FLOOR: a version for less would fail on chain, or never be taken.
 */
export function belowFloor(description: Description): Refusal | null {
  const why = familyOf(description.network).fees.tooLittle(description);
  return why === null ? null : refuse("POLICY_FEE_BELOW_FLOOR", why);
}

/**
 * Refuses with POLICY_FEE_UNBOUNDED: the chain bills something that no figure of the version
 * bounds; with POLICY_NONE for no asset.
 */
export function unbounded(
  asset: { readonly chainSettings: ConfiguredChain } | undefined,
  { network, facts }: Description,
): Refusal | null {
  if (asset === undefined) return refuse("POLICY_NONE");
  const why = familyOf(network).fees.unbounded(asset.chainSettings, facts);
  return why === null ? null : refuse("POLICY_FEE_UNBOUNDED", why);
}

/** Refuses with POLICY_TIP_ABOVE_MAX, unless that much is allowed above the ceiling. */
export function aboveTip(
  { maxTipUnits }: Limits,
  { network, facts }: Description,
  { tipAllowedUnits = 0n }: Pick<Built, "tipAllowedUnits">,
): Refusal | null {
  const tip = familyOf(network).fees.tipOf(facts);
  return tip > maxTipUnits && tip > tipAllowedUnits ? refuse("POLICY_TIP_ABOVE_MAX", `${tip} units`) : null;
}
