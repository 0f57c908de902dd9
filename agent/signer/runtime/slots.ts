/** Reads a slot and a chain as the courier names them. Touches nothing. */

import { type Refusal, refuse } from "../../../base/fault.ts";
import { familyOf, networkOf } from "../../../chains/families.ts";
import type { ConfiguredChain } from "../../../chains/family.ts";

/** Refuses an unknown chain, and a slot that is not in canonical spelling. */
export function slotOn(
  chain: ConfiguredChain | undefined,
  name: string,
  slot: string,
): { readonly ok: true; readonly chain: ConfiguredChain & { readonly name: string } } | Refusal {
  if (chain === undefined) return refuse("ACCOUNT_NOT_ADOPTED", name);
  const { read, compare, last } = familyOf(networkOf(chain)).slots;
  if (read(slot) === null || compare(slot, last) > 0)
    return refuse("ACCOUNT_FIRST_SLOT", "no account comes so far");
  return { ok: true, chain: { ...chain, name } };
}
