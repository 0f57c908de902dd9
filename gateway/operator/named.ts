/**
 * Whether there is what a person named in a list's filter: a mistyped id is refused, so that it
 * does not look like a list in which nothing stands.
 */
import { type Refusal, refuse } from "../../protocol/fault.ts";
import { wasTarget } from "../store/callback-targets.ts";
import { readMerchant } from "../store/merchants.ts";
import type { Operator } from "./people.ts";

/** @public */
export interface Named {
  readonly merchant?: string | undefined;
  readonly callback?: string | undefined; // also a target that was removed: its log stays
}

/**
 * Refuses GATEWAY_UNKNOWN_MERCHANT, GATEWAY_UNKNOWN_CALLBACK.
 * @public
 */
export function areKnown(
  { store: { database } }: Pick<Operator, "store">,
  { merchant, callback }: Named,
): { readonly ok: true } | Refusal {
  if (merchant !== undefined && readMerchant(database, merchant) === undefined) return refuse("GATEWAY_UNKNOWN_MERCHANT");
  if (callback !== undefined && !wasTarget(database, callback)) return refuse("GATEWAY_UNKNOWN_CALLBACK");
  return { ok: true };
}
