/**
 * Checks that the id in a list's filter exists: a mistyped id is refused, so that it does not look
 * like an empty list.
 */
import { type Refusal, refuse } from "../../base/fault.ts";
import { wasTarget } from "../store/callback-targets.ts";
import { readMerchant } from "../store/merchants.ts";
import type { OperatorContext } from "./accounts.ts";

export interface RecordFilter {
  readonly merchant?: string | undefined;
  readonly callback?: string | undefined; // also a removed target, because its log stays
}

/** True if both ids exist. Refuses GATEWAY_UNKNOWN_MERCHANT, GATEWAY_UNKNOWN_CALLBACK. */
export function checkRecordFilter(
  { store: { database } }: Pick<OperatorContext, "store">,
  { merchant, callback }: RecordFilter,
): { readonly ok: true } | Refusal {
  if (merchant !== undefined && readMerchant(database, merchant) === undefined)
    return refuse("GATEWAY_UNKNOWN_MERCHANT");
  if (callback !== undefined && !wasTarget(database, callback))
    return refuse("GATEWAY_UNKNOWN_CALLBACK");
  return { ok: true };
}
