/**
 * The kinds of jobs, and what follows from a kind alone: the space of orders its id is made in, and
 * the limits and sums it counts under. docs/protocol.md section 5.
 */

/**
 * auto and manual pay somebody, manual is always held for a person. sweep: from an address for
 * deposits to the wallet's own hot address. topup: the fee coin from the hot address to an address
 * for deposits, so that it can pay for one sweep; its orderId is that sweep's transactionId.
 * @public
 */
export type JobMode = "auto" | "manual" | "sweep" | "topup";

/**
 * Whether a job moves money between the wallet's own accounts.
 * @public
 */
export function isInternal(mode: JobMode): mode is "sweep" | "topup" {
  return mode === "sweep" || mode === "topup";
}

/**
 * The operation in whose space of orders a job's id is made.
 * @public
 */
export function operationOf(mode: JobMode): "withdraw" | "sweep" | "topup" {
  return isInternal(mode) ? mode : "withdraw";
}

/**
 * Under which rules and sums a job counts: those of its currency, or those of the currency's sweeps
 * or top-ups.
 * @public
 */
export function laneOf({ mode, currency }: { readonly mode: JobMode; readonly currency: string }): string {
  return isInternal(mode) ? `${currency}:${mode}` : currency;
}
